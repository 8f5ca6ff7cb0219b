/* answer_histograms.c - the asks "sizes", "lifetimes" and "heat": distributions of blocks. */
#include "analysis/histogram.h"
#include "base/defer.h"
#include "base/hash.h"
#include "base/map.h"
#include "replay/weights.h"
#include "view/answers/answers.h"

#include <stdlib.h>

enum { MOST_EXACT = 20 };

/* The most frequent sizes. */

/* Blocks of one size and site: of the log, or see site_of().  A row of the result has the site with
 * the most blocks. */
struct sized_blocks {
	uint64_t size, site;
	double blocks, site_blocks;
};

/* All zeros is empty. */
struct exact_sizes {
	ALLO_VEC(struct sized_blocks) at;
	struct allo_map map; /* index + 1 */
};

static void exact_sizes_done(struct exact_sizes *sizes)
{
	allo_vec_done(&sizes->at);
	allo_map_done(&sizes->map);
}

static bool add_exact_size(struct exact_sizes *sizes, uint64_t size, uint64_t site, double blocks,
			   struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(size, site, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&sizes->map, hash);
	uint32_t id;

	while ((id = allo_map_next(&sizes->map, &probe)) != 0) {
		struct sized_blocks *known = &sizes->at.at[id - 1];

		if (known->size == size && known->site == site) {
			known->blocks += blocks;
			return true;
		}
	}
	return allo_vec_add(&sizes->at, ((struct sized_blocks){ size, site, blocks, 0 }), err) &&
	       allo_map_add(&sizes->map, hash, (uint32_t)sizes->at.len, err);
}

/* Largest first; equal ones by number, so that a reply is the same each time. */
static int compare_blocks(const struct sized_blocks *a, const struct sized_blocks *b)
{
	if (a->blocks != b->blocks)
		return a->blocks > b->blocks ? -1 : 1;
	return 0;
}

static int by_size_and_site(const void *a, const void *b)
{
	const struct sized_blocks *x = a, *y = b;
	int order;

	if (x->size != y->size)
		return x->size < y->size ? -1 : 1;
	order = compare_blocks(x, y);
	return order ? order : x->site < y->site ? -1 : x->site > y->site;
}

static int by_most_blocks(const void *a, const void *b)
{
	const struct sized_blocks *x = a, *y = b;
	int order = compare_blocks(x, y);

	return order ? order : x->size < y->size ? -1 : x->size > y->size;
}

/* Joins the sites of each size, and sorts by the number of blocks, the most first.  `sizes->at`
 * then has a row for each size; nothing can be added any more. */
static void sort_exact_sizes(struct exact_sizes *sizes)
{
	struct sized_blocks *at = sizes->at.at;
	size_t count = 0;

	if (sizes->at.len == 0)
		return;
	qsort(at, sizes->at.len, sizeof(*at), by_size_and_site);
	for (size_t i = 0; i < sizes->at.len; i++) {
		if (count > 0 && at[count - 1].size == at[i].size) {
			at[count - 1].blocks += at[i].blocks;
			continue;
		}
		at[count] = at[i];
		at[count++].site_blocks = at[i].blocks;
	}
	sizes->at.len = count;
	qsort(at, count, sizeof(*at), by_most_blocks);
}

/* Bins. */

/* Bins up to 0, 1, 2, 4, 8, ..., as allo_histogram_by_two() has them. */
enum { BINS = 66 };

static unsigned bin_of(uint64_t value)
{
	return value < 2 ? (unsigned)value : 65 - (unsigned)__builtin_clzll(value - 1);
}

static uint64_t highest_of(unsigned bin)
{
	return bin < 2 ? bin : bin == BINS - 1 ? UINT64_MAX : (uint64_t)1 << (bin - 1);
}

static uint64_t lowest_of(unsigned bin)
{
	return bin < 2 ? bin : highest_of(bin - 1) + 1;
}

struct cell {
	double blocks, bytes;
};

