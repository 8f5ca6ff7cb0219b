/*
 * source_lines.c - finds the unit of each address, then runs through each unit once: its line
 * program for files and lines, its entries for functions and inlined calls.
 */
#include "symbols/source_lines.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/sorted.h"
#include "base/trust.h"
#include "symbols/elf_file.h"
#include "symbols/line_program.h"
#include "symbols/qualified_name.h"
#include "symbols/source_path.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <limits.h>
#include <stdlib.h>

/* Limits for hostile files, in which everything refers to the same large table. */

/* All are for one file; they are never reached by what compilers make. */
struct work {
	uint64_t steps_left;      /* ranges, addresses in them, and lines */
	uint64_t line_bytes_left; /* of line programs */
	uint64_t path_bytes_left;
};

static struct work work_for(uint64_t file_bytes, size_t spots)
{
	return (struct work){
		.steps_left = allo_trust_limit(file_bytes + spots, 64, 1 << 20),
		.line_bytes_left = allo_trust_limit(file_bytes, 16, 16 << 20),
		.path_bytes_left = allo_trust_limit(file_bytes, 4, 64 << 20),
	};
}

static bool spend(uint64_t *left, uint64_t count)
{
	if (count > *left)
		return false;
	*left -= count;
	return true;
}

/* Units: the compilation unit of an address. */

/* Addresses of a unit; `unit` is the offset of its top entry. */
struct code_range {
	uint64_t start, end; /* end excluded */
	Dwarf_Off unit;
};

/* All zeros, except for `dwarf`, is ready for use. */
struct code_units {
	Dwarf *dwarf;
	struct work *work;

	bool has_table, has_ranges;
	Dwarf_Aranges *table; /* .debug_aranges; some compilers omit it */
	size_t table_len;
	ALLO_VEC(struct code_range) ranges; /* of units that the table lacks, sorted by start */
};

/* Ranges that are searched backwards for one that contains an address.  They seldom overlap. */
enum { OVERLAPS = 16 };

static void units_done(struct code_units *units)
{
	allo_vec_done(&units->ranges);
}

static int compare_offsets(const void *left, const void *right)
{
	Dwarf_Off a = *(const Dwarf_Off *)left, b = *(const Dwarf_Off *)right;

	return a < b ? -1 : a > b;
}

static int compare_ranges(const void *left, const void *right)
{
	const struct code_range *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->unit < b->unit ? -1 : a->unit > b->unit;
}

static bool add_ranges(struct code_units *units, Dwarf_Off offset, struct allo_error *err)
{
	struct code_range range = { .unit = offset };
	Dwarf_Addr base = 0;
	ptrdiff_t at = 0;
	Dwarf_Die unit;

	if (!dwarf_offdie(units->dwarf, offset, &unit))
		return true;
	while (spend(&units->work->steps_left, 1) &&
	       (at = dwarf_ranges(&unit, at, &base, &range.start, &range.end)) > 0) {
		if (range.end > range.start && !allo_vec_append(&units->ranges, &range, 1))
			return allo_fail_memory(err);
	}
	return true;
}

/* The sorted units of the table; to be freed. */
static Dwarf_Off *units_of_table(const struct code_units *units, struct allo_error *err)
{
	Dwarf_Off *known = calloc(units->table_len + 1, sizeof(*known));

	if (!known) {
		allo_fail_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < units->table_len; i++) {
		Dwarf_Arange *range = dwarf_onearange(units->table, i);

		if (!range || dwarf_getarangeinfo(range, NULL, NULL, &known[i]) != 0)
			known[i] = 0;
	}
	qsort(known, units->table_len, sizeof(*known), compare_offsets);
	return known;
}

/* Adds the ranges of all units that the table lacks. */
static bool find_ranges(struct code_units *units, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) Dwarf_Off *known = units_of_table(units, err);
	Dwarf_Off at = 0, next;
	size_t head;

	units->has_ranges = true;
	if (!known)
		return false;
	while (dwarf_nextcu(units->dwarf, at, &next, &head, NULL, NULL, NULL) == 0 && next > at) {
		Dwarf_Off unit = at + head;

		if (!bsearch(&unit, known, units->table_len, sizeof(*known), compare_offsets) &&
		    !add_ranges(units, unit, err))
			return false;
		at = next;
	}
	if (units->ranges.len > 1)
		qsort(units->ranges.at, units->ranges.len, sizeof(*units->ranges.at),
		      compare_ranges);
	return true;
}

