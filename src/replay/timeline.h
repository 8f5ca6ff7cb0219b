/*
 * timeline.h - the heap over time: what was live, and what happened, in steps of equal length.
 *
 * Steps double when there would be too many, so that neither the length of a recording need be
 * known before nor does memory grow with it.  Maxima are exact.
 */
#ifndef ALLO_REPLAY_TIMELINE_H
#define ALLO_REPLAY_TIMELINE_H

#include "profile/profile.h"
#include "replay/live_blocks.h"
#include "replay/window.h"

struct allo_timeline_step {
	uint64_t max_bytes, max_blocks; /* most that was live at once within it, each by itself */
	uint64_t min_bytes;
	uint64_t end_bytes, end_blocks; /* live when it ends */
	uint64_t allocations, frees;    /* a realloc is both; rounded such that they add up */
	uint64_t alloc_bytes;
	uint64_t temporary_blocks;
};

/* All zeros but for `most` and perhaps `weighing`: ready for use. */
struct allo_timeline {
	size_t most; /* steps; at least half as many are made of a long recording */
	struct allo_weighing weighing; /* of the recording: numbers are estimates if it is one */
	uint64_t from_ns, step_ns;     /* where the first step begins; the length of each */
	uint64_t end_ns;               /* of the window, or of the last event */
	uint64_t peak_bytes, peak_blocks, peak_ns; /* when most bytes were live within it */
	ALLO_VEC(struct allo_timeline_step) steps; /* all of the same length but the last */

	/* Private from here on. */
	uint64_t bytes, blocks; /* live now */
	uint64_t next_ns;       /* where the current step ends; UINT64_MAX: nowhere */
	struct allo_weighed_totals weighed;
	bool has_begun;
};

/* Adds events that have been replayed; those before the window only make what is live. */
bool allo_timeline_add(struct allo_timeline *timeline, const struct allo_event_span *span,
		       const struct allo_outcomes *outcomes, bool is_inside,
		       struct allo_error *err);

/* To be called behind the last event. */
bool allo_timeline_end(struct allo_timeline *timeline, uint64_t end_ns, struct allo_error *err);

void allo_timeline_done(struct allo_timeline *timeline);

/* That of a window of a recording.  `window` may be NULL for everything. */
bool allo_timeline_of(struct allo_timeline *timeline, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err);

/* Steps for a profile's history: finer than any screen, and small next to the rest of a profile. */
enum { ALLO_HISTORY_STEPS = 1000 };

/* Adds the bytes and blocks live at the end of each step, and at the peak, to a profile. */
bool allo_timeline_add_history(const struct allo_timeline *timeline, struct allo_profile *profile,
			       struct allo_error *err);

#endif
