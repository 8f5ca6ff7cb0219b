/* source_lines.c - see source_lines.h. */
#include "symbols/source_lines.h"

#include "base/defer.h"
#include "symbols/code_units.h"
#include "symbols/elf_file.h"
#include "symbols/line_program.h"
#include "symbols/scopes.h"
#include "symbols/source_path.h"
#include "symbols/unpacked_debug.h"

#include <dwarf.h>
#include <stdlib.h>

/* A spot and the unit it is in. */
struct place {
	Dwarf_Off unit;
	uint32_t spot;
};

struct finding {
	struct allo_spots *spots;
	struct allo_profile *profile;
	struct allo_function_names *names;
	struct allo_code_units units;
	ALLO_VEC(struct place) places; /* by unit and address */
	/* Of the unit at hand. */
	ALLO_VEC(struct allo_scoped) scoped;
	ALLO_VEC(struct allo_line_at) lines;
	struct allo_source_path path;
	const char *last_file;
	allo_string_id last_file_id;
};

/* A unit's entries: its own, and those in a file apart if there is one (-gsplit-dwarf). */
struct unit {
	Dwarf_Die own, entries;
	const char *folder; /* it was compiled in; may be NULL */
	bool has_run;       /* its line program: `own_files` has its files, else libdw has */
	struct allo_line_files own_files;
	Dwarf_Files *files; /* that the entries refer to */
	size_t file_count;
};

/* Where a call is. */
struct site {
	const char *file; /* NULL: not known */
	int line, column;
};

static void finding_done(struct finding *finding)
{
	allo_code_units_done(&finding->units);
	allo_vec_done(&finding->places);
	allo_vec_done(&finding->scoped);
	allo_vec_done(&finding->lines);
	allo_source_path_done(&finding->path);
	dwarf_end(finding->units.dwarf);
}

bool allo_has_source_lines(Elf *elf)
{
	GElf_Shdr header;

	return (allo_elf_section_named(elf, ".debug_info", &header) ||
		allo_elf_section_named(elf, ".zdebug_info", &header)) &&
	       header.sh_type != SHT_NOBITS;
}

/* A text that an entry has, or the one it is a copy of. */
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

static bool find_places(struct finding *finding, struct allo_error *err)
{
	for (size_t i = 0; i < finding->spots->spots.len; i++) {
		struct place place = { .spot = (uint32_t)i };

		if (finding->spots->spots.at[i].is_known)
			continue;
		place.unit = allo_code_units_find(&finding->units,
						  finding->spots->spots.at[i].address, err);
		if (allo_failed(err))
			return false;
		if (place.unit != 0 && !allo_vec_append(&finding->places, &place, 1))
			return allo_fail_memory(err);
	}
	if (finding->places.len > 1)
		qsort(finding->places.at, finding->places.len, sizeof(*finding->places.at),
		      compare_places);
	return true;
}

