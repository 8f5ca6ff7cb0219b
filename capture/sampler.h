/*
 * sampler.h - selects the allocations of a sampled recording.
 *
 * By bytes: sampling points lie at random over all bytes that a thread allocates, one per `rate`
 * bytes on average, independent of each other (a Poisson process).  A block is recorded if it holds
 * at least one point, so its chance depends on its size alone.  By events: the same, over blocks.
 */
#ifndef ALLO_CAPTURE_SAMPLER_H
#define ALLO_CAPTURE_SAMPLER_H

#include "capture/settings.h"
#include "capture/thread.h"

/* Seeds the sampler of a thread that starts. */
void allo_sampler_start(struct allo_thread_state *thread);

/* Draws the distance to the next sampling point, in bytes or allocations. */
uint64_t allo_sampler_draw(struct allo_sampler *sampler);

/* Counts a block, and returns whether it is sampled. */
static inline bool allo_sampler_takes(struct allo_sampler *sampler, uint64_t size)
{
	uint64_t length = allo_settings.mode == ALLO_SAMPLED_EVENTS || size == 0 ? 1 : size;

	sampler->alloc_blocks++;
	sampler->alloc_bytes += size;
	if (length >= sampler->left)
		return true;
	sampler->left -= length;
	return false;
}

/* The fast path of sampling by bytes: true if a block is counted and not sampled.  False, and
 * nothing has changed, if the caller must use allo_sampler_takes(); also for size 0. */
static inline bool allo_sampler_passes(struct allo_sampler *sampler, uint64_t size)
{
	if (__builtin_expect(size - 1 >= sampler->left - 1, 0))
		return false;
	sampler->alloc_blocks++;
	sampler->alloc_bytes += size;
	sampler->left -= size;
	return true;
}

/* The number of bytes that a sampled block of this size represents. */
uint64_t allo_sampler_weighted(uint64_t size);

/* Adds the thread's counts to the file head after a sampled block, and draws the next point. */
void allo_sampler_taken(struct allo_thread_state *thread);

/* Adds the counts of all threads to the file head.  Only while all hooks are frozen. */
void allo_sampler_flush_all(void);

#endif
