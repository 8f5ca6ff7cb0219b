/* row_stacks.c - see row_stacks.h. */
#include "engine/row_stacks.h"

#include "base/defer.h"
#include "replay/recording/recording_stacks.h"

#include <stdlib.h>

void allo_row_stacks_done(struct allo_row_stacks *stacks)
{
	allo_profile_done(&stacks->profile);
	allo_filter_done(&stacks->filter);
	free(stacks->stacks);
	free(stacks->is_kept);
}

/* One sample for each node, and one for the empty stack.  Its time is the number of its node, which
 * keeps samples distinct and survives the filter. */
static bool add_samples(struct allo_row_stacks *stacks, const allo_stack_id *by_node,
			struct allo_error *err)
{
	for (size_t i = 0; i < stacks->count; i++) {
		struct allo_when when = { .start_ns = i };

		if (i > 0 && by_node[i] == 0)
			continue;
		if (!allo_profile_add_timed_sample(&stacks->profile, by_node[i], 0, &when, err))
			return false;
	}
	return true;
}

static void take_samples(struct allo_row_stacks *stacks, const allo_stack_id *by_node)
{
	const struct allo_profile *profile = &stacks->profile;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		uint64_t node = profile->sample_times.at[i].start_ns;

		stacks->stacks[node] = profile->sample_stacks.at[i];
		stacks->is_kept[node] = true;
	}
	/* Stacks without recorded frames get the same verdict as the empty stack. */
	for (size_t i = 1; i < stacks->count; i++) {
		if (by_node[i] == 0)
			stacks->is_kept[i] = stacks->is_kept[0];
	}
}

bool allo_row_stacks_find(struct allo_row_stacks *stacks, struct allo_source *source,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) allo_stack_id *by_node = NULL;
	struct allo_profile *profile = &stacks->profile;

	stacks->filter.labels.count = 0; /* rows have labels; stacks do not */
	if (!allo_source_stacks(source, profile, &by_node, err))
		return false;
	stacks->count = source->recording.nodes.len;
	stacks->stacks = calloc(stacks->count, sizeof(*stacks->stacks));
	stacks->is_kept = calloc(stacks->count, sizeof(*stacks->is_kept));
	if (!stacks->stacks || !stacks->is_kept)
		return allo_fail_memory(err);
	if (!add_samples(stacks, by_node, err) ||
	    (!allo_filter_is_empty(&stacks->filter) &&
	     !allo_filter_apply(&stacks->filter, profile, err)))
		return false;
	take_samples(stacks, by_node);
	return true;
}
