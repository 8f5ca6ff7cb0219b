/*
 * built_in_search.h - finds the functions of allocators in a module.
 */
#ifndef ALLO_CAPTURE_BUILT_IN_SEARCH_H
#define ALLO_CAPTURE_BUILT_IN_SEARCH_H

#include "capture/hooks/built_in_functions.h"
#include "capture/stacks/module_symbols.h"

enum { ALLO_BUILT_IN_MAX = 1024 };

/* A function that may belong to an allocator. */
struct allo_built_in_candidate {
	const struct allo_built_in_function *function;
	const char *prefix;
	struct allo_module_symbol symbol;
};

struct allo_built_in_search {
	struct allo_code_module module;
	struct allo_built_in_candidate all[ALLO_BUILT_IN_MAX];
	size_t count;
	bool is_full;     /* there are more */
	bool has_unnamed; /* functions without names (built_in_unnamed.h): Chromium's allocator */
};

/* Looks at the exported functions of a module, and at the symbols of its file, if it has a path, or
 * of a debug file.  In a library, only names with a prefix count: libc's are found by preloading.
 */
void allo_built_in_search(struct allo_built_in_search *search,
			  const struct allo_code_module *module, const char *path);

/* Whether there is an allocator with this prefix, among the candidates. */
bool allo_built_in_is_allocator(const struct allo_built_in_search *search, const char *prefix);

/* The allocator that uses such a prefix. */
const char *allo_built_in_name(const char *prefix);

/* The allocator of a program, also by functions without a prefix; "malloc" if it is unknown. */
const char *allo_built_in_own_name(const struct allo_built_in_search *search);

#endif
