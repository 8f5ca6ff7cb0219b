/* top_rows.c - keeps rows in a binary heap whose root is the last in order: the next to drop. */
#include "replay/top_rows.h"

#include "base/assert.h"

#include <stdlib.h>

bool allo_row_lifetime(const struct allo_block_row *row, uint64_t *ns)
{
	if (row->free_ns == ALLO_NEVER || row->flags & ALLO_ROW_RESIZED_ON)
		return false;
	*ns = row->free_ns > row->first_ns ? row->free_ns - row->first_ns : 0;
	return true;
}

/* Rows are sorted by descending key, and rows with equal keys by birth. */
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

static void sift_up(struct allo_top_rows *top, size_t at)
{
	struct allo_block_row *rows = top->rows.at;

	for (; at > 0 && comes_before(&rows[(at - 1) / 2], &rows[at], top->order);
	     at = (at - 1) / 2)
		swap(&rows[(at - 1) / 2], &rows[at]);
}

static void sift_down(struct allo_top_rows *top)
{
	struct allo_block_row *rows = top->rows.at;
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < top->rows.len &&
		    comes_before(&rows[child], &rows[child + 1], top->order))
			child++;
		if (child >= top->rows.len || !comes_before(&rows[at], &rows[child], top->order))
			return;
		swap(&rows[at], &rows[child]);
		at = child;
	}
}

bool allo_top_rows_add(struct allo_top_rows *top, const struct allo_block_row *row,
		       struct allo_error *err)
{
	ALLO_ASSERT(top->most == 0 || top->rows.len <= top->most);
	if (top->most > 0 && top->rows.len >= top->most) {
		if (comes_before(row, &top->rows.at[0], top->order)) {
			top->rows.at[0] = *row;
			sift_down(top);
		}
		return true;
	}
	if (!allo_vec_append(&top->rows, row, 1))
		return allo_fail_memory(err);
	if (top->most > 0)
		sift_up(top, top->rows.len - 1);
	return true;
}

static int compare(const void *left, const void *right, void *context)
{
	const struct allo_top_rows *top = context;

	if (comes_before(left, right, top->order))
		return -1;
	return comes_before(right, left, top->order);
}

void allo_top_rows_sort(struct allo_top_rows *top)
{
	if (top->rows.len > 0)
		qsort_r(top->rows.at, top->rows.len, sizeof(*top->rows.at), compare, top);
}

void allo_top_rows_done(struct allo_top_rows *top)
{
	allo_vec_done(&top->rows);
}