static Dwarf_Off find_in_ranges(const struct code_units *units, uint64_t address)
{
	size_t count = allo_sorted_up_to(units->ranges.at, units->ranges.len, start, address);

	for (size_t i = 0; i < OVERLAPS && i < count; i++) {
		const struct code_range *range = &units->ranges.at[count - 1 - i];

		if (address < range->end)
			return range->unit;
	}
	return 0;
}

static Dwarf_Off find_unit(struct code_units *units, uint64_t address, struct allo_error *err)
{
	Dwarf_Arange *range;
	Dwarf_Off unit;

	if (!units->has_table) {
		units->has_table = true;
		if (dwarf_getaranges(units->dwarf, &units->table, &units->table_len) != 0)
			units->table_len = 0;
	}
	range = units->table_len > 0 ? dwarf_getarange_addr(units->table, address) : NULL;
	if (range && dwarf_getarangeinfo(range, NULL, NULL, &unit) == 0)
		return unit;
	if (!units->has_ranges && !find_ranges(units, err))
		return 0;
	return find_in_ranges(units, address);
}

/* Scopes: the functions, real and inlined, of the addresses of a unit. */

/* A function, or a call that was inlined into the outer scope. */
struct scope {
	Dwarf_Die die;
	bool is_inlined;
	const struct scope *outer; /* NULL: none */
};

struct scoped {
	uint64_t address;
	const struct scope *scope; /* the innermost; NULL: unknown */
};

/* Nested blocks, inlined calls and namespaces, at most; compilers stay far below this. */
enum { DEPTH_MAX = 512 };

struct scope_search {
	struct scoped *addresses;
	size_t count;
	struct allo_arena *arena;
	struct work *work;
	struct allo_error *err;
	/* Visits all entries: a nested function is outside of the addresses of its parent. */
	bool is_thorough;
};

static size_t find_address(const struct scope_search *search, uint64_t address)
{
	return allo_sorted_below(search->addresses, search->count, address, address);
}

/* Whether an entry contains any of the addresses.  Addresses with the scope `outer` get `scope`,
 * unless that is NULL. */
static bool take_addresses(struct scope_search *search, Dwarf_Die *die, const struct scope *outer,
			   const struct scope *scope)
{
	Dwarf_Addr base = 0, start = 0, end = 0;
	bool has_any = false;
	ptrdiff_t at = 0;

	/* Most entries are declarations without addresses. */
	if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
		return false;
	while (spend(&search->work->steps_left, 1) &&
	       (at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		for (size_t i = find_address(search, start);
		     i < search->count && search->addresses[i].address < end &&
		     spend(&search->work->steps_left, 1);
		     i++) {
			has_any = true;
			if (scope && search->addresses[i].scope == outer)
				search->addresses[i].scope = scope;
		}
	}
	return has_any;
}

static bool visit_children(struct scope_search *search, Dwarf_Die *parent,
			   const struct scope *outer, unsigned depth);

/* A function or an inlined call. */
static bool visit_scope(struct scope_search *search, Dwarf_Die *die, bool is_inlined,
			const struct scope *outer, unsigned depth)
{
	struct scope *scope;

	if (!take_addresses(search, die, outer, NULL))
		return !search->is_thorough || visit_children(search, die, outer, depth);
	scope = ALLO_ARENA_NEW(search->arena, 1, struct scope);
	if (!scope)
		return allo_fail_memory(search->err);
	ALLO_ASSERT(depth <= DEPTH_MAX);
	*scope = (struct scope){ *die, is_inlined, outer };
	take_addresses(search, die, outer, scope);
	return visit_children(search, die, scope, depth);
}

static bool visit(struct scope_search *search, Dwarf_Die *die, const struct scope *outer,
		  unsigned depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		/* A function is not a call of the scope around it. */
		return visit_scope(search, die, false, NULL, depth);
	case DW_TAG_inlined_subroutine:
		return visit_scope(search, die, true, outer, depth);
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
	case DW_TAG_namespace:
	case DW_TAG_module:
		return visit_children(search, die, outer, depth);
	default:
		return !search->is_thorough || visit_children(search, die, outer, depth);
	}
}