/* The blocks of a part, counted by size and lifetime. */
struct tally {
	struct allo_log_part part;
	struct allo_weighing weighing;
	struct cell sizes[BINS]; /* of blocks allocated in the range */
	struct cell cells[BINS]
			 [BINS]; /* of those whose whole life is in it, by size and lifetime */
	struct cell live;        /* of those that began in it and are live at its end */
	bool wants_exact;
	struct exact_sizes exact; /* by site of the log */
};

/* Both sides of a request. */
struct tallies {
	struct tally *of[2]; /* by enum allo_side; the base is NULL if there is none */
};

static void tallies_done(struct tallies *tallies)
{
	for (size_t i = 0; i < 2; i++) {
		if (tallies->of[i])
			exact_sizes_done(&tallies->of[i]->exact);
		free(tallies->of[i]);
	}
}

static void add_blocks(struct cell *cell, double blocks, uint64_t size)
{
	cell->blocks += blocks;
	cell->bytes += blocks * (double)size;
}

static bool count_change(struct tally *tally, const struct allo_change *change,
			 struct allo_error *err)
{
	double blocks = allo_weigh(&tally->weighing, change->size, change->birth_ns).weight;
	bool is_end = change->flags & ALLO_CHANGE_ENDED;
	unsigned size = bin_of(change->size);

	/* A life that starts before the range is not complete. */
	if (change->birth_ns >= tally->part.range.from)
		add_blocks(&tally->live, is_end ? -blocks : blocks, change->size);
	if (!is_end) {
		add_blocks(&tally->sizes[size], blocks, change->size);
		return !tally->wants_exact ||
		       add_exact_size(&tally->exact, change->size, change->site, blocks, err);
	}
	/* A realloc ends a block that lives on as another one: its life began with the first. */
	if (change->birth_ns >= tally->part.range.from && !(change->flags & ALLO_CHANGE_RESIZED))
		add_blocks(&tally->cells[size][bin_of(change->ns - change->birth_ns)], blocks,
			   change->size);
	return true;
}

static bool take_changes(void *context, const struct allo_change *changes, size_t count,
			 struct allo_error *err)
{
	struct tally *tally = context;

	for (size_t i = 0; i < count; i++) {
		if (allo_log_part_shows_change(&tally->part, &changes[i]) &&
		    !count_change(tally, &changes[i], err))
			return false;
	}
	return true;
}

static bool count_part(struct tally **made, const struct allo_log_part *part, bool wants_exact,
		       struct allo_error *err)
{
	struct tally *tally = *made = calloc(1, sizeof(*tally));

	if (!tally)
		return allo_fail_memory(err);
	tally->part = *part;
	tally->weighing = allo_weighing_of(part->file->recording);
	tally->wants_exact = wants_exact;
	return allo_change_log_walk(&part->file->log, part->range.from, part->range.to,
				    take_changes, tally, err);
}

static bool count_blocks(struct tallies *tallies, struct allo_dataset *dataset,
			 const struct allo_request *request, bool wants_exact,
			 struct allo_error *err)
{
	struct allo_log_part part;

	if (!allo_needs_recording(dataset, "single blocks", err) ||
	    !allo_dataset_show(dataset, request, err))
		return false;
	for (int side = ALLO_BEFORE; side <= ALLO_NOW; side++) {
		if (allo_dataset_part(dataset, request, (enum allo_side)side, &part) &&
		    !count_part(&tallies->of[side], &part, wants_exact, err))
			return false;
	}
	return true;
}

/* Fills the bins of a side. */
typedef void make_histogram(const struct tally *tally, struct allo_histogram *histogram);

/* Bins that one of the sides has. */
static void used_bins(const struct allo_histogram *sides, bool has_before, size_t *first,
		      size_t *end)
{
	size_t first_before, end_before;

	allo_histogram_used(&sides[ALLO_NOW], first, end);
	if (!has_before)
		return;
	allo_histogram_used(&sides[ALLO_BEFORE], &first_before, &end_before);
	if (first_before < end_before && (*first == *end || first_before < *first))
		*first = first_before;
	if (end_before > *end)
		*end = end_before;
}

