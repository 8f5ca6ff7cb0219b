/*
 * summary.h - the totals of a recording.
 *
 * They take one pass over all events.  Memory use grows with the number of live blocks and of
 * distinct stacks.
 */
#ifndef ALLO_REPLAY_SUMMARY_H
#define ALLO_REPLAY_SUMMARY_H

#include "base/error.h"
#include "base/io/input.h"
#include "replay/recording/resident.h"
#include "wire/layout.h"

/* Flat, so that it can be copied and compared.  Of a sampled recording, allocations, frees and live
 * memory are estimates, and reallocs count as an allocation and a free, since the old block may not
 * be recorded. */
struct allo_summary {
	uint64_t events;                      /* recorded events */
	uint64_t allocations, resizes, frees; /* a realloc that succeeds is also an allocation */
	uint64_t failed_resizes;              /* reallocs that left the block unchanged */
	uint64_t unknown_frees;               /* of blocks that were not live */
	uint64_t marks;                       /* see marks.h */
	uint64_t own_events, own_units;       /* events of the program */
	uint64_t total_bytes;                 /* allocated; a realloc counts with its new size */
	uint64_t peak_bytes, peak_blocks;     /* live when most bytes were live */
	uint64_t peak_ns;                     /* first time of the peak, since the start */
	uint64_t end_bytes, end_blocks;       /* never freed */
	uint64_t threads;                     /* threads with events */
	uint64_t stacks;                      /* distinct stacks with allocations */
	uint64_t complete_allocations;        /* with all frames up to the outermost, */
	uint64_t recorded_allocations;        /* out of the recorded ones */
	uint64_t dropped_events;              /* lost by the runtime */
	uint64_t lost_pages, missing_pages;   /* lost by the writer; found missing by the reader */
	uint64_t written_pages;               /* by the writer; 0 in older packed recordings */
	uint64_t duration_ns;                 /* from the start to the last known time */
	uint64_t file_bytes;                  /* size of the file */
	enum allo_wire_end end;               /* the way the recording ended */
	bool is_cut;                          /* the file ends before the recording does */
	struct allo_wire_counts counts;       /* of the runtime */
	struct allo_wire_sampling sampling;   /* mode, interval and totals of sampling */
	struct allo_wire_overhead overhead;   /* of sampling with --max-overhead */
	struct allo_wire_losses losses;       /* reasons of dropped events, and other losses */
	uint64_t missing_allocators;          /* that are not recorded, besides libc's */
	bool has_own_allocator;               /* the program contains one, which is recorded */
	struct allo_resident resident;        /* of the process; recorded blocks are a part of it */
};

/* Whether the recording is sampled. */
bool allo_summary_is_estimated(const struct allo_summary *summary);

/* Percentage of allocations whose stacks are known up to the outermost frame. */
double allo_summary_complete_percent(const struct allo_summary *summary);

/* Lost pages that a reader should know about: not those of each thread that are cut off where a
 * recording ends before its program. */
uint64_t allo_summary_lost_pages(const struct allo_summary *summary);

struct allo_live_blocks;
struct allo_recording;

/* The summary after a replay.  .stacks counts the sites of `blocks`, which may be told apart by
 * thread. */
void allo_summary_of_blocks(struct allo_summary *summary, const struct allo_recording *recording,
			    const struct allo_live_blocks *blocks, uint64_t events);

/* The summary of an open recording: the stored one, or that of a replay. */
bool allo_recording_sum_up(struct allo_recording *recording, struct allo_summary *summary,
			   struct allo_error *err);

/* Reads a recording, raw or packed.  A damaged or unfinished one has the summary of its readable
 * part.  `progress` may be NULL. */
bool allo_recording_summary(const char *path, struct allo_summary *summary,
			    const struct allo_progress *progress, struct allo_error *err);

#endif
