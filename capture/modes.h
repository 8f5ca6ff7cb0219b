/*
 * modes.h - allocations in every mode other than plain exact recording: sampling, statistics and
 * blocks of custom heaps.
 */
#ifndef ALLO_CAPTURE_MODES_H
#define ALLO_CAPTURE_MODES_H

#include "capture/file/record.h"

/* Call these before and after a resize.  `block` may be NULL; `moved` is NULL if the resize failed
 * or the size is 0. */
void allo_filtered_resize(struct allo_thread_state *thread, uint32_t heap, const void *block);
void allo_filtered_resized(struct allo_thread_state *thread, uint32_t heap, const void *moved,
			   size_t size, struct allo_hook_frame frame);

/* The fast path of the counters mode: one thread, a small block.  False, and nothing has changed,
 * if the caller must take the general path. */
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
