/*
 * best_rows.c - see best_rows.h.
 *
 * The rows are a binary heap whose first one is the last in order: the one to give up next.
 */
#include "replay/best_rows.h"

#include <stdlib.h>

bool allo_row_lifetime(const struct allo_block_row *row, uint64_t *ns)
{
	if (row->free_ns == ALLO_NEVER || row->flags & ALLO_ROW_RESIZED_ON)
		return false;
	*ns = row->free_ns > row->first_ns ? row->free_ns - row->first_ns : 0;
	return true;
}

/* Largest first; equal ones in the order of their birth. */
static uint64_t key_of(const struct allo_block_row *row, enum allo_row_order order)
{
	uint64_t lifetime = 0;

	switch (order) {
	case ALLO_ROWS_BY_SIZE:
		return row->size;
	case ALLO_ROWS_BY_TIME:
		return 0;
	case ALLO_ROWS_BY_LIFETIME:
		if (row->free_ns == ALLO_NEVER)
			return UINT64_MAX - row->first_ns;
		allo_row_lifetime(row, &lifetime);
		break;
	}
	return lifetime;
}

static bool comes_before(const struct allo_block_row *a, const struct allo_block_row *b,
			 enum allo_row_order order)
{
	uint64_t first = key_of(a, order), second = key_of(b, order);

	return first != second ? first > second : a->number < b->number;
}

static void swap(struct allo_block_row *a, struct allo_block_row *b)
{
	struct allo_block_row kept = *a;

	*a = *b;
	*b = kept;
}

static void sift_up(struct allo_best_rows *best, size_t at)
{
	struct allo_block_row *rows = best->rows.at;

	for (; at > 0 && comes_before(&rows[(at - 1) / 2], &rows[at], best->order);
	     at = (at - 1) / 2)
		swap(&rows[(at - 1) / 2], &rows[at]);
}

static void sift_down(struct allo_best_rows *best)
{
	struct allo_block_row *rows = best->rows.at;
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < best->rows.len &&
		    comes_before(&rows[child], &rows[child + 1], best->order))
			child++;
		if (child >= best->rows.len || !comes_before(&rows[at], &rows[child], best->order))
			return;
		swap(&rows[at], &rows[child]);
		at = child;
	}
}

bool allo_best_rows_add(struct allo_best_rows *best, const struct allo_block_row *row,
			struct allo_error *err)
{
	if (best->most > 0 && best->rows.len >= best->most) {
		if (comes_before(row, &best->rows.at[0], best->order)) {
			best->rows.at[0] = *row;
			sift_down(best);
		}
		return true;
	}
	if (!allo_vec_append(&best->rows, row, 1))
		return allo_fail_memory(err);
	if (best->most > 0)
		sift_up(best, best->rows.len - 1);
	return true;
}

static int compare(const void *left, const void *right, void *context)
{
	const struct allo_best_rows *best = context;

	if (comes_before(left, right, best->order))
		return -1;
	return comes_before(right, left, best->order);
}

void allo_best_rows_sort(struct allo_best_rows *best)
{
	if (best->rows.len > 0)
		qsort_r(best->rows.at, best->rows.len, sizeof(*best->rows.at), compare, best);
}

void allo_best_rows_done(struct allo_best_rows *best)
{
	allo_vec_done(&best->rows);
}
