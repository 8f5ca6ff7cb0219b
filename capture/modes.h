/*
 * modes.h - blocks of recordings that do not just have each of them: sampled ones, statistics;
 * and those that the program tells of itself.
 */
#ifndef ALLO_CAPTURE_MODES_H
#define ALLO_CAPTURE_MODES_H

#include "capture/record.h"

/* Before a block is resized, which may be NULL, and after: `moved` is NULL if that has failed, or
 * if the size is 0. */
void allo_filtered_resize(struct allo_thread_state *thread, uint32_t heap, const void *block);
void allo_filtered_resized(struct allo_thread_state *thread, uint32_t heap, const void *moved,
			   size_t size, struct allo_hook_frame frame);

/* The short way, of statistics alone while one thread is; false, and nothing has changed, for what
 * has to go the long one. */
static inline bool allo_count_alloc_fast(struct allo_thread_state *thread, const void *block,
					 size_t size)
{
	if (__builtin_expect(allo_counting_get() != ALLO_COUNTS_ALONE || thread->is_nested, 0) ||
	    !allo_size_put_short((uint64_t)block, size))
		return false;
	thread->counts.alloc_blocks++;
	thread->counts.alloc_bytes += size;
	allo_hold(&thread->counts.held, (int64_t)size, 1);
	allo_hold(&allo_whole->held, (int64_t)size, 1);
	return true;
}

static inline bool allo_count_free_fast(struct allo_thread_state *thread, const void *block)
{
	uint64_t size;

	if (__builtin_expect(allo_counting_get() != ALLO_COUNTS_ALONE || thread->is_nested, 0) ||
	    !allo_size_take_short((uint64_t)block, &size))
		return false;
	allo_hold(&thread->counts.held, -(int64_t)size, -1);
	allo_hold(&allo_whole->held, -(int64_t)size, -1);
	return true;
}

#endif
