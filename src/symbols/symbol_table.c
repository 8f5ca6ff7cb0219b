/* symbol_table.c - matches symbols to sorted spots in one pass over the table. */
#include "symbols/symbol_table.h"

#include "base/assert.h"
#include "base/defer.h"
#include "symbols/elf_file.h"

#include <limits.h>
#include <stdlib.h>

/* The best symbols of a spot so far. */
struct best {
	struct allo_symbol sized;
	/* Only symbols that start between the previous spot and this one. */
	struct allo_symbol unsized;
	uint64_t unsized_end;
	uint64_t last_border; /* the start of any symbol, or the end of a sized one */
};

struct search {
	Elf *elf;
	size_t names; /* index of the section with names */
	struct allo_spots *spots;
	struct best *best; /* by spot */
	/* Limits the work for a table in which all functions overlap; they seldom do. */
	uint64_t overlaps_left;
};

enum {
	USUAL_OVERLAPS = 64,
	/* Bytes of names that are compared: the names of a hostile file share one long string. */
	NAME_COMPARED = 4096,
};

/* Leading underscores. */
static size_t count_marks(const char *name)
{
	size_t count = 0;

	while (count < NAME_COMPARED && name[count] == '_')
		count++;
	return count;
}

/* The rules of symbol_table.h for two symbols that start at the same address. */
static bool is_better(const struct allo_symbol *a, const struct allo_symbol *b)
{
	size_t a_marks = count_marks(a->name), b_marks = count_marks(b->name), a_len, b_len;

	if (a->is_function != b->is_function)
		return a->is_function;
	if (a->is_local != b->is_local)
		return b->is_local;
	if (a_marks != b_marks)
		return a_marks < b_marks;
	if (a->is_weak != b->is_weak)
		return b->is_weak;
	a_len = strnlen(a->name, NAME_COMPARED);
	b_len = strnlen(b->name, NAME_COMPARED);
	return a_len != b_len ? a_len < b_len : strncmp(a->name, b->name, NAME_COMPARED) < 0;
}

static bool is_later(const struct allo_symbol *a, const struct allo_symbol *b)
{
	if (!b->name || a->start != b->start)
		return !b->name || a->start > b->start;
	return is_better(a, b);
}

static bool is_code_symbol(const GElf_Sym *symbol)
{
	int type = GELF_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* The section that a symbol is in, if it holds code. */
static bool find_code(const struct search *search, const GElf_Sym *symbol, GElf_Word wide_index,
		      GElf_Shdr *code)
{
	bool is_wide = symbol->st_shndx == SHN_XINDEX;
	Elf_Scn *section;

	if (symbol->st_shndx >= SHN_LORESERVE && !is_wide)
		return false;
	section = elf_getscn(search->elf, is_wide ? wide_index : symbol->st_shndx);
	return section && gelf_getshdr(section, code) && code->sh_flags & SHF_EXECINSTR &&
	       symbol->st_value >= code->sh_addr &&
	       symbol->st_value - code->sh_addr < code->sh_size;
}

/* Names that start with '$' mark code and data on ARM and RISC-V. */
static const char *find_name(const struct search *search, const GElf_Sym *symbol)
{
	const char *name = elf_strptr(search->elf, search->names, symbol->st_name);

	return name && name[0] != '\0' && name[0] != '$' ? name : NULL;
}

static void take_border(struct search *search, uint64_t border)
{
	size_t first = allo_spots_find(search->spots, border);

	if (first < search->spots->spots.len && border > search->best[first].last_border)
		search->best[first].last_border = border;
}

static void take_symbol(struct search *search, const GElf_Sym *symbol, const GElf_Shdr *code)
{
	struct allo_spots *spots = search->spots;
	uint64_t room = code->sh_size - (symbol->st_value - code->sh_addr);
	uint64_t size = symbol->st_size < room ? symbol->st_size : room;
	size_t first = allo_spots_find(spots, symbol->st_value);
	struct best *best = &search->best[first];
	struct allo_symbol found = {
		.start = symbol->st_value,
		.is_function = GELF_ST_TYPE(symbol->st_info) != STT_NOTYPE,
		.is_local = GELF_ST_BIND(symbol->st_info) == STB_LOCAL,
		.is_weak = GELF_ST_BIND(symbol->st_info) == STB_WEAK,
	};

	ALLO_ASSERT(first <= spots->spots.len && size <= room);
	take_border(search, found.start);
	take_border(search, found.start + size);
	if (first == spots->spots.len)
		return;
	if (spots->spots.at[first].address - found.start >= (size ? size : room))
		return;
	found.name = find_name(search, symbol);
	if (!found.name)
		return;
	if (size == 0 && is_later(&found, &best->unsized)) {
		best->unsized = found;
		best->unsized_end = found.start + room;
	}
	for (size_t i = first; i < spots->spots.len && search->overlaps_left > 0 &&
			       spots->spots.at[i].address - found.start < size;
	     i++) {
		search->overlaps_left--;
		if (is_later(&found, &search->best[i].sized))
			search->best[i].sized = found;
	}
}

/* A symbol without a size also covers spots after the first one. */
static void settle(struct search *search)
{
	struct best carried = { 0 };

	for (size_t i = 0; i < search->spots->spots.len; i++) {
		struct allo_spot *spot = &search->spots->spots.at[i];
		const struct best *best = &search->best[i];

		if (best->last_border > carried.last_border)
			carried.last_border = best->last_border;
		if (best->unsized.name) {
			carried.unsized = best->unsized;
			carried.unsized_end = best->unsized_end;
		}
		if (spot->symbol.name)
			continue;
		if (best->sized.name)
			spot->symbol = best->sized;
		else if (carried.unsized.name && carried.unsized.start == carried.last_border &&
			 spot->address < carried.unsized_end)
			spot->symbol = carried.unsized;
	}
}

/* The section indices of symbols, in files with more sections than st_shndx can hold. */
static Elf_Data *find_wide_indexes(Elf *elf, size_t table)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	while ((section = elf_nextscn(elf, section)) != NULL) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_SYMTAB_SHNDX &&
		    header.sh_link == table)
			return elf_getdata(section, NULL);
	}
	return NULL;
}

bool allo_symbol_table_find(Elf *elf, uint32_t type, struct allo_spots *spots, bool *has_table,
			    struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) struct best *best = NULL;
	GElf_Shdr header, code;
	Elf_Scn *section = allo_elf_section_of_type(elf, type, &header);
	Elf_Data *symbols = section ? elf_getdata(section, NULL) : NULL;
	size_t entry = gelf_fsize(elf, ELF_T_SYM, 1, EV_CURRENT), count;
	struct search search = { .elf = elf, .spots = spots };
	Elf_Data *wide;

	*has_table = symbols && symbols->d_buf && entry > 0 && symbols->d_size > entry;
	if (!*has_table)
		return true;
	count = symbols->d_size / entry;
	wide = find_wide_indexes(elf, elf_ndxscn(section));
	best = calloc(spots->spots.len + 1, sizeof(*best));
	if (!best)
		return allo_fail_memory(err);
	search.names = header.sh_link;
	search.best = best;
	search.overlaps_left = (count + spots->spots.len) * USUAL_OVERLAPS;
	for (size_t i = 1; i < count && i <= INT_MAX; i++) {
		GElf_Word wide_index = 0;
		GElf_Sym symbol;

		if (gelf_getsymshndx(symbols, wide, (int)i, &symbol, &wide_index) &&
		    is_code_symbol(&symbol) && find_code(&search, &symbol, wide_index, &code))
			take_symbol(&search, &symbol, &code);
	}
	settle(&search);
	return true;
}
