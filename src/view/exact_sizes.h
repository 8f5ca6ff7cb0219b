/*
 * exact_sizes.h - the most frequent sizes of blocks, and the call site with the most blocks of
 * each.
 */
#ifndef ALLO_VIEW_EXACT_SIZES_H
#define ALLO_VIEW_EXACT_SIZES_H

#include "base/map.h"
#include "base/vec.h"

/* Blocks of one size and site.  A row of the result has the site with the most blocks. */
struct allo_sized_blocks {
	uint64_t size;
	uint32_t site;
	double blocks, site_blocks;
};

/* All zeros is empty. */
struct allo_exact_sizes {
	ALLO_VEC(struct allo_sized_blocks) at;

	/* Private from here on. */
	struct allo_map map; /* index + 1 */
};

void allo_exact_sizes_done(struct allo_exact_sizes *sizes);

bool allo_exact_sizes_add(struct allo_exact_sizes *sizes, uint64_t size, uint32_t site,
			  double blocks, struct allo_error *err);

/* Joins the sites of each size, and sorts by the number of blocks, the most first.  `sizes->at`
 * then has a row for each size; nothing can be added any more. */
void allo_exact_sizes_sort(struct allo_exact_sizes *sizes);

#endif
