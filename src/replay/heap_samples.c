/* heap_samples.c - see heap_samples.h. */
#include "replay/heap_samples.h"

/* Of all that was. */
static const enum allo_meaning meanings[] = {
	ALLO_ALLOC_BLOCKS, ALLO_ALLOC_BYTES, ALLO_MAX_BLOCKS, ALLO_MAX_BYTES, ALLO_PEAK_BLOCKS,
	ALLO_PEAK_BYTES,   ALLO_END_BLOCKS,  ALLO_END_BYTES,  ALLO_LIFETIME,  ALLO_TEMPORARY_BLOCKS,
};
enum { METRICS = sizeof(meanings) / sizeof(*meanings), PEAK_BYTES = 5 };
_Static_assert(METRICS == (int)ALLO_HEAP_METRICS, "as the header says");

/* A sampled recording does not tell which blocks are temporary: what was allocated before they were
 * freed need not be in it. */
enum { SAMPLED_METRICS = METRICS - 1 };

/* Of an instant. */
static const enum allo_meaning live_meanings[] = { ALLO_LIVE_BLOCKS, ALLO_LIVE_BYTES };
enum { LIVE_METRICS = 2, LIVE_BYTES = 1 };

size_t allo_heap_default_metric(enum allo_instant at)
{
	return (at == ALLO_AT_NONE ? PEAK_BYTES : LIVE_BYTES) + 1;
}

bool allo_heap_add_metrics(struct allo_profile *profile, const struct allo_heap *heap,
			   enum allo_instant at, struct allo_error *err)
{
	size_t count = at != ALLO_AT_NONE ? LIVE_METRICS
		       : heap->weighed    ? SAMPLED_METRICS
					  : METRICS;

	for (size_t i = 0; i < count; i++) {
		enum allo_meaning meaning = at == ALLO_AT_NONE ? meanings[i] : live_meanings[i];
		const char *unit = meaning == ALLO_LIFETIME ? "nanoseconds" : NULL;

		if (!allo_profile_add_metric(profile, meaning, unit, err))
			return false;
	}
	return true;
}

/* Values of the metrics from `first` on; `variances` may be NULL: they are exact. */
static bool add_row(struct allo_profile *profile, allo_stack_id stack, allo_labels_id labels,
		    size_t first, const uint64_t *values, const double *variances, size_t count,
		    struct allo_error *err)
{
	uint64_t *row = allo_profile_add_sample(profile, stack, labels, NULL, err);

	if (!row)
		return false;
	for (size_t i = 0; i < count; i++) {
		uint64_t *value = &row[first + i];

		allo_profile_add_value(profile, first + i, value, values[i]);
		if (variances && !allo_profile_add_variance(profile, value, variances[i], err))
			return false;
	}
	return true;
}

/* A row of estimates while it is made. */
struct estimates {
	struct allo_heap_told *told;
	uint64_t values[SAMPLED_METRICS];
	double variances[SAMPLED_METRICS];
	size_t count;
};

static void estimate(struct estimates *row, allo_parts parts, double variance)
{
	row->values[row->count] = allo_parts_share(&row->told->of[row->count], parts);
	row->variances[row->count++] = variance;
}

static void estimate_blocks(struct estimates *row, const struct allo_weighed *weighed)
{
	estimate(row, weighed->blocks, weighed->blocks_variance);
	estimate(row, weighed->bytes, weighed->bytes_variance);
}

static bool add_weighed(struct allo_profile *profile, const struct allo_heap *heap, size_t site,
			enum allo_instant at, allo_stack_id stack, allo_labels_id labels,
			struct allo_heap_told *told, struct allo_error *err)
{
	const struct allo_weighed_site *known = &heap->weighed[site];
	struct allo_weighed peak = allo_weighed_site_peak(known, heap->peaks);
	struct estimates row = { .told = told };

	if (at == ALLO_AT_NONE) {
		estimate_blocks(&row, &known->alloc);
		estimate_blocks(&row, &known->max);
		estimate_blocks(&row, &peak);
		estimate_blocks(&row, &known->live);
		estimate(&row, known->lifetime_ns, known->lifetime_variance);
	} else {
		const struct allo_weighed *held = at == ALLO_AT_PEAK ? &peak : &known->live;

		if (held->blocks == 0)
			return true;
		estimate_blocks(&row, held);
	}
	return add_row(profile, stack, labels, 0, row.values, row.variances, row.count, err);
}

bool allo_heap_add_sample(struct allo_profile *profile, const struct allo_heap *heap, size_t site,
			  enum allo_instant at, allo_stack_id stack, allo_labels_id labels,
			  struct allo_heap_told *told, struct allo_error *err)
{
	const struct allo_site *known = &heap->sites[site];
	struct allo_peak peak = allo_heap_peak(heap, known);
	struct allo_peak live = { known->live_bytes, known->live_blocks };
	const struct allo_peak *held = at == ALLO_AT_PEAK ? &peak : &live;
	const uint64_t values[METRICS] = {
		heap->blocks.made[site], known->alloc_bytes, known->max_blocks,
		known->max_bytes,        peak.blocks,        peak.bytes,
		known->live_blocks,      known->live_bytes,  known->lifetime_ns,
		known->temporary_blocks,
	};

	if (heap->weighed)
		return !allo_heap_has_site(heap, site) ||
		       add_weighed(profile, heap, site, at, stack, labels, told, err);
	if (at == ALLO_AT_NONE)
		return !allo_heap_has_site(heap, site) ||
		       add_row(profile, stack, labels, 0, values, NULL, METRICS, err);
	return held->blocks == 0 ||
	       add_row(profile, stack, labels, 0, (uint64_t[]){ held->blocks, held->bytes }, NULL,
		       LIVE_METRICS, err);
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
	return add_row(profile, stack, labels, metric, (uint64_t[]){ sum->events, sum->units },
		       NULL, 2, err);
}
