/*
 * peek.h - some functions, who calls them, and whom they call on.
 */
#ifndef ALLO_ANALYSIS_PEEK_H
#define ALLO_ANALYSIS_PEEK_H

#include "analysis/pattern.h"
#include "analysis/top.h"

/* What passes from a caller to a match, or from a match to a callee. */
struct allo_peek_edge {
	struct allo_values total;
	uint64_t last_sample; /* private: the last one that counted */
	uint32_t match;       /* index in `matches` */
	uint32_t row;         /* of the other one, in top.rows */
	bool is_callee;
};

struct allo_peek_match {
	uint32_t row;                 /* in top.rows: its own numbers */
	struct allo_values outermost; /* of stacks that begin with it: nobody calls it there */
	size_t callers, caller_count; /* in `edges`, the heaviest first */
	size_t callees, callee_count;
};

/* All zeros, with top.by and top.trims_allocator set, is ready for use. */
struct allo_peek {
	struct allo_top top;
	ALLO_VEC(struct allo_peek_match) matches; /* the heaviest first */
	ALLO_VEC(struct allo_peek_edge) edges;
};

void allo_peek_done(struct allo_peek *peek);

/*
 * Finds what matches, and its neighbours.  A recursion is no caller of itself.  A stack that passes
 * through a match more than once counts once for each caller and callee that it has there, so that
 * they may add up to more than the match's own total.
 */
bool allo_peek_profile(struct allo_peek *peek, const struct allo_profile *profile,
		       const struct allo_columns *columns, struct allo_pattern *pattern,
		       struct allo_error *err);

#endif
