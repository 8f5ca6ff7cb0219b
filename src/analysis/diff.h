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

/* Where the parts of one of the two profiles are in their comparison.  All zeros is empty. */
struct allo_diff_map {
	allo_stack_id *stacks; /* by stack of the profile */
	size_t *metrics;       /* by metric of the profile; (size_t)-1: not compared */
};

void allo_diff_map_done(struct allo_diff_map *map);

/* The same; fills the maps of the base and of the changed profile. */
bool allo_diff_profiles_mapped(const struct allo_profile *base, const struct allo_profile *changed,
			       enum allo_match match, struct allo_profile *diff,
			       struct allo_diff_map maps[2], struct allo_error *err);

/* Scales the `before` values so that the totals are equal, to compare shares. */
void allo_diff_normalize(struct allo_profile *diff);

#endif