static void put_side(const struct allo_histogram *histogram, const char *const names[4],
		     size_t first, size_t end, struct allo_reply *reply)
{
	double blocks[ALLO_HISTOGRAM_BINS], bytes[ALLO_HISTOGRAM_BINS];

	for (size_t i = first; i < end; i++) {
		blocks[i - first] = (double)histogram->bins[i].blocks;
		bytes[i - first] = (double)histogram->bins[i].bytes;
	}
	allo_reply_f64(reply, names[0], blocks, end - first);
	allo_reply_f64(reply, names[1], bytes, end - first);
	allo_json_out_member_u64(&reply->head, names[2], histogram->blocks);
	allo_json_out_member_u64(&reply->head, names[3], histogram->bytes);
}

static void put_histogram(const struct tallies *tallies, make_histogram *make,
			  struct allo_reply *reply)
{
	static const char *const names[2][4] = {
		{ "before_blocks", "before_bytes", "before_all_blocks", "before_all_bytes" },
		{ "blocks", "bytes", "all_blocks", "all_bytes" },
	};
	struct allo_histogram sides[2];
	double low[ALLO_HISTOGRAM_BINS], high[ALLO_HISTOGRAM_BINS];
	bool has_before = tallies->of[ALLO_BEFORE] != NULL;
	size_t first, end;

	for (int side = has_before ? ALLO_BEFORE : ALLO_NOW; side <= ALLO_NOW; side++)
		make(tallies->of[side], &sides[side]);
	used_bins(sides, has_before, &first, &end);
	for (size_t i = first; i < end; i++) {
		low[i - first] = (double)sides[ALLO_NOW].bins[i].from;
		high[i - first] = (double)sides[ALLO_NOW].bins[i].to;
	}
	allo_reply_f64(reply, "low", low, end - first);
	allo_reply_f64(reply, "high", high, end - first);
	put_side(&sides[ALLO_NOW], names[ALLO_NOW], first, end, reply);
	if (has_before)
		put_side(&sides[ALLO_BEFORE], names[ALLO_BEFORE], first, end, reply);
}

static void add_cell(struct allo_histogram *histogram, unsigned bin, const struct cell *cell)
{
	allo_histogram_estimate(histogram, highest_of(bin), cell->blocks, cell->bytes);
}

static void size_histogram(const struct tally *tally, struct allo_histogram *histogram)
{
	allo_histogram_by_two(histogram);
	for (unsigned size = 0; size < BINS; size++)
		add_cell(histogram, size, &tally->sizes[size]);
}

static void lifetime_histogram(const struct tally *tally, struct allo_histogram *histogram)
{
	allo_histogram_by_two(histogram);
	for (unsigned life = 0; life < BINS; life++) {
		struct cell sum = { 0 };

		for (unsigned size = 0; size < BINS; size++) {
			sum.blocks += tally->cells[size][life].blocks;
			sum.bytes += tally->cells[size][life].bytes;
		}
		add_cell(histogram, life, &sum);
	}
}

/* The responsible call of a stack, and its line in the lower half. */
static uint64_t site_of(const struct allo_dataset *dataset, allo_stack_id stack)
{
	struct allo_line line = { 0 };
	uint64_t call = allo_dataset_site_call(dataset, stack, &line);

	return call << 32 | line.line;
}

/* Sites of the log may be the same line. */
static bool join_sites(const struct tally *tally, struct exact_sizes *joined,
		       struct allo_error *err)
{
	for (size_t i = 0; i < tally->exact.at.len; i++) {
		const struct sized_blocks *blocks = &tally->exact.at.at[i];
		allo_stack_id stack;

		allo_log_part_shows_site(&tally->part, (size_t)blocks->site, &stack);
		if (!add_exact_size(joined, blocks->size, site_of(tally->part.shown, stack),
				    blocks->blocks, err))
			return false;
	}
	sort_exact_sizes(joined);
	return true;
}

