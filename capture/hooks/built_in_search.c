/* built_in_search.c - looks up names in hash tables, and then in tables of symbols. */
#include "capture/hooks/built_in_search.h"
#include "capture/hooks/built_in_unnamed.h"
#include "capture/stacks/program_headers.h"

#include <limits.h>
#include <string.h>

static bool is_allocation(const struct allo_built_in_candidate *candidate)
{
	return candidate->function == &allo_built_in_functions[0] ||
	       (candidate->prefix[0] && candidate->function->kind == ALLO_BUILT_IN_ALLOC);
}

/* Other modules may have a function mi_free(), and the linker leaves out mi_malloc() where only
 * mi_malloc_aligned() is called. */
bool allo_built_in_is_allocator(const struct allo_built_in_search *search, const char *prefix)
{
	for (size_t i = 0; i < search->count; i++) {
		if (is_allocation(&search->all[i]) && search->all[i].prefix == prefix)
			return true;
	}
	return false;
}

/* Exported functions are in both tables of symbols. */
static bool is_known(const struct allo_built_in_search *search,
		     const struct allo_built_in_function *function, uint64_t address)
{
	for (size_t i = 0; i < search->count; i++) {
		if (search->all[i].function == function && search->all[i].symbol.address == address)
			return true;
	}
	return false;
}

static void add_symbol(void *context, const char *name, struct allo_module_symbol symbol)
{
	struct allo_built_in_search *search = context;
	const char *prefix;
	const struct allo_built_in_function *function = allo_built_in_function_find(name, &prefix);

	if (!function || (!prefix[0] && !search->module.is_program) ||
	    is_known(search, function, symbol.address))
		return;
	search->is_full = search->count == ALLO_BUILT_IN_MAX;
	if (!search->is_full)
		search->all[search->count++] = (struct allo_built_in_candidate){ function, prefix,
										 symbol };
}

static void add_exported(struct allo_built_in_search *search, const char *prefix, const char *name)
{
	struct allo_module_symbol symbol;
	char whole[128];

	strcpy(whole, prefix);
	strcat(whole, name);
	if (allo_export_find(allo_exports_of(&search->module), whole, &symbol) &&
	    symbol.is_function)
		add_symbol(search, whole, symbol);
}

static void find_exported(struct allo_built_in_search *search)
{
	/* The first prefix is none. */
	for (unsigned i = !search->module.is_program; allo_built_in_prefixes[i]; i++)
		add_exported(search, allo_built_in_prefixes[i], "malloc");
	add_exported(search, "mi_", "malloc_aligned");
	if (search->count == 0)
		return;
	for (unsigned i = 0; allo_built_in_prefixes[i]; i++) {
		for (size_t k = 1; k < allo_built_in_function_count; k++)
			add_exported(search, allo_built_in_prefixes[i],
				     allo_built_in_functions[k].name);
	}
}

/* /usr/lib/debug/.build-id/ab/cdef.debug; false if the module has no build-id. */
static bool find_debug_file(const struct allo_code_module *module, char path[PATH_MAX])
{
	static const char folder[] = "/usr/lib/debug/.build-id/", digits[] = "0123456789abcdef";
	const uint8_t *id;
	size_t id_len;
	char *at = path + strlen(folder);

	id = allo_build_id_find(module, &id_len);
	if (!id || id_len < 2)
		return false;
	strcpy(path, folder);
	for (size_t i = 0; i < id_len; i++) {
		*at++ = digits[id[i] >> 4];
		*at++ = digits[id[i] & 15];
		if (i == 0)
			*at++ = '/';
	}
	strcpy(at, ".debug");
	return true;
}

void allo_built_in_search(struct allo_built_in_search *search,
			  const struct allo_code_module *module, const char *path)
{
	/* Every library refers to malloc. */
	static const char *const endings[] = { "malloc", "mi_malloc_aligned", NULL };
	static const char *const of_library[] = { "_malloc", "mi_malloc_aligned", NULL };
	const char *const *wanted = module->is_program ? endings : of_library;
	static char debug[PATH_MAX]; /* hooks get here, on small stacks too */

	search->module = *module;
	search->count = 0;
	search->is_full = search->has_unnamed = false;
	find_exported(search);
	if (module->is_program)
		allo_built_in_find_unnamed(search);
	if (path[0] && !allo_module_symbols_visit(module, path, wanted, add_symbol, search) &&
	    find_debug_file(module, debug))
		allo_module_symbols_visit(module, debug, wanted, add_symbol, search);
}

const char *allo_built_in_name(const char *prefix)
{
	if (strcmp(prefix, "mi_") == 0)
		return "mimalloc";
	if (strcmp(prefix, "tc_") == 0)
		return "tcmalloc";
	return prefix[0] ? "jemalloc" : "malloc";
}

static const char *name_by_function(const char *name)
{
	if (strcmp(name, "mallocx") == 0)
		return "jemalloc";
	return strcmp(name, "moz_arena_malloc") == 0 ? "mozjemalloc" : NULL;
}

const char *allo_built_in_own_name(const struct allo_built_in_search *search)
{
	if (search->has_unnamed)
		return "PartitionAlloc";
	for (size_t i = 0; i < search->count; i++) {
		const struct allo_built_in_candidate *candidate = &search->all[i];
		const char *name = candidate->prefix[0]
					   ? allo_built_in_name(candidate->prefix)
					   : name_by_function(candidate->function->name);

		if (name)
			return name;
	}
	return "malloc";
}
