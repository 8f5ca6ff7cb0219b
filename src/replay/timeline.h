/*
 * timeline.h - the heap over time: live memory and activity in steps of equal length.
 *
 * The step length doubles when there would be too many steps, so the length of the recording need
 * not be known, and memory use is bounded.  Maxima are exact.
 */
#ifndef ALLO_REPLAY_TIMELINE_H
#define ALLO_REPLAY_TIMELINE_H

#include "profile/profile.h"
#include "replay/live_blocks.h"
#include "replay/window.h"

/* The length of a step at first. */
static const uint64_t allo_timeline_first_ns = 1000;

struct allo_timeline_step {
	uint64_t max_bytes, max_blocks; /* maxima within the step, each of its own time */
	uint64_t min_bytes;
	uint64_t end_bytes, end_blocks; /* live at the end of the step */
	uint64_t allocations,
		frees; /* a realloc counts as both; estimates are rounded such that they add up */
	uint64_t alloc_bytes;
	uint64_t temporary_blocks;
};

/* Set `most`, and `weighing` of a sampled recording; all else is zero at first. */
struct allo_timeline {
	size_t most;                   /* steps; a long recording gets at least half as many */
	struct allo_weighing weighing; /* numbers are estimates if it is sampled */
	uint64_t from_ns, step_ns;     /* start of the first step; length of each, which may be set
					  to start with */
	uint64_t end_ns;               /* of the window, or of the last event */
	uint64_t peak_bytes, peak_blocks, peak_ns; /* of the window */
	ALLO_VEC(struct allo_timeline_step) steps; /* of equal length, but for the last */

	/* Private from here on. */
	uint64_t bytes, blocks; /* live now */
	uint64_t next_ns;       /* end of the current step; UINT64_MAX if it has none */
	struct allo_weighed_totals weighed;
	bool has_begun;
};

/* Adds replayed events.  Events before the window change only the live memory. */
bool allo_timeline_add(struct allo_timeline *timeline, const struct allo_event_span *span,
		       const struct allo_outcomes *outcomes, bool is_inside,
		       struct allo_error *err);

/* Adds the end or the beginning of a single block, for timelines of some blocks only. */
bool allo_timeline_end_block(struct allo_timeline *timeline, uint64_t ns,
			     const struct allo_outcome *ended, bool is_inside,
			     struct allo_error *err);
bool allo_timeline_add_block(struct allo_timeline *timeline, const struct allo_event *event,
			     bool is_inside, struct allo_error *err);

/* Goes on to the step of a time inside the window. */
bool allo_timeline_pass(struct allo_timeline *timeline, uint64_t ns, struct allo_error *err);

/* Call it after the last event. */
bool allo_timeline_end(struct allo_timeline *timeline, uint64_t end_ns, struct allo_error *err);

/* Joins steps of a complete timeline until it is as if `most` had been set to this number, which is
 * not larger than it was. */
void allo_timeline_coarsen(struct allo_timeline *timeline, size_t most);

/* The time from the start to the last allocations, at most `duration_ns`.  A program that sleeps
 * before it exits neither starts nor grows meanwhile. */
uint64_t allo_timeline_active_ns(const struct allo_timeline *timeline, uint64_t duration_ns);

/* The time until which `part` of `parts` equal parts of the allocations are made. */
uint64_t allo_timeline_part_ns(const struct allo_timeline *timeline, unsigned part, unsigned parts);

void allo_timeline_done(struct allo_timeline *timeline);

/* Makes the timeline of a window.  NULL stands for the whole recording. */
bool allo_timeline_of(struct allo_timeline *timeline, struct allo_recording *recording,
		      const struct allo_window *window, struct allo_error *err);

/* Steps for a page. */
enum { ALLO_PAGE_STEPS = 512 };

/* Steps for a profile's history: finer than any screen, and small next to the rest of a profile. */
enum { ALLO_HISTORY_STEPS = 1000 };

/* Adds the bytes and blocks live at the end of each step, and at the peak, to a profile. */
bool allo_timeline_add_history(const struct allo_timeline *timeline, struct allo_profile *profile,
			       struct allo_error *err);

#endif
