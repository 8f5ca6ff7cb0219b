/* window.c - see window.h. */
#include "replay/window.h"

#include "replay/summary.h"

bool allo_window_open(struct allo_window_events *events, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err)
{
	memset(events, 0, offsetof(struct allo_window_events, kept));
	if (window)
		events->window = *window;
	return allo_events_open(&events->events, recording, err);
}

void allo_window_close(struct allo_window_events *events)
{
	allo_events_close(&events->events);
}

/* How many events come before a time. */
static size_t count_before(const struct allo_event_span *span, uint64_t ns)
{
	size_t count = span->count;

	if (count == 0 || span->events[count - 1].ns < ns)
		return count;
	for (count = 0; span->events[count].ns < ns; count++)
		;
	return count;
}

/* What another thread does to a block of a wanted one's can only end it. */
static void keep_wanted(struct allo_window_events *events, struct allo_event_span *span)
{
	size_t kept = 0;

	for (size_t i = 0; i < span->count; i++) {
		struct allo_event event = span->events[i];

		if (!events->window.threads[event.stream]) {
			if (event.kind == ALLO_EVENT_ALLOC ||
			    event.kind == ALLO_EVENT_RESIZE_FAILED)
				continue;
			if (event.kind == ALLO_EVENT_RESIZE) {
				event.kind = ALLO_EVENT_FREE;
				event.pointer = event.old;
			}
		}
		events->kept[kept++] = event;
	}
	span->events = events->kept;
	span->count = kept;
}

/* Reads on; false at the end, which may be the window's. */
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
	if (window->threads)
		keep_wanted(events, rest);
	return true;
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
		events->count += span->count;
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
