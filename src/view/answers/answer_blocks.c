/* answer_blocks.c - the ask "blocks": individual allocations, sorted, a page at a time. */
#include "base/defer.h"
#include "replay/block_rows.h"
#include "view/answers/answers.h"

#include <stdlib.h>

enum { USUAL_BLOCKS = 100, MOST_BLOCKS = 100000 };

enum sort { BY_SIZE, BY_ALLOC, BY_FREE, BY_LIFETIME, BY_REALLOCS };
static const char *const sorts[] = { "size", "alloc", "free", "lifetime", "reallocs", NULL };

/* The first rows of the order so far: a heap whose root is the last of them. */
struct first_blocks {
	struct allo_dataset *dataset;
	struct allo_log_part part; /* of a comparison: the changed side */
	const struct allo_request *request;
	size_t sort, most;
	ALLO_VEC(struct allo_block_row) heap;
	uint64_t count, bytes; /* of all matching blocks */
};

static uint64_t lifetime_of(const struct allo_block_row *row)
{
	return row->free_ns == ALLO_NEVER ? UINT64_MAX : row->free_ns - row->alloc_ns;
}

static uint64_t key_of(const struct first_blocks *first, const struct allo_block_row *row)
{
	switch (first->sort) {
	case BY_ALLOC:
		return row->alloc_ns;
	case BY_FREE:
		return row->free_ns;
	case BY_LIFETIME:
		return lifetime_of(row);
	case BY_REALLOCS:
		return row->reallocs;
	default:
		return row->size;
	}
}

/* Whether `a` comes before `b`. */
static bool is_before(const struct first_blocks *first, const struct allo_block_row *a,
		      const struct allo_block_row *b)
{
	uint64_t x = key_of(first, a), y = key_of(first, b);

	if (x != y)
		return first->request->ascending ? x < y : x > y;
	return a->number < b->number;
}

static void swap(struct allo_block_row *a, struct allo_block_row *b)
{
	struct allo_block_row c = *a;

	*a = *b;
	*b = c;
}

static void sift_up(struct first_blocks *first, size_t i)
{
	struct allo_block_row *at = first->heap.at;

	for (; i > 0 && is_before(first, &at[(i - 1) / 2], &at[i]); i = (i - 1) / 2)
		swap(&at[(i - 1) / 2], &at[i]);
}

static void sift_down(struct first_blocks *first, size_t i, size_t count)
{
	struct allo_block_row *at = first->heap.at;

	for (size_t last; 2 * i + 1 < count; i = last) {
		last = 2 * i + 1;
		if (last + 1 < count && is_before(first, &at[last], &at[last + 1]))
			last++;
		if (!is_before(first, &at[i], &at[last]))
			return;
		swap(&at[i], &at[last]);
	}
}

static bool is_wanted(const struct first_blocks *first, const struct allo_block_row *row)
{
	const struct allo_request *request = first->request;

	if (request->chain != ALLO_NOT_GIVEN && row->first_number != request->chain)
		return false;
	if (request->size_from != ALLO_NOT_GIVEN && row->size < request->size_from)
		return false;
	if (request->size_to != ALLO_NOT_GIVEN && row->size > request->size_to)
		return false;
	return request->at == ALLO_NOT_GIVEN ||
	       (row->alloc_ns <= request->at && row->free_ns > request->at);
}

/* The stack that the filters show for a block; false if they drop it. */
static bool find_stack(const struct first_blocks *first, const struct allo_block_row *row,
		       allo_stack_id *stack, struct allo_error *err)
{
	size_t site = allo_dataset_site_of(first->part.file, row->stack, row->labels, err);

	return allo_log_part_shows_site(&first->part, site, stack) && !allo_failed(err);
}

static bool is_of_site(const struct first_blocks *first, allo_stack_id stack)
{
	uint64_t site = first->request->site;

	return site == ALLO_NOT_GIVEN ||
	       allo_dataset_site_call(first->dataset, stack, NULL) == site;
}

static bool add_row(struct first_blocks *first, const struct allo_block_row *row,
		    struct allo_error *err)
{
	allo_stack_id stack;

	if (!is_wanted(first, row) || !find_stack(first, row, &stack, err) ||
	    !is_of_site(first, stack))
		return !allo_failed(err);
	first->count++;
	first->bytes += row->size;
	if (first->heap.len < first->most) {
		if (!allo_vec_add(&first->heap, *row, err))
			return false;
		sift_up(first, first->heap.len - 1);
	} else if (first->most > 0 && is_before(first, row, &first->heap.at[0])) {
		first->heap.at[0] = *row;
		sift_down(first, 0, first->heap.len);
	}
	return true;
}

static bool take_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!add_row(context, &rows[i], err))
			return false;
	}
	return true;
}

/* Turns the heap into a list in order. */
static void sort_rows(struct first_blocks *first)
{
	for (size_t count = first->heap.len; count > 1; count--) {
		swap(&first->heap.at[0], &first->heap.at[count - 1]);
		sift_down(first, 0, count - 1);
	}
}

/* Columns. */

struct block_columns {
	ALLO_VEC(double) number, chain, alloc_ns, free_ns, size, lifetime_ns;
	ALLO_VEC(uint32_t) alloc_thread, free_thread, stack, site, reallocs;
	ALLO_VEC(uint8_t) flags;
	struct allo_text_column place;
};

