/* window_heap.c - decides whether building a log pays, and undoes a log that fails. */
#include "engine/window_heap.h"

#include "base/defer.h"
#include "engine/cache/log_cache.h"
#include "replay/packed/stored_index.h"

/* Making a log takes about as long as two replays of the whole recording.  A window that ends in
 * the first part of this many is replayed faster, and quickly enough. */
enum { EARLY_PARTS = 4 };

static bool is_early(const struct allo_recording *recording, const struct allo_window *window)
{
	return window->to_ns > 0 &&
	       window->to_ns < allo_recording_duration(recording) / EARLY_PARTS;
}

static bool is_partial(const struct allo_window *window)
{
	return window->from_ns > 0 || window->to_ns > 0 || window->threads;
}

/* Takes the heap from the log; false if that fails. */
static bool answer(struct allo_heap *heap, struct allo_recording *recording,
		   struct allo_replay *replay, struct allo_error *err)
{
	const struct allo_heap_options options = { .window = replay->window,
						   .by_thread = replay->by_thread,
						   .keeps_before = replay->at == ALLO_AT_CHANGE,
						   .keeps_first = replay->keeps_first,
						   .timeline = replay->timeline,
						   .marks = replay->marks,
						   .wants_births = replay->take_live != NULL };
	ALLO_DEFER(allo_cached_log_done) struct allo_cached_log cached = { 0 };

	/* The heap of a whole recording has a cache of its own, unless there is an index. */
	bool may_build = is_partial(&replay->window) && !is_early(recording, &replay->window);

	/* A log does not have the sums of a bounded recording. */
	if (recording->earlier && !is_partial(&replay->window))
		return false;
	return allo_cached_log_get(&cached, recording, replay->keeps_first, may_build, err) &&
	       allo_change_log_answers(&cached.log, &options) &&
	       allo_change_log_heap(&cached.log, &options, heap, &replay->heap_events, err);
}

/* A timeline or marks that were partly filled. */
static void clear(struct allo_replay *replay, size_t most)
{
	if (replay->timeline) {
		allo_timeline_done(replay->timeline);
		*replay->timeline = (struct allo_timeline){ .most = most };
	}
	if (replay->marks)
		replay->marks->list.len = 0;
}

bool allo_window_heap(struct allo_heap *heap, struct allo_recording *recording,
		      struct allo_replay *replay)
{
	struct allo_gaps gaps = recording->gaps;
	size_t most = replay->timeline ? replay->timeline->most : 0;
	struct allo_error unused = { 0 };

	if (!replay->use_cache || replay->heap || replay->observer ||
	    (!is_partial(&replay->window) && !allo_recording_has_index(recording)))
		return false;
	if (answer(heap, recording, replay, &unused)) {
		recording->gaps.missing_stacks += heap->blocks.missing_stacks;
		replay->heap = heap;
		return true;
	}
	/* The replay counts gaps again, and reports failures. */
	recording->gaps = gaps;
	allo_heap_done(heap);
	*heap = (struct allo_heap){ 0 };
	clear(replay, most);
	return false;
}
