/* scopes.c - see scopes.h. */
#include "symbols/scopes.h"

#include "base/sorted.h"

#include <dwarf.h>

/* Blocks, inlined calls and namespaces within each other; compilers stay far below this. */
enum { DEPTH_MAX = 512 };

struct search {
	struct allo_scoped *addresses;
	size_t count;
	struct allo_arena *arena;
	struct allo_error *err;
	/* Looks everywhere, as functions within functions are not within their addresses. */
	bool is_thorough;
};

static size_t find_address(const struct search *search, uint64_t address)
{
	return allo_sorted_below(search->addresses, search->count, address, address);
}

/* Whether an entry has any of the addresses.  Those that are in `outer` so far get `scope`, unless
 * that is NULL. */
static bool take_addresses(struct search *search, Dwarf_Die *die, const struct allo_scope *outer,
			   const struct allo_scope *scope)
{
	Dwarf_Addr base = 0, start = 0, end = 0;
	bool has_any = false;
	ptrdiff_t at = 0;

	/* Most are declarations, of which this is known at a glance. */
	if (!dwarf_hasattr(die, DW_AT_low_pc) && !dwarf_hasattr(die, DW_AT_ranges))
		return false;
	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		for (size_t i = find_address(search, start);
		     i < search->count && search->addresses[i].address < end; i++) {
			has_any = true;
			if (scope && search->addresses[i].scope == outer)
				search->addresses[i].scope = scope;
		}
	}
	return has_any;
}

static bool visit_children(struct search *search, Dwarf_Die *parent, const struct allo_scope *outer,
			   unsigned depth);

/* A function or an inlined call. */
static bool visit_scope(struct search *search, Dwarf_Die *die, bool is_inlined,
			const struct allo_scope *outer, unsigned depth)
{
	struct allo_scope *scope;

	if (!take_addresses(search, die, outer, NULL))
		return !search->is_thorough || visit_children(search, die, outer, depth);
	scope = ALLO_ARENA_NEW(search->arena, 1, struct allo_scope);
	if (!scope)
		return allo_fail_memory(search->err);
	*scope = (struct allo_scope){ *die, is_inlined, outer };
	take_addresses(search, die, outer, scope);
	return visit_children(search, die, scope, depth);
}

static bool visit(struct search *search, Dwarf_Die *die, const struct allo_scope *outer,
		  unsigned depth)
{
	switch (dwarf_tag(die)) {
	case DW_TAG_subprogram:
		/* What is outside of a function did not call it. */
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

static bool visit_children(struct search *search, Dwarf_Die *parent, const struct allo_scope *outer,
			   unsigned depth)
{
	Dwarf_Die die, next;

	if (depth == DEPTH_MAX || dwarf_haschildren(parent) != 1 || dwarf_child(parent, &die) != 0)
		return true;
	for (;;) {
		if (!visit(search, &die, outer, depth + 1))
			return false;
		/* A file may say that an entry's next one is before it. */
		if (dwarf_siblingof(&die, &next) != 0 ||
		    dwarf_dieoffset(&next) <= dwarf_dieoffset(&die))
			return true;
		die = next;
	}
}

bool allo_scopes_find(Dwarf_Die *unit, struct allo_scoped *addresses, size_t count,
		      struct allo_arena *arena, struct allo_error *err)
{
	struct search search = { addresses, count, arena, err, false };

	if (!visit_children(&search, unit, NULL, 0))
		return false;
	for (size_t i = 0; i < count; i++)
		search.is_thorough |= !addresses[i].scope;
	return !search.is_thorough || visit_children(&search, unit, NULL, 0);
}
