/*
 * diff.h - compares two profiles: one profile with pairs of metrics, before and after.
 */
#ifndef ALLO_ANALYSIS_DIFF_H
#define ALLO_ANALYSIS_DIFF_H

#include "profile/profile.h"

/* When frames of the two profiles are equal. */
enum allo_match {
	/* Name and file without folders: edits move lines.  A function that is in one file before
	 * and in another one after has moved. */
	ALLO_MATCH_FUNCTION,
	ALLO_MATCH_LINE,
	ALLO_MATCH_ADDRESS,
};

/* Fills an empty profile with the common metrics, each as a pair: before, after. */
bool allo_diff_profiles(const struct allo_profile *base, const struct allo_profile *changed,
			enum allo_match match, struct allo_profile *diff, struct allo_error *err);

/* Scales the `before` values so that the totals are equal, to compare shares. */
void allo_diff_normalize(struct allo_profile *diff);

#endif
