/*
 * row_stacks.h - names for the stacks of single allocations, and which of them the filters leave.
 */
#ifndef ALLO_CLI_ROW_STACKS_H
#define ALLO_CLI_ROW_STACKS_H

#include "cli/common.h"
#include "replay/recording.h"

/* All zeros: every stack is left, and none has a name. */
struct allo_row_stacks {
	struct allo_profile profile; /* frames of stacks */
	struct allo_filter filter;
	/* By number of a recording's node, `count` of them: */
	allo_stack_id *stacks; /* the stack in the profile, as the filter leaves it */
	bool *is_kept;
	size_t count;
};

/* Finds out about all stacks of a recording. */
bool allo_row_stacks_find(struct allo_row_stacks *stacks, const struct allo_common *common,
			  struct allo_recording *recording, struct allo_error *err);

void allo_row_stacks_done(struct allo_row_stacks *stacks);

/* Whether the options leave any stacks out. */
bool allo_row_stacks_are_filtered(const struct allo_common *common);

static inline bool allo_row_stacks_keep(const struct allo_row_stacks *stacks, uint32_t node)
{
	return stacks->count == 0 || (node < stacks->count && stacks->is_kept[node]);
}

/* 0 when nothing is known of it. */
static inline allo_stack_id allo_row_stack(const struct allo_row_stacks *stacks, uint32_t node)
{
	return node < stacks->count ? stacks->stacks[node] : 0;
}

#endif
