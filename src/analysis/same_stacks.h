/*
 * same_stacks.h - stacks that read the same.
 *
 * A line of source may be at several addresses: loops are unrolled, functions inlined more than
 * once.  Whoever sees names, files and lines takes such stacks for one.
 */
#ifndef ALLO_ANALYSIS_SAME_STACKS_H
#define ALLO_ANALYSIS_SAME_STACKS_H

#include "profile/profile.h"

/* For each stack the first one that reads the same, by id, to be freed; NULL when memory is short.
 * Frames without lines are told apart by their addresses. */
allo_stack_id *allo_same_stacks(const struct allo_profile *profile, struct allo_error *err);

#endif
