/*
 * live_callers.h - the callers of one site of a followed heap, as a tree in rows.
 *
 * The tree is made when the site is chosen and when stacks appear; other updates only add up
 * numbers.
 */
#ifndef ALLO_ENGINE_LIVE_CALLERS_H
#define ALLO_ENGINE_LIVE_CALLERS_H

#include "analysis/tree.h"
#include "engine/live/live_sites.h"

/* All zeros is empty, ready for use. */
struct allo_live_callers {
	/* The lines of the site that allocate, each followed by its callers. */
	ALLO_VEC(struct allo_live_row) rows;

	/* Private. */
	uint64_t site;      /* the row's id; 0: none */
	unsigned groupings; /* of the sites, when the tree was made */
	struct allo_tree tree;
	ALLO_VEC(uint32_t) stacks;            /* of the heap, by sample of the tree */
	ALLO_VEC(struct allo_live_row) nodes; /* by node of the tree */
	ALLO_VEC(uint32_t) order;             /* nodes without the root, by parent and size */
	ALLO_VEC(uint32_t) places;            /* by node: its place in `order` */
	ALLO_VEC(uint32_t) first;             /* by node: place + 1 of its first child; 0: none */
	struct allo_arena arena;
};

/* The rows of a site by its id, which may have gone: then there are no rows. */
bool allo_live_callers_update(struct allo_live_callers *callers, struct allo_live_sites *sites,
			      const struct allo_live_heap *heap, uint64_t site,
			      enum allo_live_sort sort, struct allo_error *err);

void allo_live_callers_done(struct allo_live_callers *callers);

#endif
