#include "analysis/same_stacks.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>

static bool frames_read_the_same(const struct allo_profile *profile, const struct allo_frame *a,
				 const struct allo_frame *b)
{
	if (a->module != b->module || a->line_count != b->line_count)
		return false;
	for (uint32_t i = 0; i < a->line_count; i++) {
		const struct allo_line *x = &profile->lines.at[a->first_line + i];
		const struct allo_line *y = &profile->lines.at[b->first_line + i];

		if (x->function != y->function || x->line != y->line)
			return false;
	}
	return true;
}

static uint64_t hash_frame(const struct allo_profile *profile, const struct allo_frame *frame)
{
	uint64_t hash = allo_hash_pair(frame->module, frame->line_count, allo_hash_seed());

	for (uint32_t i = 0; i < frame->line_count; i++) {
		const struct allo_line *line = &profile->lines.at[frame->first_line + i];

		hash = allo_hash_pair(line->function, line->line, hash);
	}
	return hash;
}

/* Finds for each frame the first one that prints the same. */
static bool find_same_frames(const struct allo_profile *profile, struct allo_map *map,
			     allo_frame_id *same)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];
		struct allo_probe probe;
		uint64_t hash;
		uint32_t id;

		same[i] = (allo_frame_id)i;
		if (frame->line_count == 0)
			continue;
		hash = hash_frame(profile, frame);
		probe = allo_map_probe(map, hash);
		while ((id = allo_map_next(map, &probe)) != 0 &&
		       !frames_read_the_same(profile, frame, &profile->frames.at[id]))
			;
		if (id != 0)
			same[i] = id;
		else if (!allo_map_put(map, hash, (uint32_t)i))
			return false;
	}
	return true;
}

/* The same for stacks: both the caller's stack and the frame must print the same. */
static bool find_same_stacks(const struct allo_profile *profile, const allo_frame_id *frames,
			     struct allo_map *map, allo_stack_id *same)
{
	const struct allo_stack *stacks = profile->stacks.at;

	for (size_t i = 1; i < profile->stacks.len; i++) {
		allo_stack_id parent = same[stacks[i].parent], id;
		allo_frame_id frame = frames[stacks[i].frame];
		uint64_t hash = allo_hash_pair(parent, frame, allo_hash_seed());
		struct allo_probe probe = allo_map_probe(map, hash);

		ALLO_ASSERT(stacks[i].parent < i && parent <= stacks[i].parent);
		while ((id = allo_map_next(map, &probe)) != 0 &&
		       (same[stacks[id].parent] != parent || frames[stacks[id].frame] != frame))
			;
		same[i] = id ? id : (allo_stack_id)i;
		if (id == 0 && !allo_map_put(map, hash, (uint32_t)i))
			return false;
	}
	return true;
}

allo_stack_id *allo_same_stacks(const struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_map_done) struct allo_map frame_map = { 0 };
	ALLO_DEFER(allo_map_done) struct allo_map stack_map = { 0 };
	ALLO_DEFER(allo_free_pointer)
	allo_frame_id *frames = calloc(profile->frames.len + 1, sizeof(*frames));
	allo_stack_id *same = calloc(profile->stacks.len + 1, sizeof(*same));

	if (frames && same && find_same_frames(profile, &frame_map, frames) &&
	    find_same_stacks(profile, frames, &stack_map, same))
		return same;
	free(same);
	allo_fail_memory(err);
	return NULL;
}