static bool visit_children(struct scope_search *search, Dwarf_Die *parent,
			   const struct scope *outer, unsigned depth)
{
	Dwarf_Die die, next;

	if (depth == DEPTH_MAX || dwarf_haschildren(parent) != 1 || dwarf_child(parent, &die) != 0)
		return true;
	for (;;) {
		if (!visit(search, &die, outer, depth + 1))
			return false;
		/* A damaged file may link an entry to one before it. */
		if (dwarf_siblingof(&die, &next) != 0 ||
		    dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return true;
		die = next;
	}
}

static bool find_scopes(Dwarf_Die *unit, struct scoped *addresses, size_t count,
			struct allo_arena *arena, struct work *work, struct allo_error *err)
{
	struct scope_search search = { addresses, count, arena, work, err, false };

	if (!visit_children(&search, unit, NULL, 0))
		return false;
	for (size_t i = 0; i < count; i++)
		search.is_thorough |= !addresses[i].scope;
	return !search.is_thorough || visit_children(&search, unit, NULL, 0);
}

/* Lines. */

/* A spot and its unit. */
struct place {
	Dwarf_Off unit;
	uint32_t spot;
};

struct finder {
	struct allo_spots *spots;
	struct allo_profile *profile;
	struct allo_function_names *names;
	struct work work;
	struct code_units units;
	struct allo_qualified_names qualified;
	ALLO_VEC(struct place) places; /* by unit and address */
	/* Of the current unit: */
	ALLO_VEC(struct scoped) scoped;
	ALLO_VEC(struct allo_line_at) lines;
	struct allo_source_path path;
	struct allo_line_strings strings;
	const char *last_file;
	allo_string_id last_file_id;
};

/* A unit and its entries, which are in another file with -gsplit-dwarf. */
struct unit {
	Dwarf_Die own, entries;
	const char *folder; /* of the compilation; may be NULL */
	bool has_run; /* its line program has run: files are in `own_files`, else in `files` */
	struct allo_line_files own_files;
	struct allo_line_strings *strings; /* of the finder */
	bool has_lines;                    /* from libdw, like the rest */
	Dwarf_Files *files;
	size_t file_count;
};

/* The place of a call. */
struct site {
	const char *file; /* NULL: unknown */
	int line, column;
};

static void finder_done(struct finder *finder)
{
	units_done(&finder->units);
	allo_qualified_names_done(&finder->qualified);
	allo_vec_done(&finder->places);
	allo_vec_done(&finder->scoped);
	allo_vec_done(&finder->lines);
	allo_source_path_done(&finder->path);
	dwarf_end(finder->units.dwarf);
}

bool allo_has_source_lines(Elf *elf)
{
	GElf_Shdr header;

	return (allo_elf_section_named(elf, ".debug_info", &header) ||
		allo_elf_section_named(elf, ".zdebug_info", &header)) &&
	       header.sh_type != SHT_NOBITS;
}

/* A text attribute of an entry or of its abstract origin. */
static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, name, &attribute) ? dwarf_formstring(&attribute) : NULL;
}

/* Units. */

static int compare_places(const void *left, const void *right)
{
	const struct place *a = left, *b = right;

	if (a->unit != b->unit)
		return a->unit < b->unit ? -1 : 1;
	return a->spot < b->spot ? -1 : a->spot > b->spot;
}

