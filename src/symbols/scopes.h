/*
 * scopes.h - the functions, real and inlined, that addresses of a unit are in.
 */
#ifndef ALLO_SYMBOLS_SCOPES_H
#define ALLO_SYMBOLS_SCOPES_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <elfutils/libdw.h>

/* A function, or a copy of one that was inlined into the one outside of it. */
struct allo_scope {
	Dwarf_Die die;
	bool is_inlined;
	const struct allo_scope *outer; /* NULL: none */
};

struct allo_scoped {
	uint64_t address;
	const struct allo_scope *scope; /* the innermost; NULL: not known */
};

/* Finds the scopes of addresses, which are sorted; the scopes lie in `arena`. */
bool allo_scopes_find(Dwarf_Die *unit, struct allo_scoped *addresses, size_t count,
		      struct allo_arena *arena, struct allo_error *err);

#endif
