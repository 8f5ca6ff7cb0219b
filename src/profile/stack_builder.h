/*
 * stack_builder.h - builds stacks from lists of frames.
 *
 * Consecutive stacks of a file share their root frames.  The builder keeps the previous stack and
 * looks up only the frames that differ.
 *
 *     allo_stack_builder_begin(&builder);
 *     ... allo_stack_builder_add(&builder, frame, err) for each frame, root first ...
 *     stack = allo_stack_builder_end(&builder, profile, err);
 */
#ifndef ALLO_PROFILE_STACK_BUILDER_H
#define ALLO_PROFILE_STACK_BUILDER_H

#include "profile/profile.h"

/* All zeros is ready for use.  A builder serves one profile. */
struct allo_stack_builder {
	ALLO_VEC(allo_frame_id) frames; /* of the current stack, root first */
	ALLO_VEC(allo_stack_id) stacks; /* of the previous stack, by depth */
	size_t same;                    /* length of the common prefix of both */
};

static inline void allo_stack_builder_begin(struct allo_stack_builder *builder)
{
	builder->frames.len = builder->same = 0;
}

/* The same for a stack that starts with the first `depth` frames of the previous one. */
static inline void allo_stack_builder_begin_at(struct allo_stack_builder *builder, size_t depth)
{
	builder->frames.len = depth;
	builder->same = depth < builder->stacks.len ? depth : builder->stacks.len;
}

/* Adds the next frame from the root; false when out of memory. */
static inline bool allo_stack_builder_add(struct allo_stack_builder *builder, allo_frame_id frame,
					  struct allo_error *err)
{
	size_t depth = builder->frames.len;

	/* Beyond its length, `frames` still holds the previous stack. */
	if (builder->same == depth && depth < builder->stacks.len &&
	    builder->frames.at[depth] == frame)
		builder->same++;
	return allo_vec_add(&builder->frames, frame, err);
}

/* The stack of the frames added since begin; 0 for no frames, and on failure. */
allo_stack_id allo_stack_builder_end(struct allo_stack_builder *builder,
				     struct allo_profile *profile, struct allo_error *err);

/* Begin, add and end for a list of frames, leaf first. */
allo_stack_id allo_stack_build(struct allo_stack_builder *builder, struct allo_profile *profile,
			       const allo_frame_id *leaf_first, size_t count,
			       struct allo_error *err);

/* Call this when the profile has dropped its stacks. */
static inline void allo_stack_builder_forget(struct allo_stack_builder *builder)
{
	builder->stacks.len = 0;
}

void allo_stack_builder_done(struct allo_stack_builder *builder);

#endif
