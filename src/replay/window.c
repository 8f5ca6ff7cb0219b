/*
 * window.c - cuts spans of events at the borders of the range, and drops blocks of other threads.
 */
#include "replay/window.h"

#include "base/assert.h"
#include "replay/live_blocks.h"
#include "replay/summary.h"

#include <stdlib.h>

/* The allocating thread of each block, from the events of all threads.  A late free may refer to a
 * block that another thread had at the same address.  A packed recording does not need it: its
 * blocks have names. */
struct allo_block_owners {
	struct allo_live_blocks blocks; /* with streams in place of stacks */
	struct allo_outcomes outcomes;
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
};

/* Times. */

/* The number of events before a time. */
static size_t count_before(const struct allo_event_span *span, uint64_t ns)
{
	size_t count = span->count;

	if (count == 0 || span->events[count - 1].ns < ns)
		return count;
	for (count = 0; span->events[count].ns < ns; count++)
		;
	return count;
}

/* Threads. */

static bool new_owners(struct allo_window_events *events, const struct allo_recording *recording,
		       struct allo_error *err)
{
	/* live_blocks.c needs only these counts; streams take the place of stacks. */
	struct allo_recording shape = { .streams.len = recording->streams.len,
					.nodes.len = recording->streams.len };

	events->owners = calloc(1, sizeof(*events->owners));
	if (!events->owners)
		return allo_fail_memory(err);
	return allo_live_blocks_init(&events->owners->blocks, &shape, err);
}

static bool find_owners(struct allo_block_owners *owners, const struct allo_event_span *span,
			struct allo_error *err)
{
	for (size_t i = 0; i < span->count; i++) {
		owners->events[i] = span->events[i];
		owners->events[i].stack = span->events[i].stream;
		owners->events[i].size = 0;
	}
	return allo_live_blocks_apply(&owners->blocks,
				      &(struct allo_event_span){ owners->events, span->count },
				      &owners->outcomes, err);
}

/* Whether an event ends a block of a wanted thread.  A block without a known owner counts as one of
 * the thread of the event. */
static bool may_end(const struct allo_window_events *events, const struct allo_event *event,
		    size_t index)
{
	const struct allo_outcome *outcome;

	if (!events->owners)
		return true;
	outcome = &events->owners->outcomes.at[index];
	return events->window
		.threads[outcome->flags & ALLO_OUTCOME_ENDED ? outcome->stack : event->stream];
}

/* Whether an event belongs to the window.  A realloc by another thread of a wanted block becomes a
 * free. */
static bool is_kept(const struct allo_window_events *events, struct allo_event *event, size_t index)
{
	bool is_wanted = events->window.threads[event->stream];

	if (event->kind == ALLO_EVENT_LABELS || event->kind == ALLO_EVENT_MARK)
		return true;
	if (event->kind == ALLO_EVENT_ALLOC || event->kind == ALLO_EVENT_RESIZE_FAILED ||
	    event->kind == ALLO_EVENT_OWN)
		return is_wanted;
	if (!may_end(events, event, index)) {
		event->old = 0; /* the block of another thread becomes one of this thread */
		return is_wanted && event->kind == ALLO_EVENT_RESIZE;
	}
	if (event->kind == ALLO_EVENT_RESIZE && !is_wanted) {
		event->kind = ALLO_EVENT_FREE;
		event->pointer = event->old;
	}
	return true;
}

static bool keep_wanted(struct allo_window_events *events, struct allo_event_span *span,
			struct allo_error *err)
{
	size_t kept = 0;

	if (events->owners && !find_owners(events->owners, span, err))
		return false;
	for (size_t i = 0; i < span->count; i++) {
		events->kept[kept] = span->events[i];
		kept += is_kept(events, &events->kept[kept], i);
	}
	ALLO_ASSERT(kept <= span->count);
	*span = (struct allo_event_span){ events->kept, kept };
	return true;
}

/* Reading. */

bool allo_window_open(struct allo_window_events *events, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err)
{
	ALLO_ASSERT(!window || window->to_ns == 0 || window->from_ns <= window->to_ns);
	memset(events, 0, offsetof(struct allo_window_events, kept));
	if (window)
		events->window = *window;
	if (events->window.threads && !recording->is_packed && !new_owners(events, recording, err))
		return false;
	if (!allo_events_open(&events->events, recording, err))
		return false;
	if (events->window.to_ns == 0)
		allo_events_read_ahead(&events->events);
	return true;
}

void allo_window_close(struct allo_window_events *events)
{
	allo_events_close(&events->events);
	if (events->owners)
		allo_live_blocks_done(&events->owners->blocks);
	free(events->owners);
	events->owners = NULL;
}

/* Reads events; false at the end of the recording or of the window. */
static bool read_more(struct allo_window_events *events, struct allo_error *err)
{
	const struct allo_window *window = &events->window;
	struct allo_event_span *rest = &events->rest;
	size_t count;

	if (!allo_events_next(&events->events, rest, err))
		return false;
	if (window->to_ns > 0) {
		count = count_before(rest, window->to_ns);
		if (count == 0)
			return false;
		rest->count = count;
	}
	return !window->threads || keep_wanted(events, rest, err);
}

bool allo_window_next(struct allo_window_events *events, struct allo_event_span *span,
		      bool *is_inside, struct allo_error *err)
{
	size_t before;

	while (events->rest.count == 0) {
		if (!read_more(events, err))
			return false;
	}
	*span = events->rest;
	before = events->is_inside ? 0 : count_before(span, events->window.from_ns);
	if (before > 0)
		span->count = before;
	else
		events->is_inside = true;
	*is_inside = events->is_inside;
	if (*is_inside)
		events->count += span->count -
				 (events->events.silent > 0 ? allo_span_silent(span) : 0);
	ALLO_ASSERT(span->count <= events->rest.count);
	events->rest.events += span->count;
	events->rest.count -= span->count;
	return true;
}

uint64_t allo_window_end(const struct allo_window *window, const struct allo_recording *recording,
			 uint64_t last_ns)
{
	uint64_t end_ns = allo_recording_duration(recording);

	if (end_ns < last_ns)
		end_ns = last_ns;
	return window && window->to_ns > 0 && window->to_ns < end_ns ? window->to_ns : end_ns;
}

uint64_t allo_window_peak_ns(const struct allo_window *window,
			     const struct allo_recording *recording, uint64_t peak_bytes,
			     uint64_t found_ns)
{
	const struct allo_summary *stored = recording->stored_summary;
	bool is_whole = window->from_ns == 0 && window->to_ns == 0 && !window->threads;

	return is_whole && stored && stored->peak_bytes == peak_bytes ? stored->peak_ns : found_ns;
}
