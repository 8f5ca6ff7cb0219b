/*
 * heap_samples.c - the rows of each instant: exact counts, or estimates that are rounded such that
 * they add up.
 */
#include "replay/heap_samples.h"

#include "base/assert.h"

/* Of a window. */
static const enum allo_meaning meanings[] = {
	ALLO_ALLOC_BLOCKS, ALLO_ALLOC_BYTES, ALLO_MAX_BLOCKS, ALLO_MAX_BYTES, ALLO_PEAK_BLOCKS,
	ALLO_PEAK_BYTES,   ALLO_END_BLOCKS,  ALLO_END_BYTES,  ALLO_LIFETIME,  ALLO_TEMPORARY_BLOCKS,
};
enum { METRICS = sizeof(meanings) / sizeof(*meanings), PEAK_BYTES = 5 };
_Static_assert(METRICS == (int)ALLO_HEAP_METRICS, "as the header says");

/* A sampled recording cannot tell temporary blocks: it may lack the allocations in between. */
enum { SAMPLED_METRICS = METRICS - 1 };

/* Of an instant: the last two; of ALLO_AT_NOW and those below it: all four. */
static const enum allo_meaning live_meanings[] = { ALLO_ALLOC_BLOCKS, ALLO_ALLOC_BYTES,
						   ALLO_LIVE_BLOCKS, ALLO_LIVE_BYTES };
enum { NOW_METRICS = 4, LIVE_METRICS = 2 };

static bool has_totals(enum allo_view_instant at)
{
	return at == ALLO_AT_NOW || at == ALLO_AT_CHANGE || at == ALLO_AT_SINCE;
}

/* Whether allocations count from allo_heap_keep_before() on. */
static bool has_start(enum allo_view_instant at)
{
	return at == ALLO_AT_CHANGE || at == ALLO_AT_SINCE;
}

size_t allo_heap_default_metric(enum allo_view_instant at)
{
	return at == ALLO_AT_NONE ? PEAK_BYTES + 1 : has_totals(at) ? NOW_METRICS : LIVE_METRICS;
}

static bool add_live_metrics(struct allo_profile *profile, enum allo_view_instant at,
			     struct allo_error *err)
{
	for (size_t i = has_totals(at) ? 0 : NOW_METRICS - LIVE_METRICS; i < NOW_METRICS; i++) {
		if (!allo_profile_add_metric(profile, live_meanings[i], NULL, err))
			return false;
		if (at == ALLO_AT_CHANGE && i >= NOW_METRICS - LIVE_METRICS)
			allo_profile_make_signed(profile, i);
	}
	return true;
}

bool allo_heap_add_metrics(struct allo_profile *profile, const struct allo_heap *heap,
			   enum allo_view_instant at, struct allo_error *err)
{
	size_t count = heap->weighed ? SAMPLED_METRICS : METRICS;

	if (at != ALLO_AT_NONE)
		return add_live_metrics(profile, at, err);
	for (size_t i = 0; i < count; i++) {
		const char *unit = meanings[i] == ALLO_LIFETIME ? "nanoseconds" : NULL;

		if (!allo_profile_add_metric(profile, meanings[i], unit, err))
			return false;
	}
	return true;
}

/* Estimates. */

static void estimate(struct allo_site_values *row, struct allo_heap_sums *sums, allo_parts parts,
		     double variance)
{
	ALLO_ASSERT(row->count < SAMPLED_METRICS);
	row->values[row->count] = allo_parts_share(&sums->of[row->count], parts);
	row->variances[row->count++] = variance;
}

static void estimate_blocks(struct allo_site_values *row, struct allo_heap_sums *sums,
			    const struct allo_weighed *weighed)
{
	estimate(row, sums, weighed->blocks, weighed->blocks_variance);
	estimate(row, sums, weighed->bytes, weighed->bytes_variance);
}

