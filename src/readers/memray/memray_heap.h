/*
 * memray_heap.h - replays the allocations of a memray recording.
 *
 * Blocks end by their address.  munmap ends any part of what mmap made: it shrinks mappings, splits
 * them, or ends several at once.
 */
#ifndef ALLO_READERS_MEMRAY_HEAP_H
#define ALLO_READERS_MEMRAY_HEAP_H

#include "replay/heap.h"

/* Mappings that are followed at a time.  Any further one ends by a munmap at its start only. */
enum { ALLO_MEMRAY_MAPPINGS = 4096 };

struct allo_memray_mapping {
	uint64_t start, end;
	allo_stack_id stack;
	uint32_t thread;
};

/* Large: allocate it.  All zeros is empty, but for the profile. */
struct allo_memray_heap {
	struct allo_profile *profile; /* its stacks are the sites */
	uint64_t ns;                  /* time of the next events */
	uint64_t input_bytes;         /* read so far */
	uint32_t threads;

	/* Private from here on. */
	struct allo_recording shape; /* an empty recording with as many stacks */
	struct allo_heap heap;
	struct allo_outcomes outcomes;
	size_t count;
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
	bool has_others; /* mappings that are not in the list */
	size_t mapping_count;
	struct allo_memray_mapping mappings[ALLO_MEMRAY_MAPPINGS]; /* by start, disjoint */
};

bool allo_memray_heap_init(struct allo_memray_heap *heap, struct allo_error *err);

/* Each is false when memory is short, or a limit is reached. */
bool allo_memray_alloc(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		       uint64_t size, allo_stack_id stack, struct allo_error *err);
bool allo_memray_free(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		      struct allo_error *err);
bool allo_memray_map(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		     uint64_t size, allo_stack_id stack, struct allo_error *err);
bool allo_memray_unmap(struct allo_memray_heap *heap, uint32_t thread, uint64_t address,
		       uint64_t size, struct allo_error *err);

/* Ends the replay, and adds metrics and samples to the profile. */
bool allo_memray_heap_end(struct allo_memray_heap *heap, struct allo_error *err);

void allo_memray_heap_done(struct allo_memray_heap *heap);

#endif
