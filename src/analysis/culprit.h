/*
 * culprit.h - the call site that is most responsible for an exceeded limit.
 */
#ifndef ALLO_ANALYSIS_CULPRIT_H
#define ALLO_ANALYSIS_CULPRIT_H

#include "analysis/budget.h"

/* Fills the members of a verdict that begin with "mostly", if its limit is exceeded.  `metric` is
 * the limit's in `profile`; `base` may be NULL unless the limit is on growth. */
bool allo_culprit_find(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		       const struct allo_profile *profile, size_t metric,
		       const struct allo_profile *base, struct allo_error *err);

#endif
