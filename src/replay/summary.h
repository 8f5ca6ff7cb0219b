/*
 * summary.h - what a recording amounts to, in a handful of numbers.
 *
 * It takes one pass over all events; memory grows with the blocks that are live at once and with
 * the distinct stacks, not with the events.
 */
#ifndef ALLO_REPLAY_SUMMARY_H
#define ALLO_REPLAY_SUMMARY_H

#include "base/error.h"
#include "base/input.h"
#include "wire/layout.h"

/* Flat, so that it can be copied and compared.  Of a sampled recording, what was allocated, freed
 * and held is an estimate; reallocs are not known apart, since the block before need not be there.
 */
struct allo_summary {
	uint64_t events;                      /* all that were recorded */
	uint64_t allocations, resizes, frees; /* a realloc that succeeds is both of the first two */
	uint64_t failed_resizes;              /* reallocs that have left the block as it was */
	uint64_t unknown_frees;               /* of blocks that were not live */
	uint64_t marks;                       /* moments that the program has named */
	uint64_t own_events, own_units;       /* of the program's own */
	uint64_t total_bytes;                 /* allocated in all; the new size of each realloc */
	uint64_t peak_bytes, peak_blocks;     /* live when most bytes were */
	uint64_t peak_ns;                     /* when that was first so, from the start */
	uint64_t end_bytes, end_blocks;       /* never freed */
	uint64_t threads;                     /* that have recorded anything */
	uint64_t stacks;                      /* distinct ones that have allocated */
	uint64_t complete_allocations;        /* with all frames up to the outermost one, */
	uint64_t recorded_allocations;        /* of those that were recorded */
	uint64_t dropped_events;              /* could not be recorded */
	uint64_t lost_pages, missing_pages;   /* said by the writer; found by the reader */
	uint64_t duration_ns;                 /* from the start to the last known moment */
	uint64_t file_bytes;                  /* of the recording */
	enum allo_wire_end end;               /* how it ended */
	bool is_cut;                          /* the file ends before the recording does */
	struct allo_wire_counts counts;       /* what the runtime says about itself */
	struct allo_wire_sampling sampling;   /* what was recorded, and how much there was */
};

/* Whether there is more than was recorded. */
bool allo_summary_is_estimated(const struct allo_summary *summary);

/* Share of allocations whose stacks are known up to the outermost frame: 0 to 100. */
double allo_summary_complete_percent(const struct allo_summary *summary);

struct allo_live_blocks;
struct allo_recording;

/* The same of a recording whose events have been replayed; .stacks are those that `blocks` tells
 * apart, which may be by thread. */
void allo_summary_of_blocks(struct allo_summary *summary, const struct allo_recording *recording,
			    const struct allo_live_blocks *blocks, uint64_t events);

/* Reads a recording, raw or packed.  One that is damaged or not finished has a summary too, of what
 * there is.  `progress` may be NULL. */
bool allo_recording_summary(const char *path, struct allo_summary *summary,
			    const struct allo_progress *progress, struct allo_error *err);

#endif
