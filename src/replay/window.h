/*
 * window.h - the part of a recording that is asked for: a range of time, a thread.
 *
 * Its events are handed out as event_stream.h does, beginning with those before it, which make the
 * heap that the window starts with.
 */
#ifndef ALLO_REPLAY_WINDOW_H
#define ALLO_REPLAY_WINDOW_H

#include "replay/event_stream.h"

/* All zeros: everything. */
struct allo_window {
	uint64_t from_ns; /* what was allocated before counts as live, but not as allocated */
	uint64_t to_ns;   /* events from here on are not looked at; 0: none */
	/* By stream, as the recording has them: whether what it allocates is wanted, whoever frees
	 * it; NULL: of all.  It belongs to somebody else. */
	const bool *threads;
};

struct allo_block_owners;

/* All zeros: nothing to close. */
struct allo_window_events {
	struct allo_events events; /* .count is that of events read, within the window or not */
	uint64_t count; /* handed out of those within the window that the program has made */

	/* Private from here on. */
	struct allo_window window;
	struct allo_event_span rest;      /* still to be handed out */
	bool is_inside;                   /* the window has begun */
	struct allo_block_owners *owners; /* of raw recordings, if threads are picked; or NULL */
	struct allo_event kept[ALLO_EVENTS_AT_ONCE];
};

/* The recording stays open as long.  `window` may be NULL for everything. */
bool allo_window_open(struct allo_window_events *events, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err);

/* The next events, which stay until the next call; `is_inside` tells whether they are within the
 * window or before it.  False at the end and at failure. */
bool allo_window_next(struct allo_window_events *events, struct allo_event_span *span,
		      bool *is_inside, struct allo_error *err);

/* Where a window ends, which may be NULL, in a recording whose last event is at `last_ns`. */
uint64_t allo_window_end(const struct allo_window *window, const struct allo_recording *recording,
			 uint64_t last_ns);

/* When most was live, as replaying the window has found.  Packing has rounded times, but not that
 * of the recording's peak: if it is the same one, which that of a part or of what is damaged need
 * not be. */
uint64_t allo_window_peak_ns(const struct allo_window *window,
			     const struct allo_recording *recording, uint64_t peak_bytes,
			     uint64_t found_ns);

void allo_window_close(struct allo_window_events *events);

#endif