/* The allocations since then.  Their variance may be rounded to less than nothing. */
static struct allo_weighed allocated_since(const struct allo_weighed *now,
					   const struct allo_weighed *before)
{
	double blocks_variance = now->blocks_variance - before->blocks_variance;
	double bytes_variance = now->bytes_variance - before->bytes_variance;

	ALLO_ASSERT(now->blocks >= before->blocks && now->bytes >= before->bytes);
	return (struct allo_weighed){
		.blocks = now->blocks - before->blocks,
		.bytes = now->bytes - before->bytes,
		.blocks_variance = blocks_variance > 0 ? blocks_variance : 0,
		.bytes_variance = bytes_variance > 0 ? bytes_variance : 0,
	};
}

/* Subtracts live memory at the start of the window from the last two values of a row.  The sum of
 * both variances is an upper bound, since most blocks are in both. */
static void take_before(struct allo_site_values *row, struct allo_heap_sums *sums,
			const struct allo_weighed *before)
{
	struct allo_site_values earlier = { .count = row->count };

	estimate_blocks(&earlier, sums, before);
	ALLO_ASSERT(earlier.count == row->count + LIVE_METRICS);
	for (size_t i = row->count - LIVE_METRICS; i < row->count; i++) {
		row->values[i] -= earlier.values[i + LIVE_METRICS];
		row->variances[i] += earlier.variances[i + LIVE_METRICS];
	}
}

/* A row with totals; false if all values are 0. */
static bool estimate_now(struct allo_site_values *row, struct allo_heap_sums *sums,
			 const struct allo_heap *heap, size_t site, enum allo_view_instant at)
{
	const struct allo_weighed_site *known = &heap->weighed[site];
	struct allo_weighed_before before = { 0 };
	struct allo_weighed alloc;

	if (has_start(at) && site < heap->weighed_before.len)
		before = heap->weighed_before.at[site];
	if (at == ALLO_AT_SINCE)
		before.live = (struct allo_weighed){ 0 };
	alloc = allocated_since(&known->alloc, &before.alloc);
	if (alloc.blocks == 0 && known->live.bytes == before.live.bytes &&
	    known->live.blocks == before.live.blocks)
		return false;
	estimate_blocks(row, sums, &alloc);
	estimate_blocks(row, sums, &known->live);
	if (at == ALLO_AT_CHANGE)
		take_before(row, sums, &before.live);
	return true;
}

static bool estimate_site(struct allo_site_values *row, struct allo_heap_sums *sums,
			  const struct allo_heap *heap, size_t site, enum allo_view_instant at)
{
	const struct allo_weighed_site *known = &heap->weighed[site];
	struct allo_weighed peak = allo_weighed_site_peak(known, heap->peaks);
	const struct allo_weighed *held = at == ALLO_AT_PEAK ? &peak : &known->live;

	row->are_estimates = true;
	if (!allo_heap_has_site(heap, site))
		return false;
	if (has_totals(at))
		return estimate_now(row, sums, heap, site, at);
	if (at != ALLO_AT_NONE) {
		if (held->blocks > 0)
			estimate_blocks(row, sums, held);
		return held->blocks > 0;
	}
	estimate_blocks(row, sums, &known->alloc);
	estimate_blocks(row, sums, &known->max);
	estimate_blocks(row, sums, &peak);
	estimate_blocks(row, sums, &known->live);
	estimate(row, sums, known->lifetime_ns, known->lifetime_variance);
	return true;
}

/* Exact values. */

static void set_values(struct allo_site_values *row, const uint64_t *values, size_t count)
{
	memcpy(row->values, values, count * sizeof(*values));
	row->count = count;
}

static bool count_now(struct allo_site_values *row, const struct allo_heap *heap, size_t site,
		      enum allo_view_instant at)
{
	const struct allo_site *known = &heap->sites[site];
	struct allo_site_before before = { 0 };

