/*
 * rheaper_replay.h - the events of a recording of rheaper's as heap.h and live_blocks.h take them.
 *
 * Blocks and stacks are counted as in recordings of our own; each file of events is a thread, and
 * a site is a stack.
 */
#ifndef ALLO_READERS_RHEAPER_REPLAY_H
#define ALLO_READERS_RHEAPER_REPLAY_H

#include "readers/rheaper_events.h"
#include "readers/rheaper_stacks.h"

/* In the memory of the heap: the events are within.  All zeros: nothing to close. */
struct allo_rheaper_replay {
	struct allo_recording shape; /* a recording that has as many stacks and threads */
	struct allo_rheaper_events events;
	struct allo_rheaper_span span; /* that was handed out last */

	/* Private from here on. */
	struct allo_rheaper_files *files;
	const struct allo_rheaper_stacks *stacks;
	struct allo_notes *notes;
};

/* Notes what is odd about the events.  All of it stays as long. */
bool allo_rheaper_replay_open(struct allo_rheaper_replay *replay, struct allo_rheaper_files *files,
			      const struct allo_rheaper_stacks *stacks, struct allo_notes *notes,
			      struct allo_error *err);

/* The next events, which stay until the next call.  False at the end and at failure. */
bool allo_rheaper_replay_next(struct allo_rheaper_replay *replay, struct allo_event_span *span,
			      struct allo_error *err);

/* Where an event of the last span is. */
struct allo_pos allo_rheaper_event_pos(const struct allo_rheaper_replay *replay, size_t event);

void allo_rheaper_replay_close(struct allo_rheaper_replay *replay);

#endif
