/*
 * stack_walk.h - visits all stacks of a profile, callers before their callees.
 *
 * Views count a sample once for each function on its stack.  A walk along every sample's stack
 * takes time that grows with the depth of the stacks, and a deep recursion has a stack for each
 * depth: 50,000 of them have more than a billion frames in all.  This visits each stack once
 * instead.
 *
 *     for (allo_stack_id id; (id = allo_stack_walk_next(&walk)) != 0;) {
 *             if (walk.is_leaving)
 *                     ... all callees of `id` were visited ...
 *             else
 *                     ... all callers of `id` were entered and not left ...
 *     }
 */
#ifndef ALLO_PROFILE_STACK_WALK_H
#define ALLO_PROFILE_STACK_WALK_H

#include "profile/profile.h"

struct allo_stack_walk {
	bool is_leaving; /* the last stack was left, not entered */

	/* Private. */
	const struct allo_profile *profile;
	allo_stack_id at;
	allo_stack_id *first_callee, *next_callee; /* by stack; the first with the lowest id */
};

void allo_stack_walk_done(struct allo_stack_walk *walk);

/* The profile must not change during the walk. */
bool allo_stack_walk_init(struct allo_stack_walk *walk, const struct allo_profile *profile,
			  struct allo_error *err);

/* Enters or leaves the next stack; 0 at the end. */
allo_stack_id allo_stack_walk_next(struct allo_stack_walk *walk);

/*
 * The steps that walks along single stacks may take in a profile.  Usual profiles stay far below
 * it, and save the memory for sums by stack.
 */
static inline uint64_t allo_stack_walk_budget(const struct allo_profile *profile)
{
	return 64 * ((uint64_t)profile->stacks.len + profile->sample_stacks.len);
}

#endif
