/*
 * follow.h - the heap of a running program, from the recording that it is writing.
 *
 * Opening replays the events so far.  Each step continues from there, and its cost depends on the
 * new events only.
 */
#ifndef ALLO_REPLAY_FOLLOW_H
#define ALLO_REPLAY_FOLLOW_H

#include "replay/heap.h"

/* Opens a raw recording, and its events up to now.  A packed one is an error: it never grows. */
bool allo_growing_events_open(struct allo_events *events, struct allo_recording *recording,
			      const char *path, const struct allo_progress *progress,
			      struct allo_error *err);

/* Continues with the events since then.  Events that threads write during the step are left for the
 * next one, so that no thread is ahead of another. */
bool allo_growing_events_step(struct allo_events *events, struct allo_error *err);

/* All zeros is closed.  It must not be moved. */
struct allo_follow {
	struct allo_recording recording;
	struct allo_heap heap; /* sites are stacks, or stacks with labels */
	/* To be set before opening: sites with different labels are told apart. */
	bool by_labels;

	/* Private. */
	struct allo_events events;
};

/* Opens a raw recording. */
bool allo_follow_open(struct allo_follow *follow, const char *path,
		      const struct allo_progress *progress, struct allo_error *err);

/* Applies the events up to now. */
bool allo_follow_step(struct allo_follow *follow, struct allo_error *err);

void allo_follow_close(struct allo_follow *follow);

#endif