static void block_columns_done(struct block_columns *columns)
{
	allo_vec_done(&columns->number);
	allo_vec_done(&columns->chain);
	allo_vec_done(&columns->alloc_ns);
	allo_vec_done(&columns->free_ns);
	allo_vec_done(&columns->size);
	allo_vec_done(&columns->lifetime_ns);
	allo_vec_done(&columns->alloc_thread);
	allo_vec_done(&columns->free_thread);
	allo_vec_done(&columns->stack);
	allo_vec_done(&columns->site);
	allo_vec_done(&columns->reallocs);
	allo_vec_done(&columns->flags);
	allo_text_column_done(&columns->place);
}

static void add_block(struct block_columns *columns, const struct first_blocks *first,
		      const struct allo_block_row *row, struct allo_error *err)
{
	const struct allo_dataset *dataset = first->dataset;
	bool is_freed = row->free_ns != ALLO_NEVER;
	struct allo_line line = { 0 };
	allo_stack_id stack;

	if (!find_stack(first, row, &stack, err))
		return;
	allo_vec_add(&columns->number, (double)row->number, err);
	allo_vec_add(&columns->chain, (double)row->first_number, err);
	allo_vec_add(&columns->alloc_ns, (double)row->alloc_ns, err);
	allo_vec_add(&columns->free_ns, is_freed ? (double)row->free_ns : -1, err);
	allo_vec_add(&columns->size, (double)row->size, err);
	allo_vec_add(&columns->lifetime_ns, is_freed ? (double)lifetime_of(row) : -1, err);
	allo_vec_add(&columns->alloc_thread,
		     allo_dataset_thread_number(first->part.file, row->alloc_stream), err);
	allo_vec_add(&columns->free_thread,
		     allo_dataset_thread_number(first->part.file, row->free_stream), err);
	allo_vec_add(&columns->stack, stack, err);
	allo_vec_add(&columns->site, allo_dataset_site_call(dataset, stack, &line), err);
	allo_text_column_add_place(&columns->place, allo_line_file(&dataset->profile, line),
				   line.line, err);
	allo_vec_add(&columns->reallocs, row->reallocs, err);
	allo_vec_add(&columns->flags, (uint8_t)row->flags, err);
}

static bool put_blocks(const struct first_blocks *first, struct allo_reply *reply,
		       struct allo_error *err)
{
	ALLO_DEFER(block_columns_done) struct block_columns columns = { 0 };

	for (size_t i = (size_t)first->request->offset; i < first->heap.len; i++)
		add_block(&columns, first, &first->heap.at[i], err);
	allo_json_out_member_u64(&reply->head, "rows", first->count);
	allo_json_out_member_u64(&reply->head, "bytes", first->bytes);
	allo_reply_f64(reply, "number", columns.number.at, columns.number.len);
	allo_reply_f64(reply, "chain", columns.chain.at, columns.chain.len);
	allo_reply_f64(reply, "alloc_ns", columns.alloc_ns.at, columns.alloc_ns.len);
	allo_reply_f64(reply, "free_ns", columns.free_ns.at, columns.free_ns.len);
	allo_reply_f64(reply, "size", columns.size.at, columns.size.len);
	allo_reply_f64(reply, "lifetime_ns", columns.lifetime_ns.at, columns.lifetime_ns.len);
	allo_reply_u32(reply, "alloc_thread", columns.alloc_thread.at, columns.alloc_thread.len);
	allo_reply_u32(reply, "free_thread", columns.free_thread.at, columns.free_thread.len);
	allo_reply_u32(reply, "stack", columns.stack.at, columns.stack.len);
	allo_reply_u32(reply, "site", columns.site.at, columns.site.len);
	allo_reply_u32(reply, "reallocs", columns.reallocs.at, columns.reallocs.len);
	allo_reply_u8(reply, "flags", columns.flags.at, columns.flags.len);
	allo_reply_texts(reply, "place", &columns.place);
	return !allo_failed(err);
}

static void first_blocks_done(struct first_blocks *first)
{
	allo_vec_done(&first->heap);
}

bool allo_answer_blocks(struct allo_dataset *dataset, const struct allo_request *request,
			struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(first_blocks_done)
	struct first_blocks first = { .dataset = dataset, .request = request };
	struct allo_window window = { request->range.from, request->range.to, NULL };
	uint64_t page = request->most == ALLO_NOT_GIVEN ? USUAL_BLOCKS : request->most;

	if (request->chain != ALLO_NOT_GIVEN)
		window = (struct allo_window){ 0 };
	if (!allo_needs_recording(dataset, "single blocks", err) ||
	    !allo_request_choose(request->sort, sorts, &first.sort, err))
		return false;
	if (page > MOST_BLOCKS || request->offset > MOST_BLOCKS - page) {
		allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "only the first %d blocks can be shown",
			  MOST_BLOCKS);
		return allo_hint(err, "select a shorter range, or use 'allo sql'");
	}
	first.most = (size_t)(request->offset + page);
	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_part(dataset, request, ALLO_NOW, &first.part))
		return false;
	window.threads = first.part.file->threads;
	if (!allo_block_rows(first.part.file->recording, &window, take_rows, &first, err))
		return false;
	sort_rows(&first);
	return put_blocks(&first, reply, err);
}
