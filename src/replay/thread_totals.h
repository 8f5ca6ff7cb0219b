/*
 * thread_totals.h - allocations, live memory and frees of each thread of a recorded program.
 *
 * A block belongs to the thread that allocated it, even if another thread frees it.  Memory use
 * grows with the number of live blocks and of threads.
 */
#ifndef ALLO_REPLAY_THREAD_TOTALS_H
#define ALLO_REPLAY_THREAD_TOTALS_H

#include "replay/live_blocks.h"
#include "replay/window.h"

struct allo_thread_total {
	uint64_t allocations, alloc_bytes; /* a realloc counts with its new size */
	uint64_t frees;                    /* blocks of any thread that it freed */
	uint64_t frees_of_others;          /* those that belonged to other threads */
	uint64_t freed_by_others;          /* its blocks that other threads freed */
	uint64_t temporary_blocks;         /* its blocks that it freed before its next allocation */
	uint64_t live_bytes, live_blocks;  /* at the end */
	uint64_t max_bytes;                /* most bytes that were live at once */
	uint64_t peak_bytes, peak_blocks;  /* live at the peak of the program */
};

/* All zeros is empty. */
struct allo_thread_totals {
	/* By stream; streams without events are zeros.  Values of a sampled recording are
	 * estimates, and temporary_blocks is 0. */
	ALLO_VEC(struct allo_thread_total) threads;
	uint64_t peak_bytes, peak_ns; /* of the whole program */
};

/* Replays a window.  NULL stands for the whole recording. */
bool allo_thread_totals_of(struct allo_thread_totals *totals, struct allo_recording *recording,
			   const struct allo_window *window, struct allo_error *err);

void allo_thread_totals_done(struct allo_thread_totals *totals);

#endif