/* A size on both sides; a side that does not have it is all zeros. */
struct exact_pair {
	uint64_t size;
	struct sized_blocks of[2]; /* by enum allo_side */
};

typedef ALLO_VEC(struct exact_pair) exact_pairs;

static int by_size(const void *a, const void *b)
{
	const struct exact_pair *x = a, *y = b;

	return x->size < y->size ? -1 : x->size > y->size;
}

static double most_blocks(const struct exact_pair *pair)
{
	double before = pair->of[ALLO_BEFORE].blocks, now = pair->of[ALLO_NOW].blocks;

	return before > now ? before : now;
}

static int by_blocks(const void *a, const void *b)
{
	double x = most_blocks(a), y = most_blocks(b);

	return x != y ? (x > y ? -1 : 1) : by_size(a, b);
}

static bool add_exact(exact_pairs *pairs, const struct tally *tally, int side,
		      struct allo_error *err)
{
	ALLO_DEFER(exact_sizes_done) struct exact_sizes joined = { 0 };

	if (!join_sites(tally, &joined, err))
		return false;
	for (size_t i = 0; i < joined.at.len; i++) {
		struct exact_pair pair = { .size = joined.at.at[i].size };

		pair.of[side] = joined.at.at[i];
		if (!allo_vec_add(pairs, pair, err))
			return false;
	}
	return true;
}

/* Joins the sides of each size, and sorts: the most blocks on either side first. */
static void join_sides(exact_pairs *pairs)
{
	struct exact_pair *at = pairs->at;
	size_t count = 0;

	if (pairs->len == 0)
		return;
	qsort(at, pairs->len, sizeof(*at), by_size);
	for (size_t i = 0; i < pairs->len; i++) {
		if (count == 0 || at[count - 1].size != at[i].size) {
			at[count++] = at[i];
			continue;
		}
		for (int side = ALLO_BEFORE; side <= ALLO_NOW; side++) {
			if (at[i].of[side].blocks > 0)
				at[count - 1].of[side] = at[i].of[side];
		}
	}
	pairs->len = count;
	qsort(at, count, sizeof(*at), by_blocks);
}

static void add_place(struct allo_text_column *column, const struct allo_dataset *dataset,
		      uint32_t call, uint32_t line, struct allo_error *err)
{
	const struct allo_numbered_call *it = &dataset->calls.at.at[call];
	struct allo_text file = allo_profile_text(&dataset->profile, it->file);

	allo_text_column_add_place(column, it->function ? file : ALLO_TEXT(""), line, err);
}

static bool put_pairs(const exact_pairs *pairs, const struct allo_dataset *dataset, bool has_before,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_text_column_done) struct allo_text_column places = { 0 };
	double sizes[MOST_EXACT], blocks[MOST_EXACT], before[MOST_EXACT];
	uint32_t calls[MOST_EXACT];
	size_t count = pairs->len < MOST_EXACT ? pairs->len : MOST_EXACT;

	for (size_t i = 0; i < count; i++) {
		const struct sized_blocks *of = pairs->at[i].of;
		uint64_t site = of[of[ALLO_NOW].blocks > 0 ? ALLO_NOW : ALLO_BEFORE].site;

		sizes[i] = (double)pairs->at[i].size;
		blocks[i] = of[ALLO_NOW].blocks;
		before[i] = of[ALLO_BEFORE].blocks;
		calls[i] = (uint32_t)(site >> 32);
		add_place(&places, dataset, calls[i], (uint32_t)site, err);
	}
	allo_reply_f64(reply, "size", sizes, count);
	allo_reply_f64(reply, "size_blocks", blocks, count);
	if (has_before)
		allo_reply_f64(reply, "before_size_blocks", before, count);
	allo_reply_u32(reply, "size_call", calls, count);
	allo_reply_texts(reply, "size_place", &places);
	return !allo_failed(err);
}

