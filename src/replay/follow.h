/*
 * follow.h - the heap of a program while its recording is being written.
 *
 * Opening replays what there is; each step goes on from there and costs what has come since, not
 * what was before.
 */
#ifndef ALLO_REPLAY_FOLLOW_H
#define ALLO_REPLAY_FOLLOW_H

#include "replay/heap.h"

/* All zeros: nothing to close.  It must not be moved. */
struct allo_follow {
	struct allo_recording recording;
	struct allo_heap heap; /* sites are stacks */

	/* Private. */
	struct allo_events events;
};

/* A raw recording; fails for a packed one, to which nothing comes any more. */
bool allo_follow_open(struct allo_follow *follow, const char *path,
		      const struct allo_progress *progress, struct allo_error *err);

/* Takes in what was written up to now.  Where the process still runs, what its threads write while
 * this looks is left for the next step, so that none is ahead of another. */
bool allo_follow_step(struct allo_follow *follow, struct allo_error *err);

void allo_follow_close(struct allo_follow *follow);

#endif
