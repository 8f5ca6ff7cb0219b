/*
 * thread_totals.h - what each thread of a recorded program has allocated, held and freed.
 *
 * A block belongs to the thread that allocated it, whoever frees it.  Memory grows with the blocks
 * that are live at once and with the threads.
 */
#ifndef ALLO_REPLAY_THREAD_TOTALS_H
#define ALLO_REPLAY_THREAD_TOTALS_H

#include "replay/live_blocks.h"
#include "replay/window.h"

struct allo_thread_total {
	uint64_t allocations, alloc_bytes; /* a realloc is one, with its new size */
	uint64_t frees;                    /* blocks that it has ended, whosever they were */
	uint64_t frees_of_others;          /* of those, blocks of other threads */
	uint64_t freed_by_others;          /* its own blocks that others have ended */
	uint64_t temporary_blocks;         /* that it has freed before it allocated again */
	uint64_t live_bytes, live_blocks;  /* in the end */
	uint64_t max_bytes;                /* most that it ever held */
	uint64_t peak_bytes, peak_blocks;  /* what it held when the program held most */
};

/* All zeros: nothing to drop. */
struct allo_thread_totals {
	/* By stream; those without events are zeros.  Of a sampled recording these are estimates,
	 * and no block is known to be temporary. */
	ALLO_VEC(struct allo_thread_total) threads;
	uint64_t peak_bytes, peak_ns; /* of all of them together */
};

/* Of a window, which may be NULL for all of a recording. */
bool allo_thread_totals_of(struct allo_thread_totals *totals, struct allo_recording *recording,
			   const struct allo_window *window, struct allo_error *err);

void allo_thread_totals_done(struct allo_thread_totals *totals);

#endif
