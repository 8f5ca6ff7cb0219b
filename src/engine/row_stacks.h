/*
 * row_stacks.h - the stacks of a recording's individual allocations: their names, and which of them
 * a filter keeps.
 */
#ifndef ALLO_ENGINE_ROW_STACKS_H
#define ALLO_ENGINE_ROW_STACKS_H

#include "analysis/filters/filter.h"
#include "engine/source.h"

/* All zeros: every stack is kept, and none has a name. */
struct allo_row_stacks {
	struct allo_filter filter;   /* set by the caller; labels are ignored */
	struct allo_profile profile; /* with the stacks */
	/* By node of the recording, `count` of them: */
	allo_stack_id *stacks; /* filtered, in the profile */
	bool *is_kept;
	size_t count;
};

/* Names and filters all stacks of a recording. */
bool allo_row_stacks_find(struct allo_row_stacks *stacks, struct allo_source *source,
			  struct allo_error *err);

void allo_row_stacks_done(struct allo_row_stacks *stacks);

static inline bool allo_row_stacks_keep(const struct allo_row_stacks *stacks, uint32_t node)
{
	return stacks->count == 0 || (node < stacks->count && stacks->is_kept[node]);
}

/* 0: unknown. */
static inline allo_stack_id allo_row_stack(const struct allo_row_stacks *stacks, uint32_t node)
{
	return node < stacks->count ? stacks->stacks[node] : 0;
}

#endif
