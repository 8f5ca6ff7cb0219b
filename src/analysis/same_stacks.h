/*
 * same_stacks.h - finds stacks that print the same.
 *
 * A source line may have several addresses, by unrolling and inlining.  A view that shows names,
 * files and lines treats such stacks as one.
 */
#ifndef ALLO_ANALYSIS_SAME_STACKS_H
#define ALLO_ANALYSIS_SAME_STACKS_H

#include "profile/profile.h"

/* An array, by stack, of the first stack that prints the same; the caller frees it.  NULL when out
 * of memory.  Frames without lines are compared by address. */
allo_stack_id *allo_same_stacks(const struct allo_profile *profile, struct allo_error *err);

#endif
