/*
 * heap_samples.h - what the sites of a heap have come to, as samples of a profile.
 */
#ifndef ALLO_REPLAY_HEAP_SAMPLES_H
#define ALLO_REPLAY_HEAP_SAMPLES_H

#include "profile/profile.h"
#include "replay/heap.h"
#include "replay/view.h"

enum { ALLO_HEAP_METRICS = 10 }; /* at most */

/* The metrics of all that follow: those of an instant, or for ALLO_AT_NONE of all that was. */
bool allo_heap_add_metrics(struct allo_profile *profile, const struct allo_heap *heap,
			   enum allo_view_instant at, struct allo_error *err);

/* What the estimates of a sampled recording's sites have come to so far: they are rounded such that
 * they add up.  All zeros before the first one. */
struct allo_heap_told {
	allo_parts of[ALLO_HEAP_METRICS];
};

/* The sample of a site, which has a stack and perhaps labels there; none where it has nothing to
 * tell. */
bool allo_heap_add_sample(struct allo_profile *profile, const struct allo_heap *heap, size_t site,
			  enum allo_view_instant at, allo_stack_id stack, allo_labels_id labels,
			  struct allo_heap_told *told, struct allo_error *err);

/* The metrics of events of the program's own; the first of the two is `metric`. */
bool allo_own_events_add_metrics(struct allo_profile *profile, size_t *metric,
				 struct allo_error *err);

/* Adds a sum of them to the sample that has a stack and labels. */
bool allo_own_events_add_sample(struct allo_profile *profile, size_t metric,
				const struct allo_own_sum *sum, allo_stack_id stack,
				allo_labels_id labels, struct allo_error *err);

/* Which of the metrics tells most, as in struct allo_meta. */
size_t allo_heap_default_metric(enum allo_view_instant at);

#endif