static bool open_unit(struct finding *finding, Dwarf_Off offset, struct unit *unit)
{
	Dwarf_Die apart = { 0 };
	uint8_t type = 0;

	if (!dwarf_offdie(finding->units.dwarf, offset, &unit->own))
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

/* Finds the lines of the unit's addresses, which finding->scoped has. */
static bool run_program(struct finding *finding, struct unit *unit)
{
	for (size_t i = 0; i < finding->scoped.len; i++)
		finding->lines.at[i] = (struct allo_line_at){
			.address = finding->scoped.at[i].address
		};
	/* Entries in a file apart refer to files by a table that is there. */
	return unit->own.addr == unit->entries.addr &&
	       allo_line_program_run(dwarf_getelf(finding->units.dwarf), &unit->own,
				     finding->lines.at, finding->lines.len, &unit->own_files);
}

static void find_files(struct finding *finding, struct unit *unit)
{
	unit->has_run = run_program(finding, unit);
	if (!unit->has_run &&
	    dwarf_getsrcfiles(&unit->entries, &unit->files, &unit->file_count) != 0)
		unit->file_count = 0;
}

/* A file by the number that entries know it by; NULL: not known. */
static const char *file_of(const struct unit *unit, Dwarf_Word number)
{
	if (unit->has_run)
		return number < unit->own_files.names.len ? unit->own_files.names.at[number] : NULL;
	return number < unit->file_count ? dwarf_filesrc(unit->files, number, NULL, NULL) : NULL;
}

/* Sites. */

static struct site site_of_address(struct unit *unit, const struct allo_line_at *at)
{
	struct site site = { at->file, (int)at->line, (int)at->column };
	Dwarf_Line *line;

	if (unit->has_run)
		return site;
	line = dwarf_getsrc_die(&unit->own, at->address);
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

/* Lines and columns beyond that are nonsense. */
static int small_number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Word value;

	return number_of(die, name, &value) && value <= INT32_MAX ? (int)value : 0;
}

/* Where an inlined function was called. */
static struct site site_of_call(const struct unit *unit, const struct allo_scope *scope)
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

/* What a linker knows it by says more than the source, if it is mangled; otherwise the source does:
 * the linker knows glibc's raise as __GI_raise. */
static const char *name_of(const struct allo_scope *scope, const struct allo_symbol *symbol)
{
	Dwarf_Die die = scope->die;
	const char *names[] = {
		text_of(&die, DW_AT_linkage_name),
		text_of(&die, DW_AT_MIPS_linkage_name),
		/* Compilers that are asked for lines alone leave out what a symbol says as well. */
		scope->is_inlined ? NULL : symbol->name,
	};
	const size_t count = sizeof(names) / sizeof(*names);
	const char *plain = text_of(&die, DW_AT_name);

	for (size_t i = 0; i < count; i++) {
		if (names[i] && allo_is_mangled(allo_text_of(names[i])))
			return names[i];
	}
	for (size_t i = 0; i < count && !plain; i++)
		plain = names[i];
	return plain && plain[0] != '\0' ? plain : "???";
}

/* The file that a function is declared in; an entry of another unit has that one's files. */
static const char *declared_in(const struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word number;

	if (!dwarf_attr_integrate(die, DW_AT_decl_file, &attribute))
		return NULL;
	if (!unit->has_run || attribute.cu != unit->own.cu)
		return dwarf_decl_file(die);
	return dwarf_formudata(&attribute, &number) == 0 ? file_of(unit, number) : NULL;
}

/* Where a function begins, if that is in the file of the call. */
static uint32_t start_line_of(const struct unit *unit, const struct allo_scope *scope,
			      const char *file)
{
	Dwarf_Die die = scope->die;
	const char *declared = declared_in(unit, &die);
	int line;

	if (!declared || !file || strcmp(declared, file) != 0 || dwarf_decl_line(&die, &line) != 0)
		return 0;
	return line > 0 ? (uint32_t)line : 0;
}

/* Neighbours are in the same file mostly. */
static allo_string_id add_file(struct finding *finding, const struct unit *unit, const char *file,
			       struct allo_error *err)
{
	struct allo_text folder = allo_text_of(unit->folder ? unit->folder : ""), joined;

	if (file == finding->last_file)
		return finding->last_file_id;
	if (!allo_source_path_join(&finding->path, folder, allo_text_of(file), &joined)) {
		allo_fail_memory(err);
		return 0;
	}
	finding->last_file = file;
	finding->last_file_id = allo_profile_add_string(finding->profile, joined, err);
	return finding->last_file_id;
}

static bool add_line(struct finding *finding, const struct unit *unit, struct allo_spot *spot,
		     const char *name, struct site site, uint32_t start_line,
		     struct allo_error *err)
{
	allo_string_id file = 0;
	struct allo_line line = { .line = site.line > 0 ? (uint32_t)site.line : 0,
				  .column = site.column > 0 ? (uint32_t)site.column : 0 };

	if (site.file)
		file = add_file(finding, unit, site.file, err);
	if (allo_failed(err))
		return false;
	line.function = allo_function_names_add(finding->names, finding->profile,
						allo_text_of(name), file, start_line, err);
	if (line.function == 0)
		return false;
	if (finding->spots->lines.len == UINT32_MAX ||
	    !allo_vec_append(&finding->spots->lines, &line, 1))
		return allo_fail_memory(err);
	spot->line_count++;
	return true;
}

static bool add_lines(struct finding *finding, struct unit *unit, struct allo_spot *spot,
		      size_t index, struct allo_error *err)
{
	const struct allo_scope *scope = finding->scoped.at[index].scope;
	struct site site = site_of_address(unit, &finding->lines.at[index]);

	spot->first_line = (uint32_t)finding->spots->lines.len;
	if (!scope)
		return !spot->symbol.name ||
		       add_line(finding, unit, spot, spot->symbol.name, site, 0, err);
	for (; scope; scope = scope->outer) {
		if (!add_line(finding, unit, spot, name_of(scope, &spot->symbol), site,
			      start_line_of(unit, scope, site.file), err))
			return false;
		if (scope->is_inlined)
			site = site_of_call(unit, scope);
	}
	return true;
}

/* All spots of one unit. */
static bool find_lines(struct finding *finding, const struct place *places, size_t count,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };
	struct allo_spot *spots = finding->spots->spots.at;
	ALLO_DEFER(unit_done) struct unit unit = { 0 };

	if (!open_unit(finding, places->unit, &unit))
		return true;
	finding->last_file = NULL;
	finding->scoped.len = finding->lines.len = 0;
	if (!allo_vec_reserve(&finding->scoped, count) || !allo_vec_cover(&finding->lines, count))
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		finding->scoped.at[finding->scoped.len++] = (struct allo_scoped){
			.address = spots[places[i].spot].address
		};
	find_files(finding, &unit);
	if (!allo_scopes_find(&unit.entries, finding->scoped.at, count, &arena, err))
		return false;
	for (size_t i = 0; i < count; i++) {
		if (!add_lines(finding, &unit, &spots[places[i].spot], i, err))
			return false;
	}
	return true;
}

bool allo_source_lines_find(Elf *elf, struct allo_spots *spots, struct allo_profile *profile,
			    struct allo_function_names *names,
			    const struct allo_spot_progress *progress, struct allo_error *err)
{
	ALLO_DEFER(allo_unpacked_debug_done) struct allo_unpacked_debug unpacked = { 0 };
	ALLO_DEFER(finding_done)
	struct finding finding = { .spots = spots, .profile = profile, .names = names };
	size_t count;

	finding.units.dwarf = dwarf_begin_elf(allo_unpacked_debug_of(&unpacked, elf), DWARF_C_READ,
					      NULL);
	if (!finding.units.dwarf)
		return true;
	if (!find_places(&finding, err))
		return false;
	for (size_t i = 0; i < finding.places.len; i += count) {
		const struct place *places = finding.places.at + i;

		for (count = 1; i + count < finding.places.len; count++) {
			if (places[count].unit != places->unit)
				break;
		}
		if (!find_lines(&finding, places, count, err))
			return false;
		progress->tell(progress->context, count);
	}
	return true;
}
