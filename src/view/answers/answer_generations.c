/*
 * answer_generations.c - the ask "generations": live memory by site, and by the segment between two
 * marks in which it was allocated.
 */
#include "base/defer.h"
#include "base/hash.h"
#include "base/map.h"
#include "profile/naming.h"
#include "view/answers/answers.h"

#include <stdlib.h>

enum { USUAL_ROWS = 100, MOST_SEGMENTS = 32 };

struct amount {
	allo_parts bytes, blocks;
};

struct site {
	uint32_t call, line;
	allo_stack_id stack; /* an example */
	bool repeats;
	allo_parts bytes;
	struct amount by_segment[MOST_SEGMENTS];
};

struct generations {
	struct allo_dataset *dataset;
	struct allo_log_part part; /* its recording */
	uint64_t edges[MOST_SEGMENTS + 1];
	size_t count;    /* of segments */
	size_t left_out; /* number of older marks */
	/* Segments in which the program may do the same again: not its start and its end. */
	size_t first_repeat, end_repeat;
	ALLO_VEC(struct site) sites;
	struct allo_map by_call;
	ALLO_VEC(uint32_t) of_stack; /* by stack: index of its site + 1; 0: not known yet */
};

static void generations_done(struct generations *it)
{
	allo_vec_done(&it->sites);
	allo_map_done(&it->by_call);
	allo_vec_done(&it->of_stack);
}

/* Segments. */

static int compare_times(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* The marks inside the range, in order, each once. */
static bool find_marks(const struct allo_log_part *part, const struct allo_request *request,
		       uint64_t end_ns, allo_request_times *found, struct allo_error *err)
{
	size_t count = request->has_marks ? request->marks.len : part->file->log.marks.list.len;
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		uint64_t ns = request->has_marks ? request->marks.at[i]
						 : part->file->log.marks.list.at[i].ns;

		if (ns > part->range.from && ns < end_ns && !allo_vec_add(found, ns, err))
			return false;
	}
	if (found->len > 0)
		qsort(found->at, found->len, sizeof(*found->at), compare_times);
	for (size_t i = 0; i < found->len; i++) {
		if (i == 0 || found->at[i] != found->at[i - 1])
			found->at[kept++] = found->at[i];
	}
	found->len = kept;
	return true;
}

/* Of many marks, the last ones count; the first segment has all that is older. */
static bool find_segments(struct generations *it, const struct allo_request *request,
			  struct allo_error *err)
{
	allo_request_times marks = { 0 };
	const struct allo_request_range *range = &it->part.range;
	uint64_t end_ns = range->to ? range->to : it->part.file->log.end_ns + 1;
	bool ok = find_marks(&it->part, request, end_ns, &marks, err);

	it->left_out = marks.len >= MOST_SEGMENTS ? marks.len - (MOST_SEGMENTS - 1) : 0;
	it->edges[it->count++] = range->from;
	for (size_t i = it->left_out; i < marks.len; i++)
		it->edges[it->count++] = marks.at[i];
	it->edges[it->count] = end_ns;
	it->first_repeat = range->from > 0 || it->left_out > 0 ? 0 : 1;
	it->end_repeat = range->to > 0 ? it->count : it->count - 1;
	allo_vec_done(&marks);
	return ok;
}

static size_t segment_of(const struct generations *it, uint64_t ns)
{
	size_t segment = it->count - 1;

	while (segment > 0 && ns < it->edges[segment])
		segment--;
	return segment;
}

/* Sites. */

static uint32_t find_site(struct generations *it, allo_stack_id stack, struct allo_error *err)
{
	struct allo_line line = { 0 };
	struct site site = { .call = allo_dataset_site_call(it->dataset, stack, &line),
			     .stack = stack };
	uint64_t hash = allo_hash_pair(site.call, line.line, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&it->by_call, hash);
	uint32_t id;

	site.line = line.line;
	while ((id = allo_map_next(&it->by_call, &probe)) != 0) {
		if (it->sites.at[id - 1].call == site.call &&
		    it->sites.at[id - 1].line == site.line)
			return id;
	}
	if (!allo_vec_add(&it->sites, site, err) ||
	    !allo_map_add(&it->by_call, hash, (uint32_t)it->sites.len, err))
		return 0;
	return (uint32_t)it->sites.len;
}

static bool take_block(struct generations *it, const struct allo_change *block,
		       struct allo_error *err)
{
	struct allo_weight weight = allo_weigh(&it->part.file->log.weighing, block->size,
					       block->birth_ns);
	struct amount *amount;
	allo_stack_id stack;
	uint32_t *known;

	if (block->birth_ns < it->edges[0] || !allo_log_part_shows_change(&it->part, block) ||
	    !allo_log_part_shows_site(&it->part, block->site, &stack))
		return true;
	known = &it->of_stack.at[stack];
	if (*known == 0)
		*known = find_site(it, stack, err);
	if (*known == 0)
		return false;
	amount = &it->sites.at[*known - 1].by_segment[segment_of(it, block->birth_ns)];
	amount->bytes += weight.bytes;
	amount->blocks += weight.blocks;
	it->sites.at[*known - 1].bytes += weight.bytes;
	return true;
}

static bool take_blocks(void *context, const struct allo_change *blocks, size_t count,
			struct allo_error *err)
{
	for (size_t i = 0; i < count; i++) {
		if (!take_block(context, &blocks[i], err))
			return false;
	}
	return true;
}

