/*
 * sampler.h - which allocations a sampled recording has.
 *
 * By bytes: points are strewn over all bytes that a thread ever allocates, one for every `rate` of
 * them on average and each independent of the others; a block is recorded if it holds one or more.
 * So the chance of a block depends on its own size alone.  By events: the same over blocks.
 */
#ifndef ALLO_CAPTURE_SAMPLER_H
#define ALLO_CAPTURE_SAMPLER_H

#include "capture/settings.h"
#include "capture/thread.h"

/* A thread begins. */
void allo_sampler_start(struct allo_thread_state *thread);

/* How far it is to the next point. */
uint64_t allo_sampler_draw(struct allo_sampler *sampler);

/* Whether a block of this size is recorded; counts it. */
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

/* The same by bytes, the other way round; false, and nothing has changed, for a block without a
 * size. */
static inline bool allo_sampler_passes(struct allo_sampler *sampler, uint64_t size)
{
	if (__builtin_expect(size - 1 >= sampler->left - 1, 0))
		return false;
	sampler->alloc_blocks++;
	sampler->alloc_bytes += size;
	sampler->left -= size;
	return true;
}

/* How many bytes a block of this size stands for. */
uint64_t allo_sampler_weighted(uint64_t size);

/* After a block was taken: adds what the thread has counted to the head, and draws anew. */
void allo_sampler_taken(struct allo_thread_state *thread);

/* What all threads have counted; nobody may be inside of a hook. */
void allo_sampler_tell_all(void);

#endif