static bool put_exact(const struct tallies *tallies, const struct allo_dataset *dataset,
		      struct allo_reply *reply, struct allo_error *err)
{
	exact_pairs pairs = { 0 };
	bool ok = true;

	for (int side = ALLO_BEFORE; side <= ALLO_NOW && ok; side++)
		ok = !tallies->of[side] || add_exact(&pairs, tallies->of[side], side, err);
	join_sides(&pairs);
	if (ok)
		ok = put_pairs(&pairs, dataset, tallies->of[ALLO_BEFORE] != NULL, reply, err);
	allo_vec_done(&pairs);
	return ok;
}

bool allo_answer_sizes(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tallies_done) struct tallies tallies = { 0 };

	if (!count_blocks(&tallies, dataset, request, true, err))
		return false;
	put_histogram(&tallies, size_histogram, reply);
	return put_exact(&tallies, dataset, reply, err);
}

/* A sum of estimates; rounding errors may leave it below 0. */
static uint64_t rounded(double sum)
{
	return sum > 0 ? (uint64_t)(sum + 0.5) : 0;
}

bool allo_answer_lifetimes(struct allo_dataset *dataset, const struct allo_request *request,
			   struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tallies_done) struct tallies tallies = { 0 };
	const struct tally *before, *now;

	if (!count_blocks(&tallies, dataset, request, false, err))
		return false;
	put_histogram(&tallies, lifetime_histogram, reply);
	before = tallies.of[ALLO_BEFORE];
	now = tallies.of[ALLO_NOW];
	allo_json_out_member_u64(&reply->head, "live_blocks", rounded(now->live.blocks));
	allo_json_out_member_u64(&reply->head, "live_bytes", rounded(now->live.bytes));
	if (before) {
		allo_json_out_member_u64(&reply->head, "before_live_blocks",
					 rounded(before->live.blocks));
		allo_json_out_member_u64(&reply->head, "before_live_bytes",
					 rounded(before->live.bytes));
	}
	return true;
}

enum { CELL_COLUMNS = 6 };
typedef ALLO_VEC(double) cell_column;

/* Adds a cell, unless it is empty on both sides. */
static void add_heat(cell_column columns[CELL_COLUMNS], const struct tallies *tallies,
		     unsigned size, unsigned life, struct allo_error *err)
{
	static const struct cell empty;
	const struct tally *before = tallies->of[ALLO_BEFORE];
	const struct cell *now = &tallies->of[ALLO_NOW]->cells[size][life];
	const struct cell *old = before ? &before->cells[size][life] : &empty;
	const double values[CELL_COLUMNS] = { (double)lowest_of(size),
					      (double)lowest_of(life),
					      now->blocks,
					      now->bytes,
					      old->blocks,
					      old->bytes };

	if (now->blocks <= 0 && old->blocks <= 0)
		return;
	for (size_t i = 0; i < CELL_COLUMNS; i++)
		allo_vec_add(&columns[i], values[i], err);
}

bool allo_answer_heat(struct allo_dataset *dataset, const struct allo_request *request,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tallies_done) struct tallies tallies = { 0 };
	static const char *const names[CELL_COLUMNS] = {
		"low_size", "low_life", "blocks", "bytes", "before_blocks", "before_bytes"
	};
	cell_column columns[CELL_COLUMNS] = { 0 };
	size_t count;

	if (!count_blocks(&tallies, dataset, request, false, err))
		return false;
	for (unsigned size = 0; size < BINS; size++) {
		for (unsigned life = 0; life < BINS; life++)
			add_heat(columns, &tallies, size, life, err);
	}
	count = tallies.of[ALLO_BEFORE] ? CELL_COLUMNS : CELL_COLUMNS - 2;
	for (size_t i = 0; i < CELL_COLUMNS; i++) {
		if (i < count)
			allo_reply_f64(reply, names[i], columns[i].at, columns[i].len);
		allo_vec_done(&columns[i]);
	}
	return !allo_failed(err);
}
