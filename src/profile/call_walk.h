/*
 * call_walk.h - a position in a stack that moves from the innermost call outwards.
 *
 * A frame has several calls where the compiler inlined functions.
 */
#ifndef ALLO_PROFILE_CALL_WALK_H
#define ALLO_PROFILE_CALL_WALK_H

#include "profile/naming.h"

struct allo_call_walk {
	const struct allo_profile *profile;
	allo_stack_id stack;
	uint32_t call;
};

/* The frame of the next call, and the call's number in it; NULL at the end. */
static inline const struct allo_frame *allo_call_walk_next(struct allo_call_walk *walk,
							   uint32_t *call)
{
	const struct allo_frame *frame;

	if (walk->stack == 0)
		return NULL;
	frame = &walk->profile->frames.at[walk->profile->stacks.at[walk->stack].frame];
	*call = walk->call++;
	if (walk->call >= allo_frame_call_count(frame)) {
		walk->stack = walk->profile->stacks.at[walk->stack].parent;
		walk->call = 0;
	}
	return frame;
}

#endif
