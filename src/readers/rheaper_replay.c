/* rheaper_replay.c - see rheaper_replay.h. */
#include "readers/rheaper_replay.h"

/* A recording of ours as far as heaps want to know it: how many stacks, how many threads. */
static bool make_shape(struct allo_rheaper_replay *replay, struct allo_error *err)
{
	struct allo_recording *shape = &replay->shape;

	if (!allo_vec_cover(&shape->nodes, replay->stacks->sites.len))
		return allo_fail_memory(err);
	for (size_t i = 0; i < shape->nodes.len; i++)
		shape->nodes.at[i].flags = ALLO_NODE_KNOWN;
	shape->streams.len = replay->files->events.files.len;
	return true;
}

bool allo_rheaper_replay_open(struct allo_rheaper_replay *replay, struct allo_rheaper_files *files,
			      const struct allo_rheaper_stacks *stacks, struct allo_notes *notes,
			      struct allo_error *err)
{
	replay->shape = (struct allo_recording){ 0 };
	replay->files = files;
	replay->stacks = stacks;
	replay->notes = notes;
	allo_rheaper_start_over(files);
	return make_shape(replay, err) &&
	       allo_rheaper_events_open(&replay->events, files, notes, err);
}

void allo_rheaper_replay_close(struct allo_rheaper_replay *replay)
{
	allo_vec_done(&replay->shape.nodes);
	allo_rheaper_events_close(&replay->events);
}

struct allo_pos allo_rheaper_event_pos(const struct allo_rheaper_replay *replay, size_t event)
{
	size_t file = replay->span.events[event].stream;

	return allo_rheaper_pos(replay->files, &replay->files->events.files.at[file], 0,
				replay->span.places[event] + 1);
}

/* Finds the stack of each allocation. */
static void find_stacks(struct allo_rheaper_replay *replay)
{
	const struct allo_rheaper_span *span = &replay->span;

	for (size_t i = 0; i < span->count; i++) {
		const struct allo_rheaper_backtrace *backtrace;

		if (span->events[i].kind != ALLO_EVENT_ALLOC)
			continue;
		backtrace = allo_rheaper_stacks_find(replay->stacks, span->backtraces[i]);
		if (backtrace)
			span->events[i].stack = backtrace->site;
		else
			allo_note(replay->notes, ALLO_NOTE_MISSING_STACKS,
				  allo_rheaper_event_pos(replay, i));
	}
}

bool allo_rheaper_replay_next(struct allo_rheaper_replay *replay, struct allo_event_span *span,
			      struct allo_error *err)
{
	if (!allo_rheaper_events_next(&replay->events, &replay->span, err))
		return false;
	find_stacks(replay);
	*span = (struct allo_event_span){ replay->span.events, replay->span.count };
	return true;
}