static bool find_places(struct finder *finder, struct allo_error *err)
{
	for (size_t i = 0; i < finder->spots->spots.len; i++) {
		struct place place = { .spot = (uint32_t)i };

		if (finder->spots->spots.at[i].is_known)
			continue;
		place.unit = find_unit(&finder->units, finder->spots->spots.at[i].address, err);
		if (allo_failed(err))
			return false;
		if (place.unit != 0 && !allo_vec_append(&finder->places, &place, 1))
			return allo_fail_memory(err);
	}
	if (finder->places.len > 1)
		qsort(finder->places.at, finder->places.len, sizeof(*finder->places.at),
		      compare_places);
	return true;
}

static bool open_unit(struct finder *finder, Dwarf_Off offset, struct unit *unit)
{
	Dwarf_Die apart = { 0 };
	uint8_t type = 0;

	if (!dwarf_offdie(finder->units.dwarf, offset, &unit->own))
		return false;
	unit->entries = unit->own;
	if (dwarf_cu_info(unit->own.cu, NULL, &type, NULL, &apart, NULL, NULL, NULL) == 0 &&
	    type == DW_UT_skeleton && apart.addr && dwarf_tag(&apart) == DW_TAG_compile_unit)
		unit->entries = apart;
	unit->folder = text_of(&unit->own, DW_AT_comp_dir);
	return true;
}

static void unit_done(struct unit *unit)
{
	allo_line_files_done(&unit->own_files);
}

/* Runs the line program for the addresses in finder->scoped. */
static bool run_program(struct finder *finder, struct unit *unit)
{
	for (size_t i = 0; i < finder->scoped.len; i++)
		finder->lines.at[i] = (struct allo_line_at){
			.address = finder->scoped.at[i].address
		};
	/* Entries in a split file use the file table of that file. */
	return unit->own.addr == unit->entries.addr &&
	       allo_line_program_run(dwarf_getelf(finder->units.dwarf), &unit->own,
				     finder->lines.at, finder->lines.len, &unit->own_files,
				     &finder->work.line_bytes_left);
}

/* Whether libdw may read the files of the unit with this top entry. */
static bool is_modest(const struct unit *unit, Dwarf_Die *top)
{
	return allo_line_table_is_modest(dwarf_getelf(dwarf_cu_getdwarf(top->cu)), top,
					 unit->strings);
}

static void find_files(struct finder *finder, struct unit *unit)
{
	unit->has_run = run_program(finder, unit);
	if (unit->has_run)
		return;
	unit->has_lines = is_modest(unit, &unit->own);
	if (!(unit->own.addr == unit->entries.addr ? unit->has_lines
						   : is_modest(unit, &unit->entries)) ||
	    dwarf_getsrcfiles(&unit->entries, &unit->files, &unit->file_count) != 0)
		unit->file_count = 0;
}

/* The file with a number of the unit's table; NULL: unknown. */
static const char *file_of(struct unit *unit, Dwarf_Word number)
{
	if (unit->has_run)
		return allo_line_files_path(&unit->own_files, number);
	return number < unit->file_count ? dwarf_filesrc(unit->files, number, NULL, NULL) : NULL;
}

/* Sites. */

static struct site site_of_address(struct unit *unit, const struct allo_line_at *at)
{
	struct site site = { at->file, (int)at->line, (int)at->column };
	Dwarf_Line *line;

	if (unit->has_run)
		return site;
	line = unit->has_lines ? dwarf_getsrc_die(&unit->own, at->address) : NULL;
	if (!line)
		return (struct site){ 0 };
	site.file = dwarf_linesrc(line, NULL, NULL);
	if (dwarf_lineno(line, &site.line) != 0)
		site.line = 0;
	if (dwarf_linecol(line, &site.column) != 0)
		site.column = 0;
	return site;
}

static bool number_of(Dwarf_Die *die, unsigned name, Dwarf_Word *value)
{
	Dwarf_Attribute attribute;

	return dwarf_attr(die, name, &attribute) && dwarf_formudata(&attribute, value) == 0;
}

/* A number of at most 31 bits; 0 for anything else. */
static int small_number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Word value;

	return number_of(die, name, &value) && value <= INT32_MAX ? (int)value : 0;
}

