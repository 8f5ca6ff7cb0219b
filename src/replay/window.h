/*
 * window.h - a part of a recording: a range of time, some threads.
 *
 * It is read like event_stream.h.  The events before the window come first: they build the heap
 * that the window starts with.
 */
#ifndef ALLO_REPLAY_WINDOW_H
#define ALLO_REPLAY_WINDOW_H

#include "replay/events/event_stream.h"

/* All zeros: the whole recording. */
struct allo_window {
	uint64_t from_ns; /* blocks allocated before count as live, but not as allocated */
	uint64_t to_ns;   /* exclusive; 0 for the end of the recording */
	/* By stream: whether blocks that it allocates are wanted, even if other threads free them.
	 * NULL for all.  Owned by the caller. */
	const bool *threads;
};

struct allo_block_owners;

/* All zeros is closed. */
struct allo_window_events {
	struct allo_events events; /* .count includes events outside the window */
	uint64_t count;            /* events of the program inside the window so far */

	/* Private from here on. */
	struct allo_window window;
	struct allo_event_span rest;      /* read, but not yet returned */
	bool is_inside;                   /* the window has begun */
	struct allo_block_owners *owners; /* of a raw recording, if threads are selected; or NULL */
	struct allo_event kept[ALLO_EVENTS_AT_ONCE];
};

/* The recording must stay open as long.  NULL stands for the whole recording. */
bool allo_window_open(struct allo_window_events *events, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err);

/* The next events, valid until the next call; `is_inside` is false for those before the window.
 * False at the end and on failure. */
bool allo_window_next(struct allo_window_events *events, struct allo_event_span *span,
		      bool *is_inside, struct allo_error *err);

/* The end of a window, which may be NULL, in a recording whose last event is at `last_ns`. */
uint64_t allo_window_end(const struct allo_window *window, const struct allo_recording *recording,
			 uint64_t last_ns);

/* The time of the peak.  Packing rounds times, but the trailer has the exact time of the peak of
 * the whole recording.  It is used if the replay of the window found the same peak. */
uint64_t allo_window_peak_ns(const struct allo_window *window,
			     const struct allo_recording *recording, uint64_t peak_bytes,
			     uint64_t found_ns);

void allo_window_close(struct allo_window_events *events);

#endif
