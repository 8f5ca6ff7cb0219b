/* row_stacks.c - see row_stacks.h. */
#include "cli/row_stacks.h"

#include "base/defer.h"
#include "replay/recording_stacks.h"

#include <stdlib.h>

void allo_row_stacks_done(struct allo_row_stacks *stacks)
{
	allo_profile_done(&stacks->profile);
	allo_filter_done(&stacks->filter);
	free(stacks->stacks);
	free(stacks->is_kept);
}

bool allo_row_stacks_are_filtered(const struct allo_common *common)
{
	return common->focus.count > 0 || common->ignore.count > 0;
}

/* A sample for each node, and for no node at all.  What makes each one different is its time, where
 * the number of its node goes: filters keep that. */
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
	/* Of those whose frames are not in the recording as much is known as of none. */
	for (size_t i = 1; i < stacks->count; i++) {
		if (by_node[i] == 0)
			stacks->is_kept[i] = stacks->is_kept[0];
	}
}

bool allo_row_stacks_find(struct allo_row_stacks *stacks, const struct allo_common *common,
			  struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) allo_stack_id *by_node = NULL;
	struct allo_profile *profile = &stacks->profile;

	profile->meta.format = "allo";
	if (!allo_common_filter(common, true, &stacks->filter, err))
		return false;
	stacks->filter.labels.count = 0; /* they are those of rows: row_filter.h */
	if (!allo_profile_from_stacks(profile, recording, &by_node, err) ||
	    !allo_common_name(common, profile, NULL, err))
		return false;
	stacks->count = recording->nodes.len;
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
