/* answer_histograms.c - the asks "sizes", "lifetimes" and "heat": distributions of blocks. */
#include "analysis/histogram.h"
#include "base/defer.h"
#include "replay/weights.h"
#include "view/answers.h"
#include "view/exact_sizes.h"

#include <stdlib.h>

enum { MOST_EXACT = 20 };

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

/* The blocks of a range, counted by size and lifetime. */
struct tally {
	struct allo_dataset *dataset;
	struct allo_weighing weighing;
	uint64_t from_ns;
	struct cell sizes[BINS]; /* of blocks allocated in the range */
	struct cell cells[BINS]
			 [BINS]; /* of those whose whole life is in it, by size and lifetime */
	struct cell live;        /* of those that began in it and are live at its end */
	bool wants_exact;
	struct allo_exact_sizes exact; /* by site of the log */
};

static void tally_free(struct tally **tally)
{
	if (*tally)
		allo_exact_sizes_done(&(*tally)->exact);
	free(*tally);
}

static void add_blocks(struct cell *cell, double blocks, uint64_t size)
{
	cell->blocks += blocks;
	cell->bytes += blocks * (double)size;
}

static bool count_change(struct tally *tally, const struct allo_change *change,
			 struct allo_error *err)
{
	double blocks = allo_weigh(&tally->weighing, change->size).weight;
	bool is_end = change->flags & ALLO_CHANGE_ENDED;
	unsigned size = bin_of(change->size);

	/* A life that starts before the range is not complete. */
	if (change->birth_ns >= tally->from_ns)
		add_blocks(&tally->live, is_end ? -blocks : blocks, change->size);
	if (!is_end) {
		add_blocks(&tally->sizes[size], blocks, change->size);
		return !tally->wants_exact ||
		       allo_exact_sizes_add(&tally->exact, change->size, change->site, blocks, err);
	}
	/* A realloc ends a block that lives on as another one: its life began with the first. */
	if (change->birth_ns >= tally->from_ns && !(change->flags & ALLO_CHANGE_RESIZED))
		add_blocks(&tally->cells[size][bin_of(change->ns - change->birth_ns)], blocks,
			   change->size);
	return true;
}

static bool take_changes(void *context, const struct allo_change *changes, size_t count,
			 struct allo_error *err)
{
	struct tally *tally = context;

	for (size_t i = 0; i < count; i++) {
		if (allo_dataset_shows_change(tally->dataset, &changes[i]) &&
		    !count_change(tally, &changes[i], err))
			return false;
	}
	return true;
}

static bool count_blocks(struct tally **made, struct allo_dataset *dataset,
			 const struct allo_request *request, bool wants_exact,
			 struct allo_error *err)
{
	struct tally *tally;

	if (!allo_needs_recording(dataset, "single blocks", err) ||
	    !allo_dataset_show(dataset, request, err))
		return false;
	tally = *made = calloc(1, sizeof(*tally));
	if (!tally)
		return allo_fail_memory(err);
	tally->dataset = dataset;
	tally->weighing = allo_weighing_of(dataset->recording);
	tally->from_ns = request->range.from;
	tally->wants_exact = wants_exact;
	return allo_change_log_walk(&dataset->log, request->range.from, request->range.to,
				    take_changes, tally, err);
}

