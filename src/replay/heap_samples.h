/*
 * heap_samples.h - converts the sites of a heap to samples of a profile.
 */
#ifndef ALLO_REPLAY_HEAP_SAMPLES_H
#define ALLO_REPLAY_HEAP_SAMPLES_H

#include "profile/profile.h"
#include "replay/heap.h"
#include "replay/view.h"

enum { ALLO_HEAP_METRICS = 10 }; /* at most */

/* Adds the metrics of an instant, or for ALLO_AT_NONE those of the whole window. */
bool allo_heap_add_metrics(struct allo_profile *profile, const struct allo_heap *heap,
			   enum allo_view_instant at, struct allo_error *err);

/* Sums of the estimates of all sites so far: samples of a sampled recording are rounded such that
 * they add up.  All zeros before the first site. */
struct allo_heap_sums {
	allo_parts of[ALLO_HEAP_METRICS];
};

/* The values of a site, in the order of the metrics. */
struct allo_site_values {
	uint64_t values[ALLO_HEAP_METRICS];
	double variances[ALLO_HEAP_METRICS]; /* of estimates; exact values have none */
	size_t count;
	bool are_estimates;
};

/* False if all values are 0. */
bool allo_heap_site_values(const struct allo_heap *heap, size_t site, enum allo_view_instant at,
			   struct allo_heap_sums *sums, struct allo_site_values *row);

/* Adds the sample of a site, unless all of its values are 0. */
bool allo_heap_add_sample(struct allo_profile *profile, const struct allo_heap *heap, size_t site,
			  enum allo_view_instant at, allo_stack_id stack, allo_labels_id labels,
			  struct allo_heap_sums *sums, struct allo_error *err);

/* Adds the two metrics of events of the program; `metric` gets the index of the first. */
bool allo_own_events_add_metrics(struct allo_profile *profile, size_t *metric,
				 struct allo_error *err);

/* Adds such a sum to the sample of a stack and labels. */
bool allo_own_events_add_sample(struct allo_profile *profile, size_t metric,
				const struct allo_own_sum *sum, allo_stack_id stack,
				allo_labels_id labels, struct allo_error *err);

/* The default metric, as in struct allo_meta. */
size_t allo_heap_default_metric(enum allo_view_instant at);

#endif