/* Whether every segment between two marks has blocks; a single one proves nothing. */
static bool repeats(const struct generations *it, const struct site *site)
{
	if (it->end_repeat < it->first_repeat + 2)
		return false;
	for (size_t i = it->first_repeat; i < it->end_repeat; i++) {
		if (site->by_segment[i].blocks == 0)
			return false;
	}
	return true;
}

/* Sites that repeat come first, then the largest. */
static int compare_sites(const void *a, const void *b)
{
	const struct site *x = a, *y = b;

	if (x->repeats != y->repeats)
		return x->repeats ? -1 : 1;
	if (x->bytes != y->bytes)
		return x->bytes < y->bytes ? 1 : -1;
	if (x->call != y->call)
		return x->call < y->call ? -1 : 1;
	return (x->line > y->line) - (x->line < y->line);
}

static bool find_sites(struct generations *it, struct allo_error *err)
{
	if (!allo_vec_extend(&it->of_stack, it->dataset->profile.stacks.len + 1, err) ||
	    !allo_change_log_live_blocks(&it->part.file->log, it->part.range.to, take_blocks, it,
					 err))
		return false;
	for (size_t i = 0; i < it->sites.len; i++)
		it->sites.at[i].repeats = repeats(it, &it->sites.at[i]);
	if (it->sites.len > 0)
		qsort(it->sites.at, it->sites.len, sizeof(*it->sites.at), compare_sites);
	return true;
}

/* The reply. */

struct generation_columns {
	ALLO_VEC(uint32_t) site, line;
	struct allo_text_column place;
	ALLO_VEC(uint8_t) repeats;
	ALLO_VEC(double) bytes, blocks; /* by site and segment */
	double from[MOST_SEGMENTS], to[MOST_SEGMENTS];
	double segment_bytes[MOST_SEGMENTS], segment_blocks[MOST_SEGMENTS];
};

static void generation_columns_done(struct generation_columns *columns)
{
	allo_vec_done(&columns->site);
	allo_vec_done(&columns->line);
	allo_text_column_done(&columns->place);
	allo_vec_done(&columns->repeats);
	allo_vec_done(&columns->bytes);
	allo_vec_done(&columns->blocks);
}

static double value_of(struct allo_reply *reply, allo_parts parts)
{
	return allo_reply_value(reply, allo_parts_round(parts));
}

static void add_site(struct generation_columns *columns, const struct generations *it,
		     const struct site *site, struct allo_reply *reply, struct allo_error *err)
{
	struct allo_line line = { 0 };

	allo_dataset_site_call(it->dataset, site->stack, &line);
	allo_vec_add(&columns->site, site->call, err);
	allo_vec_add(&columns->line, site->line, err);
	allo_text_column_add_place(&columns->place, allo_line_file(&it->dataset->profile, line),
				   site->line, err);
	allo_vec_add(&columns->repeats, site->repeats, err);
	for (size_t i = 0; i < it->count; i++) {
		allo_vec_add(&columns->bytes, value_of(reply, site->by_segment[i].bytes), err);
		allo_vec_add(&columns->blocks, value_of(reply, site->by_segment[i].blocks), err);
	}
}

/* The sums of all sites. */
static void add_segments(struct generation_columns *columns, const struct generations *it,
			 struct allo_reply *reply)
{
	for (size_t i = 0; i < it->count; i++) {
		struct amount sum = { 0 };

		for (size_t k = 0; k < it->sites.len; k++) {
			sum.bytes += it->sites.at[k].by_segment[i].bytes;
			sum.blocks += it->sites.at[k].by_segment[i].blocks;
		}
		columns->from[i] = (double)it->edges[i];
		columns->to[i] = (double)it->edges[i + 1];
		columns->segment_bytes[i] = value_of(reply, sum.bytes);
		columns->segment_blocks[i] = value_of(reply, sum.blocks);
	}
}

static bool put_generations(const struct generations *it, const struct allo_request *request,
			    struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(generation_columns_done) struct generation_columns columns = { 0 };
	size_t count = allo_page_rows(request, it->sites.len, USUAL_ROWS);

	for (size_t i = 0; i < count && !allo_failed(err); i++)
		add_site(&columns, it, &it->sites.at[request->offset + i], reply, err);
	if (allo_failed(err))
		return false;
	add_segments(&columns, it, reply);
	allo_json_out_member_u64(&reply->head, "rows", it->sites.len);
	allo_json_out_member_u64(&reply->head, "marks_left_out", it->left_out);
	allo_reply_f64(reply, "segment_from", columns.from, it->count);
	allo_reply_f64(reply, "segment_to", columns.to, it->count);
	allo_reply_f64(reply, "segment_bytes", columns.segment_bytes, it->count);
	allo_reply_f64(reply, "segment_blocks", columns.segment_blocks, it->count);
	allo_reply_u32(reply, "site", columns.site.at, columns.site.len);
	allo_reply_u32(reply, "line", columns.line.at, columns.line.len);
	allo_reply_texts(reply, "place", &columns.place);
	allo_reply_u8(reply, "repeats", columns.repeats.at, columns.repeats.len);
	allo_reply_f64(reply, "bytes", columns.bytes.at, columns.bytes.len);
	allo_reply_f64(reply, "blocks", columns.blocks.at, columns.blocks.len);
	return true;
}

bool allo_answer_generations(struct allo_dataset *dataset, const struct allo_request *request,
			     struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(generations_done) struct generations it = { .dataset = dataset };

	return allo_needs_recording(dataset, "generations", err) &&
	       allo_dataset_show(dataset, request, err) &&
	       allo_dataset_part(dataset, request, ALLO_NOW, &it.part) &&
	       find_segments(&it, request, err) && find_sites(&it, err) &&
	       put_generations(&it, request, reply, err);
}
