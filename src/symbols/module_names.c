/* module_names.c - see module_names.h. */
#include "symbols/module_names.h"

#include "base/defer.h"
#include "symbols/name_cache.h"
#include "symbols/symbol_table.h"

#include <stdlib.h>

void allo_module_names_done(struct allo_module_names *module)
{
	allo_profile_done(&module->names);
	allo_spots_done(&module->spots);
}

static int compare_wanted(const void *left, const void *right)
{
	const struct allo_wanted *a = left, *b = right;

#define COMPARE(field)                                                                             \
	if (a->field != b->field)                                                                  \
	return a->field < b->field ? -1 : 1
	COMPARE(path);
	COMPARE(build_id);
	COMPARE(address);
	COMPARE(frame);
#undef COMPARE
	return 0;
}

void allo_wanted_sort(struct allo_wanted *wanted, size_t count)
{
	if (count > 1)
		qsort(wanted, count, sizeof(*wanted), compare_wanted);
}

/* Files. */

/* Whether a file that was opened is the one that the module was. */
static bool is_same(const struct allo_module_names *module, const struct allo_elf_file *file,
		    const struct allo_build_id *id, enum allo_symbol_source *source)
{
	int64_t start_ns = module->profile->meta.start_ns;

	*source = ALLO_SYMBOLS_OTHER_BUILD;
	if (id->len > 0 || file->build_id.len > 0)
		return allo_build_id_equal(id, &file->build_id);
	*source = ALLO_SYMBOLS_CHANGED;
	return start_ns == 0 || file->changed_ns <= start_ns;
}

/* Opens what there is; module->source says why that is nothing. */
static bool open_files(struct allo_module_names *module, struct allo_module_files *files,
		       const struct allo_build_id *id)
{
	ALLO_DEFER(allo_free_pointer) char *path = strndup(module->path.data, module->path.len);

	if (!path)
		return allo_fail_memory(&module->err);
	module->source = ALLO_SYMBOLS_NOT_FOUND;
	/* A name without a folder is none of a file: that of the kernel's own library. */
	if (path[0] != '/')
		return true;
	if (!allo_elf_open(&files->own, module->places->root, path)) {
		if (files->own.is_there)
			module->source = ALLO_SYMBOLS_UNREADABLE;
	} else if (!is_same(module, &files->own, id, &module->source)) {
		module->other_build = files->own.build_id;
		allo_elf_close(&files->own);
	}
	if (!files->own.elf && id->len > 0)
		allo_module_files_open_elsewhere(files, module->places, path, id);
	if (allo_module_files_open_debug(files, module->places, path, id) || files->own.elf)
		module->source = ALLO_SYMBOLS_NONE;
	return true;
}

/* Spots. */

/* Addresses of the process become addresses of the file. */
static bool translate(struct allo_module_names *module, const struct allo_module_files *files)
{
	const struct allo_elf_file *file = files->own.elf ? &files->own : &files->debug;

	for (size_t i = 0; i < module->count; i++) {
		struct allo_wanted *wanted = &module->wanted[i];
		const struct allo_module *loaded = &module->profile->modules.at[wanted->module];
		uint64_t bias = loaded->bias;

		if (!loaded->has_bias && !allo_elf_bias(file, loaded->start, loaded->offset, &bias))
			return false;
		wanted->address -= bias;
	}
	allo_wanted_sort(module->wanted, module->count);
	return true;
}

static bool add_spots(struct allo_module_names *module)
{
	for (size_t i = 0; i < module->count; i++) {
		struct allo_spot spot = { .address = module->wanted[i].address };

		if (i > 0 && module->wanted[i].address == module->wanted[i - 1].address)
			continue;
		if (!allo_vec_append(&module->spots.spots, &spot, 1))
			return allo_fail_memory(&module->err);
	}
	return true;
}

