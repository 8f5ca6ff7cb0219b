/* deep_sums.c - adds samples to stacks, and stacks to their callers. */
#include "analysis/deep_sums.h"

#include "base/assert.h"
#include "profile/naming.h"

#include <stdlib.h>

void allo_deep_sums_done(struct allo_deep_sums *sums)
{
	free(sums->is_used);
	free(sums->own);
	free(sums->inner);
}

static bool make_room(struct allo_deep_sums *sums, size_t stacks, struct allo_error *err)
{
	size_t count = stacks ? stacks : 1;

	*sums = (struct allo_deep_sums){
		.is_used = calloc(count, sizeof(*sums->is_used)),
		.own = calloc(count, sizeof(*sums->own)),
		.inner = calloc(count, sizeof(*sums->inner)),
	};
	if (!sums->is_used || !sums->own || !sums->inner)
		return allo_fail_memory(err);
	sums->is_used[0] = true;
	return true;
}

/* Marks a stack and its callers, and adds their calls as top.h does: innermost first. */
static bool use_stack(struct allo_deep_sums *sums, struct allo_top *top,
		      const struct allo_profile *profile, allo_stack_id stack)
{
	for (; !sums->is_used[stack]; stack = profile->stacks.at[stack].parent) {
		allo_frame_id id = profile->stacks.at[stack].frame;
		uint32_t count = allo_frame_call_count(&profile->frames.at[id]);

		sums->is_used[stack] = true;
		for (uint32_t call = 0; call < count; call++) {
			if (!allo_top_look_up(top, profile, id, call))
				return false;
		}
	}
	return true;
}

/* Callees have higher ids than their callers. */
static void add_to_callers(struct allo_deep_sums *sums, const struct allo_profile *profile)
{
	for (size_t i = profile->stacks.len; i-- > 1;) {
		struct allo_values *caller = &sums->inner[profile->stacks.at[i].parent];

		allo_values_add(caller, &sums->inner[i]);
		allo_values_add(caller, &sums->own[i]);
	}
}

bool allo_deep_sums_init(struct allo_deep_sums *sums, struct allo_top *top,
			 const struct allo_profile *profile,
			 const struct allo_metric_columns *columns, size_t first,
			 struct allo_error *err)
{
	const allo_stack_id *stacks = profile->sample_stacks.at;
	size_t count = allo_profile_sample_count(profile);

	if (!make_room(sums, profile->stacks.len, err))
		return false;
	for (size_t i = first; i < count; i++) {
		if (allo_top_counts(top, stacks[i]) &&
		    !use_stack(sums, top, profile,
			       allo_attribution_site(top->attribution, profile, stacks[i])))
			return allo_fail_memory(err);
	}
	for (size_t i = first; i < count; i++) {
		struct allo_values values = allo_values_of(profile, columns, i);
		allo_stack_id site = allo_attribution_site(top->attribution, profile, stacks[i]);

		if (allo_top_counts(top, stacks[i]))
			allo_values_add(&sums->own[site], &values);
	}
	add_to_callers(sums, profile);
	return true;
}