	if (has_start(at) && site < heap->before.len)
		before = heap->before.at[site];
	if (at == ALLO_AT_SINCE)
		before.live = (struct allo_peak){ 0 };
	ALLO_ASSERT(heap->blocks.made[site] >= before.alloc_blocks &&
		    known->alloc_bytes >= before.alloc_bytes);
	const uint64_t values[NOW_METRICS] = {
		heap->blocks.made[site] - before.alloc_blocks,
		known->alloc_bytes - before.alloc_bytes,
		known->live_blocks - before.live.blocks,
		known->live_bytes - before.live.bytes,
	};

	set_values(row, values, NOW_METRICS);
	return values[0] != 0 || values[2] != 0 || values[3] != 0;
}

/* A row of the whole window; false if all values are 0. */
static bool count_all(struct allo_site_values *row, const struct allo_heap *heap, size_t site)
{
	const struct allo_site *known = &heap->sites[site];
	struct allo_peak peak = allo_heap_peak(heap, known);
	const uint64_t values[METRICS] = {
		heap->blocks.made[site], known->alloc_bytes, known->max_blocks,
		known->max_bytes,        peak.blocks,        peak.bytes,
		known->live_blocks,      known->live_bytes,  known->lifetime_ns,
		known->temporary_blocks,
	};

	set_values(row, values, METRICS);
	return allo_heap_has_site(heap, site);
}

bool allo_heap_site_values(const struct allo_heap *heap, size_t site, enum allo_view_instant at,
			   struct allo_heap_sums *sums, struct allo_site_values *row)
{
	const struct allo_site *known = &heap->sites[site];
	struct allo_peak held = { known->live_bytes, known->live_blocks };

	/* Exact values have no variances: clearing them would take longer than all of the rest. */
	row->count = 0;
	row->are_estimates = false;
	if (heap->weighed)
		return estimate_site(row, sums, heap, site, at);
	if (has_totals(at))
		return count_now(row, heap, site, at);
	if (at == ALLO_AT_NONE)
		return count_all(row, heap, site);
	if (at == ALLO_AT_PEAK)
		held = allo_heap_peak(heap, known);
	set_values(row, (uint64_t[]){ held.blocks, held.bytes }, LIVE_METRICS);
	return held.blocks != 0;
}

/* Adds values of the metrics from `first` on. */
static bool add_row(struct allo_profile *profile, allo_stack_id stack, allo_labels_id labels,
		    size_t first, const struct allo_site_values *more, struct allo_error *err)
{
	uint64_t *row = allo_profile_add_sample(profile, stack, labels, NULL, err);

	if (!row)
		return false;
	ALLO_ASSERT(first + more->count <= profile->metrics.len);
	for (size_t i = 0; i < more->count; i++) {
		uint64_t *value = &row[first + i];

		allo_profile_add_value(profile, first + i, value, more->values[i]);
		if (more->are_estimates &&
		    !allo_profile_add_variance(profile, value, more->variances[i], err))
			return false;
	}
	return true;
}

bool allo_heap_add_sample(struct allo_profile *profile, const struct allo_heap *heap, size_t site,
			  enum allo_view_instant at, allo_stack_id stack, allo_labels_id labels,
			  struct allo_heap_sums *sums, struct allo_error *err)
{
	struct allo_site_values row;

	return !allo_heap_site_values(heap, site, at, sums, &row) ||
	       add_row(profile, stack, labels, 0, &row, err);
}

bool allo_own_events_add_metrics(struct allo_profile *profile, size_t *metric,
				 struct allo_error *err)
{
	*metric = profile->metrics.len;
	return allo_profile_add_metric(profile, ALLO_EVENTS, NULL, err) &&
	       allo_profile_add_metric(profile, ALLO_EVENT_UNITS, "units", err);
}

bool allo_own_events_add_sample(struct allo_profile *profile, size_t metric,
				const struct allo_own_sum *sum, allo_stack_id stack,
				allo_labels_id labels, struct allo_error *err)
{
	struct allo_site_values row = { .values = { sum->events, sum->units }, .count = 2 };

	return add_row(profile, stack, labels, metric, &row, err);
}
