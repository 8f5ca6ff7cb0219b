/*
 * diff.h - two profiles as one, with before and after.
 */
#ifndef ALLO_ANALYSIS_DIFF_H
#define ALLO_ANALYSIS_DIFF_H

#include "profile/profile.h"

/* What makes frames of the two profiles equal. */
enum allo_match {
	ALLO_MATCH_FUNCTION, /* name and file, folders aside: lines move when code is edited */
	ALLO_MATCH_LINE,
	ALLO_MATCH_ADDRESS,
};

/* Fills an empty profile with the metrics that both have, each as a pair: before, after. */
bool allo_diff_profiles(const struct allo_profile *base, const struct allo_profile *changed,
			enum allo_match match, struct allo_profile *diff, struct allo_error *err);

/* Scales what was before so that each metric's total is what it is after: shares are compared. */
void allo_diff_normalize(struct allo_profile *diff);

#endif