/* The place where an inlined function was called. */
static struct site site_of_call(struct unit *unit, const struct scope *scope)
{
	Dwarf_Die die = scope->die;
	struct site site = { NULL, small_number_of(&die, DW_AT_call_line),
			     small_number_of(&die, DW_AT_call_column) };
	Dwarf_Word file;

	if (number_of(&die, DW_AT_call_file, &file))
		site.file = file_of(unit, file);
	return site;
}

/* Functions. */

/* Whether other units can refer to the function.  Compilers give the entry of any other function no
 * linker name, so inlined copies have the source name only. */
static bool is_external(Dwarf_Die *die)
{
	Dwarf_Attribute attribute;

	return dwarf_attr_integrate(die, DW_AT_external, &attribute) != NULL;
}

/* A mangled linker name says more than the name in the source.  Otherwise the source name is
 * better: the linker name of glibc's raise is __GI_raise.  All copies of a function have one name,
 * inlined or not. */
static const char *name_of(struct finder *finder, const struct scope *scope,
			   const struct allo_symbol *symbol)
{
	Dwarf_Die die = scope->die;
	const char *names[] = {
		text_of(&die, DW_AT_linkage_name),
		text_of(&die, DW_AT_MIPS_linkage_name),
		/* With -g1 compilers omit names that are in the symbol table. */
		scope->is_inlined ? NULL : symbol->name,
	};
	const size_t count = sizeof(names) / sizeof(*names);
	const char *plain = text_of(&die, DW_AT_name);
	size_t mangled_count = !plain || is_external(&die) ? count : count - 1;

	for (size_t i = 0; i < mangled_count; i++) {
		if (names[i] && allo_is_mangled(allo_text_of(names[i])))
			return names[i];
	}
	if (plain && plain[0] != '\0')
		return allo_qualified_name_find(&finder->qualified, &die, plain);
	for (size_t i = 0; i < count && !plain; i++)
		plain = names[i];
	return plain && plain[0] != '\0' ? plain : "???";
}

/* The file of a function's declaration.  An entry of another unit uses that unit's table. */
static const char *declared_in(struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Die top;
	Dwarf_Word number;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute))
		return NULL;
	if (!unit->has_run && attribute.cu == unit->entries.cu)
		return unit->file_count > 0 ? dwarf_decl_file(die) : NULL;
	if (attribute.cu != unit->own.cu)
		return dwarf_cu_die(attribute.cu, &top, NULL, NULL, NULL, NULL, NULL, NULL) &&
				       is_modest(unit, &top)
			       ? dwarf_decl_file(die)
			       : NULL;
	return dwarf_formudata(&attribute, &number) == 0 ? file_of(unit, number) : NULL;
}

/* The first line of a function, if it is in the file of the call. */
static uint32_t start_line_of(struct unit *unit, const struct scope *scope, const char *file)
{
	Dwarf_Die die = scope->die;
	const char *declared = declared_in(unit, &die);
	int line;

	if (!declared || !file || strcmp(declared, file) != 0 || dwarf_decl_line(&die, &line) != 0)
		return 0;
	return line > 0 ? (uint32_t)line : 0;
}

/* Remembers the last file: neighbours are mostly in the same one. */
static allo_string_id add_file(struct finder *finder, const struct unit *unit, const char *file,
			       struct allo_error *err)
{
	struct allo_text folder = allo_text_of(unit->folder ? unit->folder : ""), joined;

	if (file == finder->last_file)
		return finder->last_file_id;
	finder->last_file = file;
	finder->last_file_id = 0;
	if (folder.len + strnlen(file, PATH_MAX) >= PATH_MAX ||
	    !spend(&finder->work.path_bytes_left, folder.len + strlen(file)))
		return 0;
	if (!allo_source_path_join(&finder->path, folder, allo_text_of(file), &joined)) {
		allo_fail_memory(err);
		return 0;
	}
	finder->last_file_id = allo_profile_add_string(finder->profile, joined, err);
	return finder->last_file_id;
}

static bool add_line(struct finder *finder, const struct unit *unit, struct allo_spot *spot,
		     const char *name, struct site site, uint32_t start_line,
		     struct allo_error *err)
{
	allo_string_id file = 0;
	struct allo_line line = { .line = site.line > 0 ? (uint32_t)site.line : 0,
				  .column = site.column > 0 ? (uint32_t)site.column : 0 };

