/* branch.c - copies the samples of a branch into the dataset, cut at its root. */
#include "view/branch.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>
#include <string.h>

/* Sets the values of samples to 0, unless their stacks are wanted. */
static void keep_stacks(struct allo_profile *profile, const bool *is_wanted)
{
	size_t width = profile->metrics.len;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (!is_wanted[profile->sample_stacks.at[i]])
			memset(profile->values.at + i * width, 0,
			       width * sizeof(*profile->values.at));
	}
}

enum { OFF = UINT32_MAX }; /* the stack leaves the path */

/* How many calls of the path are left behind after the calls of a frame, from the outermost on. */
static uint32_t follow(const struct allo_dataset *dataset, allo_frame_id id, uint32_t passed,
		       const allo_request_numbers *root)
{
	uint32_t call = allo_frame_call_count(&dataset->profile.frames.at[id]);

	while (call-- > 0 && passed < root->len) {
		if (allo_call_number(&dataset->calls, id, call) != root->at[passed])
			return OFF;
		passed++;
	}
	return passed;
}

static bool select_root(struct allo_dataset *dataset, const allo_request_numbers *root,
			struct allo_error *err)
{
	struct allo_profile *profile = &dataset->profile;
	size_t count = profile->stacks.len + 1;
	ALLO_DEFER(allo_free_pointer) uint32_t *passed = calloc(count, sizeof(*passed));
	ALLO_DEFER(allo_free_pointer) bool *is_wanted = calloc(count, sizeof(*is_wanted));

	if (!passed || !is_wanted)
		return allo_fail_memory(err);
	for (size_t i = 1; i < profile->stacks.len; i++) {
		const struct allo_stack *stack = &profile->stacks.at[i];

		passed[i] = passed[stack->parent] == OFF
				    ? OFF
				    : follow(dataset, stack->frame, passed[stack->parent], root);
		is_wanted[i] = passed[i] == root->len;
	}
	keep_stacks(profile, is_wanted);
	return true;
}

/* Functions. */

/* The part of a frame from call `first` up to `end`. */
static allo_frame_id part_of(struct allo_profile *profile, allo_frame_id id, uint32_t first,
			     uint32_t end, struct allo_error *err)
{
	struct allo_frame frame = profile->frames.at[id];
	uint32_t count = end - first;
	ALLO_DEFER(allo_free_pointer) struct allo_line *lines = NULL;

	if (count == allo_frame_call_count(&frame))
		return id;
	/* A copy, since adding a frame moves the table of lines. */
	lines = calloc(count, sizeof(*lines));
	if (!lines)
		return allo_fail_memory(err);
	memcpy(lines, profile->lines.at + frame.first_line + first, count * sizeof(*lines));
	return allo_profile_add_frame(profile, &frame, lines, count, err);
}

/* The index of the outermost or innermost call of a function in a frame, or OFF. */
static uint32_t find_call(const struct allo_dataset *dataset, allo_frame_id id, uint32_t number,
			  bool is_innermost)
{
	uint32_t count = allo_frame_call_count(&dataset->profile.frames.at[id]);

	for (uint32_t k = 0; k < count; k++) {
		uint32_t call = is_innermost ? k : count - 1 - k;

		if (allo_call_number(&dataset->calls, id, call) == number)
			return call;
	}
	return OFF;
}

/* The stacks of callees begin with the outermost call of the function; those of callers end with
 * the innermost one.  `cut` gets the new stack of each stack, or 0 if it lacks the function. */
static bool cut_stacks(struct allo_dataset *dataset, const struct allo_profile *old,
		       uint32_t number, bool callers, allo_stack_id *cut, struct allo_error *err)
{
	struct allo_profile *profile = &dataset->profile;
	ALLO_DEFER(allo_free_pointer)
	allo_stack_id *whole = calloc(old->stacks.len + 1, sizeof(*whole));

	if (!whole)
		return allo_fail_memory(err);
	for (size_t i = 1; i < old->stacks.len && !allo_failed(err); i++) {
		const struct allo_stack stack = old->stacks.at[i];
		uint32_t call = find_call(dataset, stack.frame, number, callers);
		uint32_t end = allo_frame_call_count(&profile->frames.at[stack.frame]);

		if (callers) {
			whole[i] = allo_profile_add_stack(profile, whole[stack.parent], stack.frame,
							  err);
			cut[i] = cut[stack.parent];
			if (call != OFF)
				cut[i] = allo_profile_add_stack(
					profile, whole[stack.parent],
					part_of(profile, stack.frame, call, end, err), err);
		} else if (cut[stack.parent]) {
			cut[i] = allo_profile_add_stack(profile, cut[stack.parent], stack.frame,
							err);
		} else if (call != OFF) {
			cut[i] = allo_profile_add_stack(
				profile, 0, part_of(profile, stack.frame, 0, call + 1, err), err);
		}
	}
	return !allo_failed(err);
}

static bool move_samples(struct allo_profile *profile, const struct allo_profile *old,
			 const allo_stack_id *cut, struct allo_error *err)
{
	size_t width = profile->metrics.len;

	for (size_t i = 0; i < old->sample_stacks.len; i++) {
		allo_stack_id stack = cut[old->sample_stacks.at[i]];

		if (stack &&
		    !allo_profile_add_values(profile, stack, allo_profile_labels_of(old, i),
					     old->values.at + i * width, err))
			return false;
	}
	return true;
}

static bool select_pivot(struct allo_dataset *dataset, uint32_t number, bool callers,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	allo_stack_id *cut = calloc(dataset->profile.stacks.len + 1, sizeof(*cut));
	const struct allo_profile *old;

	if (!cut)
		return allo_fail_memory(err);
	old = allo_dataset_take_samples(dataset);
	return cut_stacks(dataset, old, number, callers, cut, err) &&
	       allo_call_numbers_cover(&dataset->calls, &dataset->profile, err) &&
	       move_samples(&dataset->profile, old, cut, err);
}

bool allo_branch_select(struct allo_dataset *dataset, const struct allo_request *request,
			struct allo_error *err)
{
	if (request->root.len > 0 && !select_root(dataset, &request->root, err))
		return false;
	if (request->pivot == ALLO_NOT_GIVEN)
		return true;
	if (request->pivot == 0 || request->pivot >= dataset->calls.at.len)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no call %llu",
				 (unsigned long long)request->pivot);
	return select_pivot(dataset, (uint32_t)request->pivot, request->invert, err);
}
