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

#include "capture/own.h"

#include <stdbool.h>
#include <stdint.h>

struct allo_thread;

/* Of a thread.  Blocks that it frees may be another's. */
struct allo_counts {
	uint64_t alloc_blocks, alloc_bytes;
	int64_t held_bytes, held_blocks; /* more than when the thread began, or fewer */
	int64_t peak_bytes, peak_blocks; /* of those; scopes set them back */
	int64_t room;                    /* what it may come to hold more */
	int64_t own_bytes, own_blocks;   /* what the whole does not know of yet */
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
	int64_t bytes, blocks;
	int64_t given; /* rooms, and what threads that have one hold beyond `bytes` */
	int64_t peak_bytes, peak_blocks;
};

ALLO_OWN extern struct allo_whole *allo_whole;

static inline void allo_whole_add(struct allo_whole *whole, int64_t bytes, int64_t blocks)
{
	whole->bytes += bytes;
	whole->blocks += blocks;
	if (whole->bytes > whole->peak_bytes) {
		whole->peak_bytes = whole->bytes;
		whole->peak_blocks = whole->blocks;
	}
}

/* Of a thread alone. */
static inline void allo_counts_hold(struct allo_counts *counts, int64_t bytes, int64_t blocks)
{
	counts->held_bytes += bytes;
	counts->held_blocks += blocks;
	if (counts->held_bytes > counts->peak_bytes) {
		counts->peak_bytes = counts->held_bytes;
		counts->peak_blocks = counts->held_blocks;
	}
}

/* A recording begins.  False when there is no memory. */
bool allo_counts_begin(void);

/* Keeps statistics from now on, in a recording that goes on without them; or no more.  False when
 * there is no memory. */
bool allo_counts_turn(bool is_on);

/* A thread gets its state. */
void allo_counts_start(struct allo_thread *thread);

/* It has begun, and is inside; others may be there before. */
void allo_counts_begun(struct allo_thread *thread);

void allo_counts_alloc(struct allo_thread *thread, uint64_t size);
void allo_counts_free(struct allo_thread *thread, uint64_t size);
void allo_counts_resize(struct allo_thread *thread, uint64_t old, uint64_t size);

#endif