	if (site.file)
		file = add_file(finder, unit, site.file, err);
	if (allo_failed(err))
		return false;
	line.function = allo_function_names_add(finder->names, finder->profile, allo_text_of(name),
						file, start_line, err);
	if (line.function == 0)
		return false;
	if (finder->spots->lines.len == UINT32_MAX ||
	    !allo_vec_append(&finder->spots->lines, &line, 1))
		return allo_fail_memory(err);
	spot->line_count++;
	ALLO_ASSERT(spot->first_line + spot->line_count == finder->spots->lines.len);
	return true;
}

static bool add_lines(struct finder *finder, struct unit *unit, struct allo_spot *spot,
		      size_t index, struct allo_error *err)
{
	const struct scope *scope = finder->scoped.at[index].scope;
	struct site site = site_of_address(unit, &finder->lines.at[index]);

	spot->first_line = (uint32_t)finder->spots->lines.len;
	if (!scope)
		return !spot->symbol.name ||
		       add_line(finder, unit, spot, spot->symbol.name, site, 0, err);
	for (; scope && spend(&finder->work.steps_left, 1); scope = scope->outer) {
		if (!add_line(finder, unit, spot, name_of(finder, scope, &spot->symbol), site,
			      start_line_of(unit, scope, site.file), err))
			return false;
		if (scope->is_inlined)
			site = site_of_call(unit, scope);
	}
	return true;
}

/* Finds the lines of all spots of one unit. */
static bool find_lines(struct finder *finder, const struct place *places, size_t count,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };
	struct allo_spot *spots = finder->spots->spots.at;
	ALLO_DEFER(unit_done) struct unit unit = { .strings = &finder->strings };

	if (!open_unit(finder, places->unit, &unit))
		return true;
	finder->last_file = NULL;
	finder->scoped.len = finder->lines.len = 0;
	if (!allo_vec_reserve(&finder->scoped, count) || !allo_vec_cover(&finder->lines, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		finder->scoped.at[finder->scoped.len++] = (struct scoped){
			.address = spots[places[i].spot].address
		};
	ALLO_ASSERT(finder->scoped.len == count && finder->lines.len == count);
	find_files(finder, &unit);
	if (!find_scopes(&unit.entries, finder->scoped.at, count, &arena, &finder->work, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!add_lines(finder, &unit, &spots[places[i].spot], i, err))
			return false;
	}
	return true;
}

bool allo_source_lines_find(Elf *elf, uint64_t file_bytes, struct allo_spots *spots,
			    struct allo_profile *profile, struct allo_function_names *names,
			    const struct allo_spot_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_unpacked_debug_done) struct allo_unpacked_debug unpacked = { 0 };
	ALLO_DEFER(finder_done)
	struct finder finder = { .spots = spots,
				 .profile = profile,
				 .names = names,
				 .work = work_for(file_bytes, spots->spots.len) };
	Elf *debug;
	size_t count;

	/* Processes that are recorded have our byte order and 64 bits.  Only other files would be
	 * left to libdw as a whole, which has no limits. */
	if (!allo_elf_is_like_ours(elf) || !allo_elf_debug_is_modest(elf, file_bytes))
		return true;
	finder.units.work = &finder.work;
	finder.qualified.steps_left = &finder.work.steps_left;
	debug = allo_elf_unpack_debug(&unpacked, elf);
	allo_elf_end_strings(debug);
	finder.units.dwarf = dwarf_begin_elf(debug, DWARF_C_READ, NULL);
	if (!finder.units.dwarf)
		return true;
	if (!find_places(&finder, err))
		return false;
	for (size_t i = 0; i < finder.places.len; i += count) {
		const struct place *places = finder.places.at + i;

		for (count = 1; i + count < finder.places.len; count++) {
			if (places[count].unit != places->unit)
				break;
		}
		if (!find_lines(&finder, places, count, err))
			return false;
		progress->tell(progress->context, count);
	}
	return true;
}
