/*
 * stack_builder.h - stacks from lists of frames.
 *
 * Neighbours in a file share their root side, so the way to the last stack is kept: only the frames
 * that differ are looked up.
 *
 *     allo_stack_builder_begin(&builder);
 *     ... allo_stack_builder_add(&builder, frame, err) for each, the root first ...
 *     stack = allo_stack_builder_end(&builder, profile, err);
 */
#ifndef ALLO_PROFILE_STACK_BUILDER_H
#define ALLO_PROFILE_STACK_BUILDER_H

#include "profile/profile.h"

/* All zeros is ready for use, with one profile only. */
struct allo_stack_builder {
	ALLO_VEC(allo_frame_id) frames; /* of the stack at hand, root first */
	ALLO_VEC(allo_stack_id) stacks; /* by depth: those of the stack before */
	size_t same;                    /* frames that both begin with */
};

static inline void allo_stack_builder_begin(struct allo_stack_builder *builder)
{
	builder->frames.len = builder->same = 0;
}

/* The same for a stack that begins with so many frames of the one before. */
static inline void allo_stack_builder_begin_at(struct allo_stack_builder *builder, size_t depth)
{
	builder->frames.len = depth;
	builder->same = depth < builder->stacks.len ? depth : builder->stacks.len;
}

/* One frame further from the root; false when memory is short. */
static inline bool allo_stack_builder_add(struct allo_stack_builder *builder, allo_frame_id frame,
					  struct allo_error *err)
{
	size_t depth = builder->frames.len;

	/* What `frames` holds beyond its length is still the stack before. */
	if (builder->same == depth && depth < builder->stacks.len &&
	    builder->frames.at[depth] == frame)
		builder->same++;
	if (depth == builder->frames.cap && !allo_vec_reserve(&builder->frames, 1))
		return allo_fail_memory(err);
	builder->frames.at[builder->frames.len++] = frame;
	return true;
}

/* The stack of the frames added since the beginning; 0 for none, and when memory is short. */
allo_stack_id allo_stack_builder_end(struct allo_stack_builder *builder,
				     struct allo_profile *profile, struct allo_error *err);

/* All in one, for frames that are listed leaf first. */
allo_stack_id allo_stack_build(struct allo_stack_builder *builder, struct allo_profile *profile,
			       const allo_frame_id *leaf_first, size_t count,
			       struct allo_error *err);

/* To be called when the profile has dropped its stacks. */
static inline void allo_stack_builder_forget(struct allo_stack_builder *builder)
{
	builder->stacks.len = 0;
}

void allo_stack_builder_done(struct allo_stack_builder *builder);

#endif
