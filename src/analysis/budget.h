/*
 * budget.h - limits on a profile's metrics, for checks in CI.
 *
 *     # comments
 *     peak <= 50MiB
 *     leaks <= 0
 *     alloc_blocks in fn:parse <= 1000       stacks with a matching frame; see pattern.h
 *     peak growth <= 5%                      against a baseline; or a size or number of blocks
 */
#ifndef ALLO_ANALYSIS_BUDGET_H
#define ALLO_ANALYSIS_BUDGET_H

#include "analysis/filters/suppressions.h"
#include "analysis/sites/attribution.h"

struct allo_budget_limit {
	const char *name;    /* the part before "<=" */
	const char *metric;  /* as written */
	const char *pattern; /* NULL: all stacks */
	bool is_growth;
	bool is_percent;
	uint64_t value; /* unless it is a percentage */
	double percent;
	struct allo_pos pos; /* without a file for a limit on the command line */
};

/* All zeros is none. */
struct allo_limits {
	ALLO_VEC(struct allo_budget_limit) list;
	struct allo_arena arena; /* their texts */
};

void allo_limits_done(struct allo_limits *limits);

/* Parses and adds a limit. */
bool allo_limits_add(struct allo_limits *limits, struct allo_text text, struct allo_pos pos,
		     struct allo_error *err);

/* Adds the limits of a file; its name must stay valid. */
bool allo_limits_read(struct allo_limits *limits, struct allo_input *in, struct allo_error *err);

bool allo_limits_need_baseline(const struct allo_limits *limits);

/* The result of a limit. */
struct allo_verdict {
	const struct allo_budget_limit *limit;
	bool is_kept;
	bool matches_nothing; /* the limit has a pattern that no stack of the profile matches */
	const char
		*nearest; /* then a function with a similar name, set by the caller; NULL: none */
	enum allo_meaning meaning;
	const char *metric, *unit;
	allo_sum now, before; /* `before` only for a limit on growth */
	/* The memory that the start of the C and C++ libraries keeps.  Limits on leaks leave it
	 * out, those with a pattern do not name it. */
	allo_sum runtime;
	/* For an exceeded limit: the function with the largest value, or the largest growth, which
	 * counts at most as much as all functions together.  A renamed function has grown by the
	 * difference to its former self.  NULL: unknown. */
	const char *mostly, *mostly_file; /* the file without folders */
	const char *mostly_path;          /* with the folders that are known */
	uint64_t mostly_line;             /* its line with the most of it; 0: unknown */
	allo_sum mostly_value;
	bool others_shrank; /* it has grown by more than all functions together */
};

/* All zeros is none. */
struct allo_verdicts {
	struct allo_attribution *attribution; /* private: during the check */
	ALLO_VEC(struct allo_verdict) list;   /* in the order of the limits */
	size_t exceeded;
	struct allo_arena arena;
};

void allo_verdicts_done(struct allo_verdicts *verdicts);

/*
 * Checks the limits.  `base` may be NULL when no limit needs it.  Suppressions apply to the limits
 * on leaks only; both profiles lose the suppressed samples, and those of runtime_memory.h.  The
 * settings of `attribution` decide on the site of a verdict.
 */
bool allo_budget_check(struct allo_verdicts *verdicts, const struct allo_limits *limits,
		       struct allo_suppressions *suppressions, struct allo_attribution *attribution,
		       struct allo_profile *profile, struct allo_profile *base,
		       struct allo_error *err);

/* Growth in percent of `before`; infinite when `before` is 0. */
double allo_verdict_percent(const struct allo_verdict *verdict);

#endif
