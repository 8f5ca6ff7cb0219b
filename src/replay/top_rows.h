/*
 * top_rows.h - the first N rows of blocks in some order, in memory for N rows.
 */
#ifndef ALLO_REPLAY_TOP_ROWS_H
#define ALLO_REPLAY_TOP_ROWS_H

#include "replay/block_rows.h"

enum allo_row_order {
	ALLO_ROWS_BY_SIZE,     /* largest first */
	ALLO_ROWS_BY_TIME,     /* oldest first */
	ALLO_ROWS_BY_LIFETIME, /* never freed, then longest lived */
};

/* The lifetime of a block, counted from the first allocation of its realloc chain.  False if it did
 * not end: it was never freed, or realloc made another block out of it. */
bool allo_row_lifetime(const struct allo_block_row *row, uint64_t *ns);

/* Set `most` and `order`; all else is zero at first. */
struct allo_top_rows {
	size_t most; /* 0: all */
	enum allo_row_order order;
	ALLO_VEC(struct allo_block_row) rows;
};

bool allo_top_rows_add(struct allo_top_rows *top, const struct allo_block_row *row,
		       struct allo_error *err);

/* Sorts the rows.  Call it after the last one. */
void allo_top_rows_sort(struct allo_top_rows *top);

void allo_top_rows_done(struct allo_top_rows *top);

#endif
