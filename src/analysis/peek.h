/*
 * peek.h - selected functions with their callers and callees.
 */
#ifndef ALLO_ANALYSIS_PEEK_H
#define ALLO_ANALYSIS_PEEK_H

#include "analysis/filters/pattern.h"
#include "analysis/top.h"

/* The values of the calls from a caller to a match, or from a match to a callee. */
struct allo_peek_edge {
	struct allo_values total;
	uint64_t last_sample; /* private: the last sample counted */
	uint32_t on_path;     /* private: number of its calls in a walk over all stacks */
	uint32_t match;       /* index in `matches` */
	uint32_t row;         /* of the other function, in top.rows */
	bool is_callee;
};

struct allo_peek_match {
	uint32_t row;                 /* in top.rows */
	struct allo_values outermost; /* of stacks where it is the outermost call */
	size_t callers, caller_count; /* in `edges`, the heaviest first */
	size_t callees, callee_count;
};

/* All zeros, with top.by and top.attribution set, is ready for use. */
struct allo_peek {
	struct allo_top top;
	ALLO_VEC(struct allo_peek_match) matches; /* the heaviest first */
	ALLO_VEC(struct allo_peek_edge) edges;
};

void allo_peek_done(struct allo_peek *peek);

/*
 * Finds matching functions and their neighbours.  A recursive call is not a caller of itself.  A
 * stack with several calls of a match counts once for each of its callers and callees, so these may
 * add up to more than the total of the match.
 */
bool allo_peek_profile(struct allo_peek *peek, const struct allo_profile *profile,
		       const struct allo_metric_columns *columns, struct allo_pattern *pattern,
		       struct allo_error *err);

#endif
