/*
 * heaptrack_heap.h - replays the events of a heaptrack recording.
 *
 * A recording may hold 10^8 events: each takes a few nanoseconds, and memory does not grow with
 * them. The amount that each stack held at the peak
 * is kept lazily, so that a new peak does not cost a pass over all stacks.
 */
#ifndef ALLO_READERS_HEAPTRACK_HEAP_H
#define ALLO_READERS_HEAPTRACK_HEAP_H

#include "profile/profile.h"

/* All allocations of one size by one stack. */
struct allo_heaptrack_info {
	uint64_t size;
	uint64_t allocated, live, temporary; /* blocks */
	uint64_t live_at_peak, of_peak;      /* the latter: the peak that the former belongs to */
	allo_stack_id stack;
};

/* All zeros is an empty heap. */
struct allo_heaptrack_heap {
	ALLO_VEC(struct allo_heaptrack_info) infos; /* numbered from 0 */
	uint64_t live_bytes, peak_bytes;
	uint64_t peaks; /* number of the latest peak */
	uint64_t time_ms, peak_time_ms;
	/* Number of the previous event's allocation.  After a free it is 0, as in heaptrack, which
	 * therefore counts a free of allocation 0 after another free as temporary. */
	uint64_t last;
};

/* Adds or removes one block.  False, with nothing changed, if the byte count would overflow or if
 * no such block is live.  The number must exist. */
bool allo_heaptrack_allocate(struct allo_heaptrack_heap *heap, uint64_t number);
bool allo_heaptrack_free(struct allo_heaptrack_heap *heap, uint64_t number);

/* Executes lines such as "+ 1f3" and "- 1f3".  Stops at the first other line, at one that cannot be
 * executed, or at `end`, which must follow a newline.  Counts the lines. */
const char *allo_heaptrack_read_events(struct allo_heaptrack_heap *heap, const char *at,
				       const char *end, uint64_t *line_count);

/* Starts again with nothing live and nothing counted. */
void allo_heaptrack_start_over(struct allo_heaptrack_heap *heap);

/* Blocks that were live when the heap first reached its largest size. */
uint64_t allo_heaptrack_live_at_peak(const struct allo_heaptrack_heap *heap, uint64_t number);

#endif
