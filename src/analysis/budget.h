/*
 * budget.h - limits for a profile's numbers.
 *
 *     # comments
 *     peak <= 50MiB
 *     leaks <= 0
 *     alloc_blocks in fn:parse <= 1000       of stacks with a frame that matches, see pattern.h
 *     peak growth <= 5%                      against a baseline; or a size, a number of blocks
 */
#ifndef ALLO_ANALYSIS_BUDGET_H
#define ALLO_ANALYSIS_BUDGET_H

#include "analysis/suppressions.h"

struct allo_budget_limit {
	const char *name;    /* the part in front of "<=" */
	const char *metric;  /* as it was written */
	const char *pattern; /* NULL: everything */
	bool is_growth;
	bool is_percent;
	uint64_t value; /* unless it is a percentage: */
	double percent;
	struct allo_pos pos; /* where it stands; without a file if it was an option */
};

/* All zeros is none. */
struct allo_limits {
	ALLO_VEC(struct allo_budget_limit) list;
	struct allo_arena arena; /* what they own */
};

void allo_limits_done(struct allo_limits *limits);

/* Adds a limit that is written as above. */
bool allo_limits_add(struct allo_limits *limits, struct allo_text text, struct allo_pos pos,
		     struct allo_error *err);

/* Adds those of a file, whose name stays. */
bool allo_limits_read(struct allo_limits *limits, struct allo_input *in, struct allo_error *err);

bool allo_limits_need_baseline(const struct allo_limits *limits);

/* How a limit was kept. */
struct allo_verdict {
	const struct allo_budget_limit *limit;
	bool is_kept;
	enum allo_meaning meaning;
	const char *metric, *unit;
	allo_sum now, before; /* the latter only where growth is limited */
	/* What holds most of what is limited or, of growth, has changed most; where the limit is
	 * not kept, and it is for everything.  NULL: not known. */
	const char *mostly, *mostly_file;
	allo_sum mostly_value;
};

/* All zeros is none. */
struct allo_verdicts {
	ALLO_VEC(struct allo_verdict) list; /* in the order of the limits */
	size_t exceeded;
	struct allo_arena arena;
};

void allo_verdicts_done(struct allo_verdicts *verdicts);

/*
 * Measures.  `base` may be NULL where no limit needs it.  Both profiles lose the samples that are
 * suppressed, which count for no limit of what was never freed, but for all others.
 */
bool allo_budget_check(struct allo_verdicts *verdicts, const struct allo_limits *limits,
		       struct allo_suppressions *suppressions, struct allo_profile *profile,
		       struct allo_profile *base, struct allo_error *err);

/* Growth in percent of what was before; infinite where nothing was. */
double allo_verdict_percent(const struct allo_verdict *verdict);

#endif
