/*
 * qualified_name.h - C++ functions without a linker name, with the namespaces and classes around
 * them.
 *
 * Compilers leave out the linker name of static functions, of those in anonymous namespaces, and of
 * lambdas. Their entry has the last part of the name only: "render", "operator()".
 */
#ifndef ALLO_SYMBOLS_QUALIFIED_NAME_H
#define ALLO_SYMBOLS_QUALIFIED_NAME_H

#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"

#include <elfutils/libdw.h>

struct allo_qualified_name {
	const void *entry;
	const char *name;
};

/* All zeros, except for `steps_left`, is empty. */
struct allo_qualified_names {
	uint64_t *steps_left; /* entries that may be visited */
	struct allo_arena arena;
	struct allo_map map; /* of `known`, by entry */
	ALLO_VEC(struct allo_qualified_name) known;
};

void allo_qualified_names_done(struct allo_qualified_names *names);

/* "app::(anonymous namespace)::render", "main::{lambda}::operator()"; `plain` if nothing is around
 * the function, if it is not C++, or when out of memory or steps. */
const char *allo_qualified_name_find(struct allo_qualified_names *names, Dwarf_Die *function,
				     const char *plain);

#endif
