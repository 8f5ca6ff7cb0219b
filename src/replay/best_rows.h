/*
 * best_rows.h - the first of many rows of blocks in some order, without keeping the others.
 */
#ifndef ALLO_REPLAY_BEST_ROWS_H
#define ALLO_REPLAY_BEST_ROWS_H

#include "replay/block_rows.h"

enum allo_row_order {
	ALLO_ROWS_BY_SIZE,     /* the largest first */
	ALLO_ROWS_BY_TIME,     /* the first first */
	ALLO_ROWS_BY_LIFETIME, /* those that were never freed, then the longest */
};

/* How long a block lived, from the first allocation where reallocs have changed it.  False while it
 * has not ended: it was never freed, or lives on as another block. */
bool allo_row_lifetime(const struct allo_block_row *row, uint64_t *ns);

/* All zeros but for `most` and `order`: ready for use. */
struct allo_best_rows {
	size_t most; /* 0: all */
	enum allo_row_order order;
	ALLO_VEC(struct allo_block_row) rows;
};

bool allo_best_rows_add(struct allo_best_rows *best, const struct allo_block_row *row,
			struct allo_error *err);

/* Puts them in order, behind the last one. */
void allo_best_rows_sort(struct allo_best_rows *best);

void allo_best_rows_done(struct allo_best_rows *best);

#endif
