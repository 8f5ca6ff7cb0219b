/*
 * heaptrack_heap.h - the heap of a heaptrack recording while its events go by.
 *
 * A recording may hold 10^8 events: each takes a few nanoseconds, and memory does not grow with
 * them. What every stack held at the peak is known in the end without ever having looked at all
 * stacks.
 */
#ifndef ALLO_READERS_HEAPTRACK_HEAP_H
#define ALLO_READERS_HEAPTRACK_HEAP_H

#include "profile/profile.h"

/* All allocations of one size by one stack. */
struct allo_heaptrack_info {
	uint64_t size;
	uint64_t allocated, live, temporary; /* blocks */
	uint64_t live_at_peak, of_peak;      /* the latter: of which peak the former is */
	allo_stack_id stack;
};

/* All zeros is an empty heap. */
struct allo_heaptrack_heap {
	ALLO_VEC(struct allo_heaptrack_info) infos; /* numbered from 0 */
	uint64_t live_bytes, peak_bytes;
	uint64_t peaks; /* how often there was more than ever before */
	uint64_t time_ms, peak_time_ms;
	uint64_t last; /* number + 1 of what the event before allocated; 0 if it freed */
};

/* One block more, one block less.  False, and nothing changed, when there would be more bytes than
 * can be counted, or when no such block is live.  The number must exist. */
bool allo_heaptrack_allocate(struct allo_heaptrack_heap *heap, uint64_t number);
bool allo_heaptrack_free(struct allo_heaptrack_heap *heap, uint64_t number);

/* Does what lines such as "+ 1f3" and "- 1f3" say, and stops at the first that is anything else, or
 * cannot be done, or at `end`, which must be behind a newline.  Counts the lines. */
const char *allo_heaptrack_read_events(struct allo_heaptrack_heap *heap, const char *at,
				       const char *end, uint64_t *line_count);

/* Starts again with nothing live and nothing counted. */
void allo_heaptrack_start_over(struct allo_heaptrack_heap *heap);

/* Blocks that were live when the heap held most bytes, for the first time. */
uint64_t allo_heaptrack_live_at_peak(const struct allo_heaptrack_heap *heap, uint64_t number);

#endif