static void put_histogram(const struct allo_histogram *histogram, struct allo_reply *reply)
{
	double columns[4][ALLO_HISTOGRAM_BINS];
	static const char *const names[] = { "low", "high", "blocks", "bytes" };
	size_t first, end;

	allo_histogram_used(histogram, &first, &end);
	for (size_t i = first; i < end; i++) {
		const struct allo_bin *bin = &histogram->bins[i];

		columns[0][i - first] = (double)bin->from;
		columns[1][i - first] = (double)bin->to;
		columns[2][i - first] = (double)bin->blocks;
		columns[3][i - first] = (double)bin->bytes;
	}
	for (size_t i = 0; i < 4; i++)
		allo_reply_f64(reply, names[i], columns[i], end - first);
	allo_json_out_member_u64(&reply->head, "all_blocks", histogram->blocks);
	allo_json_out_member_u64(&reply->head, "all_bytes", histogram->bytes);
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

/* Sites of the log may be the same call. */
static bool join_calls(struct tally *tally, struct allo_exact_sizes *joined, struct allo_error *err)
{
	for (size_t i = 0; i < tally->exact.at.len; i++) {
		const struct allo_sized_blocks *blocks = &tally->exact.at.at[i];
		allo_stack_id stack;

		allo_dataset_shows_site(tally->dataset, blocks->site, &stack);
		if (!allo_exact_sizes_add(joined, blocks->size,
					  allo_dataset_site_call(tally->dataset, stack, NULL),
					  blocks->blocks, err))
			return false;
	}
	allo_exact_sizes_sort(joined);
	return true;
}

static bool put_exact(struct tally *tally, struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_exact_sizes_done) struct allo_exact_sizes joined = { 0 };
	double sizes[MOST_EXACT], blocks[MOST_EXACT];
	uint32_t calls[MOST_EXACT];
	size_t count;

	if (!join_calls(tally, &joined, err))
		return false;
	count = joined.at.len < MOST_EXACT ? joined.at.len : MOST_EXACT;
	for (size_t i = 0; i < count; i++) {
		sizes[i] = (double)joined.at.at[i].size;
		blocks[i] = joined.at.at[i].blocks;
		calls[i] = joined.at.at[i].site;
	}
	allo_reply_f64(reply, "size", sizes, count);
	allo_reply_f64(reply, "size_blocks", blocks, count);
	allo_reply_u32(reply, "size_call", calls, count);
	return true;
}

bool allo_answer_sizes(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tally_free) struct tally *tally = NULL;
	struct allo_histogram sizes;

	if (!count_blocks(&tally, dataset, request, true, err))
		return false;
	size_histogram(tally, &sizes);
	put_histogram(&sizes, reply);
	return put_exact(tally, reply, err);
}

/* A sum of estimates; rounding errors may leave it below 0. */
static uint64_t rounded(double sum)
{
	return sum > 0 ? (uint64_t)(sum + 0.5) : 0;
}

bool allo_answer_lifetimes(struct allo_dataset *dataset, const struct allo_request *request,
			   struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tally_free) struct tally *tally = NULL;
	struct allo_histogram lifetimes;

	if (!count_blocks(&tally, dataset, request, false, err))
		return false;
	lifetime_histogram(tally, &lifetimes);
	put_histogram(&lifetimes, reply);
	allo_json_out_member_u64(&reply->head, "live_blocks", rounded(tally->live.blocks));
	allo_json_out_member_u64(&reply->head, "live_bytes", rounded(tally->live.bytes));
	return true;
}

bool allo_answer_heat(struct allo_dataset *dataset, const struct allo_request *request,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tally_free) struct tally *tally = NULL;
	static const char *const names[] = { "low_size", "low_life", "blocks", "bytes" };
	ALLO_VEC(double) columns[4] = { 0 };

	if (!count_blocks(&tally, dataset, request, false, err))
		return false;
	for (unsigned size = 0; size < BINS; size++) {
		for (unsigned life = 0; life < BINS; life++) {
			const struct cell *cell = &tally->cells[size][life];
			const double values[] = { (double)lowest_of(size), (double)lowest_of(life),
						  cell->blocks, cell->bytes };

			for (size_t i = 0; i < 4 && cell->blocks > 0; i++)
				allo_vec_add(&columns[i], values[i], err);
		}
	}
	for (size_t i = 0; i < 4; i++) {
		allo_reply_f64(reply, names[i], columns[i].at, columns[i].len);
		allo_vec_done(&columns[i]);
	}
	return !allo_failed(err);
}
