/*
 * deep_sums.h - the values that pass through each call of each stack, for profiles with deep
 * stacks.
 *
 * The sum of a row of top.h is that of its outermost calls: in a recursion, these contain all
 * others.  So a view walks over all stacks (profile/stack_walk.h) and adds up the calls that have
 * none of the same row among their callers.
 */
#ifndef ALLO_ANALYSIS_DEEP_SUMS_H
#define ALLO_ANALYSIS_DEEP_SUMS_H

#include "analysis/top.h"

struct allo_deep_sums {
	bool *is_used;             /* by stack: it has samples, or its callees have */
	struct allo_values *own;   /* by stack: samples that count for it */
	struct allo_values *inner; /* by stack: samples that count for its callees */
};

void allo_deep_sums_done(struct allo_deep_sums *sums);

/* Sums up the samples from number `first` on.  Adds their calls to the rows of `top`. */
bool allo_deep_sums_init(struct allo_deep_sums *sums, struct allo_top *top,
			 const struct allo_profile *profile,
			 const struct allo_metric_columns *columns, size_t first,
			 struct allo_error *err);

/* The samples that pass through a call of a stack's frame or end there. */
static inline struct allo_values allo_deep_values(const struct allo_deep_sums *sums,
						  allo_stack_id stack, uint32_t call,
						  uint32_t leaf_call)
{
	struct allo_values values = sums->inner[stack];

	if (call >= leaf_call)
		allo_values_add(&values, &sums->own[stack]);
	return values;
}

#endif
