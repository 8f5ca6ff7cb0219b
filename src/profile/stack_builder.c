/* stack_builder.c - compares a list with the previous one from the root on, and adds the rest. */
#include "profile/stack_builder.h"

#include "base/assert.h"

allo_stack_id allo_stack_builder_end(struct allo_stack_builder *builder,
				     struct allo_profile *profile, struct allo_error *err)
{
	size_t count = builder->frames.len, same = builder->same;
	allo_stack_id parent = same > 0 ? builder->stacks.at[same - 1] : 0;

	ALLO_ASSERT(same <= count && same <= builder->stacks.len);
	builder->stacks.len = same;
	if (allo_failed(err) || count == 0)
		return 0;
	if (count == same)
		return parent;
	if (!allo_vec_reserve(&builder->stacks, count - same)) {
		allo_fail_memory(err);
		return 0;
	}
	if (!allo_profile_add_stacks(profile, parent, builder->frames.at + same, count - same,
				     builder->stacks.at + same, err))
		return 0;
	builder->stacks.len = count;
	return builder->stacks.at[count - 1];
}

allo_stack_id allo_stack_build(struct allo_stack_builder *builder, struct allo_profile *profile,
			       const allo_frame_id *leaf_first, size_t count,
			       struct allo_error *err)
{
	allo_stack_builder_begin(builder);
	for (size_t i = count; i-- > 0;)
		allo_stack_builder_add(builder, leaf_first[i], err);
	return allo_stack_builder_end(builder, profile, err);
}

void allo_stack_builder_done(struct allo_stack_builder *builder)
{
	allo_vec_done(&builder->frames);
	allo_vec_done(&builder->stacks);
}
