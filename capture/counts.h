/*
 * counts.h - exact statistics of the heap.
 *
 * Each thread counts its own allocations.  The peak is that of all threads together, so the whole
 * must be known as well.  A single thread simply adds to it.  Several threads take a lock for each
 * block while the heap is near its peak.  Further below the peak each thread has room: an allowance
 * of bytes that it may add without reporting, because the sum of all allowances stays below the
 * peak.  Before the last allowance runs out, one thread freezes all hooks and takes them all back.
 */
#ifndef ALLO_CAPTURE_COUNTS_H
#define ALLO_CAPTURE_COUNTS_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stdint.h>

struct allo_thread_state;

/* Live bytes and blocks, now and at the peak of bytes. */
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

/* The counts of a thread.  It may free blocks of other threads, so live counts can be negative. */
struct allo_counts {
	uint64_t alloc_blocks, alloc_bytes;
	struct allo_holding held;      /* since the thread began; scopes set the peak back */
	int64_t room;                  /* bytes it may add before it must report to the whole */
	int64_t own_bytes, own_blocks; /* live counts not yet added to the whole */
	/* The totals when this thread took over the state of a thread that had ended. */
	uint64_t before_blocks, before_bytes;
};

enum allo_counting {
	ALLO_COUNTS_ALONE,   /* one thread */
	ALLO_COUNTS_LOCKED,  /* several, near the peak */
	ALLO_COUNTS_IN_ROOM, /* several, each within its allowance */
};

/* The counts of all threads, in memory that is empty in a child after fork(). */
struct allo_whole {
	uint32_t counting;
	uint32_t owner; /* id of the thread that has the lock; 0: unlocked */
	struct allo_holding held;
	int64_t given; /* bytes: all allowances, used or not */
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

/* Resets the counts when a recording begins.  False if out of memory. */
bool allo_counts_begin(void);

/* Turns statistics on or off during a recording.  False if out of memory. */
bool allo_counts_turn(bool is_on);

/* Resets the counts of a thread that takes over a state. */
void allo_counts_start(struct allo_thread_state *thread);

/* Releases the lock, if this thread has it from a hook that a jump has left. */
void allo_counts_recover(void);

/* Leaves the single-thread mode if needed: a thread has entered its first hook. */
void allo_counts_begun(struct allo_thread_state *thread);

/* Count one allocation, free or resize of `size` bytes (requested sizes). */
void allo_counts_alloc(struct allo_thread_state *thread, uint64_t size);
void allo_counts_free(struct allo_thread_state *thread, uint64_t size);
void allo_counts_resize(struct allo_thread_state *thread, uint64_t old, uint64_t size);

#endif