static bool find_symbols(struct allo_module_names *module, const struct allo_module_files *files)
{
	const struct {
		const struct allo_elf_file *file;
		uint32_t type;
		enum allo_symbol_source source;
	} tables[] = {
		{ &files->own, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ &files->debug, SHT_SYMTAB, ALLO_SYMBOLS_NAMES },
		{ &files->own, SHT_DYNSYM, ALLO_SYMBOLS_EXPORTED },
	};

	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		bool has_table = false;

		if (tables[i].file->elf &&
		    !allo_symbol_table_find(tables[i].file->elf, tables[i].type, &module->spots,
					    &has_table, &module->err))
			return false;
		if (has_table && tables[i].source > module->source)
			module->source = tables[i].source;
	}
	return true;
}

static bool find_lines(struct allo_module_names *module, const struct allo_module_files *files,
		       struct allo_function_names *names)
{
	const struct allo_elf_file *both[] = { &files->own, &files->debug };

	for (size_t i = 0; i < sizeof(both) / sizeof(*both); i++) {
		if (!both[i]->elf || !allo_has_source_lines(both[i]->elf))
			continue;
		module->source = ALLO_SYMBOLS_LINES;
		return allo_source_lines_find(both[i]->elf, &module->spots, &module->names, names,
					      &module->progress, &module->err);
	}
	return true;
}

/* Spots without lines have at least the names of their symbols. */
static bool use_symbols(struct allo_module_names *module, struct allo_function_names *names)
{
	struct allo_spots *spots = &module->spots;

	for (size_t i = 0; i < spots->spots.len; i++) {
		struct allo_spot *spot = &spots->spots.at[i];
		struct allo_line line = { 0 };

		if (spot->is_known || spot->line_count > 0 || !spot->symbol.name)
			continue;
		line.function = allo_function_names_add(
			names, &module->names, allo_text_of(spot->symbol.name), 0, 0, &module->err);
		if (line.function == 0)
			return false;
		spot->first_line = (uint32_t)spots->lines.len;
		spot->line_count = 1;
		if (spots->lines.len == UINT32_MAX || !allo_vec_append(&spots->lines, &line, 1))
			return allo_fail_memory(&module->err);
	}
	return true;
}

static bool find_names(struct allo_module_names *module, const struct allo_module_files *files)
{
	ALLO_DEFER(allo_function_names_done) struct allo_function_names names = { 0 };

	return find_symbols(module, files) && find_lines(module, files, &names) &&
	       use_symbols(module, &names);
}

static bool are_all_known(const struct allo_spots *spots)
{
	for (size_t i = 0; i < spots->spots.len; i++) {
		if (!spots->spots.at[i].is_known)
			return false;
	}
	return true;
}

/* From the cache, else from the files. */
static bool find_or_remember(struct allo_module_names *module,
			     const struct allo_module_files *files, const struct allo_build_id *id)
{
	ALLO_DEFER(allo_name_cache_done) struct allo_name_cache cache = { 0 };

	if (module->has_no_cache)
		return find_names(module, files);
	allo_name_cache_open(&cache, files, id);
	if (!allo_name_cache_use(&cache, &module->spots, &module->names, &module->err))
		return false;
	if (are_all_known(&module->spots) && cache.source >= ALLO_SYMBOLS_NONE &&
	    cache.source <= ALLO_SYMBOLS_LINES) {
		module->source = (enum allo_symbol_source)cache.source;
		return true;
	}
	if (!find_names(module, files))
		return false;
	module->has_saved = allo_name_cache_save(&cache, module->source, &module->spots,
						 &module->names, &module->err);
	return !allo_failed(&module->err);
}

void allo_module_names_find(void *context)
{
	ALLO_DEFER(allo_module_files_close) struct allo_module_files files = { 0 };
	struct allo_module_names *module = context;
	struct allo_build_id id = allo_build_id_of(module->build_id);

	if (open_files(module, &files, &id) && module->source == ALLO_SYMBOLS_NONE &&
	    translate(module, &files) && add_spots(module))
		find_or_remember(module, &files, &id);
}
