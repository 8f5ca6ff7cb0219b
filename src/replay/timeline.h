/*
 * timeline.h - the heap over time: what was live, and what happened, in steps of equal length.
 *
 * Steps double when there would be too many, so that neither the length of a recording need be
 * known before nor does memory grow with it.  Maxima are exact.
 */
#ifndef ALLO_REPLAY_TIMELINE_H
#define ALLO_REPLAY_TIMELINE_H

#include "replay/recording.h"
#include "replay/window.h"

struct allo_step {
	uint64_t max_bytes, max_blocks; /* most that was live at once within it, each by itself */
	uint64_t min_bytes;
	uint64_t end_bytes, end_blocks; /* live when it ends */
	uint64_t allocations, frees;    /* a realloc is both */
	uint64_t alloc_bytes;
	uint64_t temporary_blocks;
};

struct allo_timeline {
	uint64_t from_ns, step_ns; /* where the first step begins; the length of each */
	uint64_t end_ns;           /* of the last event, or of the window */
	uint64_t peak_bytes, peak_blocks, peak_ns;
	ALLO_VEC(struct allo_step) steps;
};

/* At most so many steps, and at least half as many where the clock is fine enough. */
bool allo_timeline_of(struct allo_timeline *timeline, struct allo_recording *recording,
		      const struct allo_window *window, size_t most, struct allo_error *err);

void allo_timeline_done(struct allo_timeline *timeline);

#endif
