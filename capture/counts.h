/*
 * counts.h - statistics of the heap, exact at every moment.
 *
 * Each thread counts for itself.  The peak is that of all threads together, so somebody has to know
 * what they hold as a whole: a thread that is alone just adds; several take a lock for each block
 * while the heap is near its peak.  Further below it each has room: bytes that it may come to hold
 * without the whole exceeding the peak, and needs nobody.  Before the last room is given away all
 * of it is taken back, with everybody outside of hooks.
 */
#ifndef ALLO_CAPTURE_COUNTS_H
#define ALLO_CAPTURE_COUNTS_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stdint.h>

struct allo_thread_state;

/* What is live, and what was when most bytes were. */
struct allo_holding {
	int64_t bytes, blocks;
	int64_t peak_bytes, peak_blocks;
};

static inline void allo_hold(struct allo_holding *held, int64_t bytes, int64_t blocks)
{
	held->bytes += bytes;
	held->blocks += blocks;
	if (held->bytes > held->peak_bytes) {
		held->peak_bytes = held->bytes;
		held->peak_blocks = held->blocks;
	}
}

/* Of a thread.  Blocks that it frees may be another's. */
struct allo_counts {
	uint64_t alloc_blocks, alloc_bytes;
	struct allo_holding held;      /* since the thread began; scopes set the peak back */
	int64_t room;                  /* what it may come to hold more */
	int64_t own_bytes, own_blocks; /* what the whole does not know of yet */
	/* What a state had counted when another thread got it. */
	uint64_t before_blocks, before_bytes;
};

enum allo_counting {
	ALLO_COUNTS_ALONE,   /* one thread */
	ALLO_COUNTS_LOCKED,  /* several, near the peak */
	ALLO_COUNTS_IN_ROOM, /* several, each within its room */
};

/* What all threads hold; in memory that a child made by fork finds empty. */
struct allo_whole {
	uint32_t counting;
	uint32_t owner; /* the thread that has the lock; 0: nobody */
	struct allo_holding held;
	int64_t given; /* rooms, and what threads that have one hold beyond that */
};

ALLO_HIDDEN extern struct allo_whole *allo_whole;

/* Atomic: threads read it in hooks while another changes it. */
static inline enum allo_counting allo_counting_get(void)
{
	return (enum allo_counting)__atomic_load_n(&allo_whole->counting, __ATOMIC_RELAXED);
}

static inline void allo_counting_set(enum allo_counting counting)
{
	__atomic_store_n(&allo_whole->counting, (uint32_t)counting, __ATOMIC_RELAXED);
}

/* A recording begins.  False when there is no memory. */
bool allo_counts_begin(void);

/* Keeps statistics from now on, in a recording that goes on without them; or no more.  False when
 * there is no memory. */
bool allo_counts_turn(bool is_on);

/* A thread gets its state. */
void allo_counts_start(struct allo_thread_state *thread);

/* It has begun, and is inside; others may be there before. */
void allo_counts_begun(struct allo_thread_state *thread);

void allo_counts_alloc(struct allo_thread_state *thread, uint64_t size);
void allo_counts_free(struct allo_thread_state *thread, uint64_t size);
void allo_counts_resize(struct allo_thread_state *thread, uint64_t old, uint64_t size);

#endif
