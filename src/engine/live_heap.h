/*
 * live_heap.h - the heap of a recorded process, or of a growing recording, looked at repeatedly.
 *
 * Each look replays only the new events.  A stack gets its name once, when it first appears: its
 * site is the innermost function that is not an allocator.  So debug information is read for new
 * stacks only.
 */
#ifndef ALLO_ENGINE_LIVE_HEAP_H
#define ALLO_ENGINE_LIVE_HEAP_H

#include "base/map.h"
#include "engine/heap_counts.h"
#include "replay/follow.h"

struct allo_live_site {
	struct allo_text name, file; /* the file may be empty */
	uint64_t live_bytes, live_blocks;
	uint64_t alloc_blocks, alloc_bytes; /* since the start */
	uint64_t earlier_blocks;            /* alloc_blocks at the previous look */
};

/* All zeros: nothing to drop. */
struct allo_live_sites {
	ALLO_VEC(struct allo_live_site) all;

	/* Private. */
	ALLO_VEC(uint32_t) of_stack; /* by node: index + 1 of its site; 0: not named yet */
	struct allo_map map;
	struct allo_arena arena;
};

struct allo_live_look {
	uint64_t ns; /* on the monotonic clock; 0: no look yet */
	struct allo_heap_counts counts;
	bool has_frees;
	uint64_t frees;
};

/* All zeros: nothing to close.  Must not move while it is open. */
struct allo_live_heap {
	struct allo_recorded_process process; /* .pid is 0 for a file without a known process */
	const char *file;                     /* NULL: the process keeps counts only */
	bool has_ended;
	struct allo_live_look now, before;
	struct allo_live_sites sites; /* of the last look */

	/* Private. */
	struct allo_source_options options;
	struct allo_recorded_processes list;
	struct allo_follow follow;
};

/* Opens a process or a file by its name, and replays the events so far. */
bool allo_live_heap_open(struct allo_live_heap *heap, const struct allo_source_options *options,
			 const char *name, struct allo_error *err);

/* Replays new events and updates the numbers. */
bool allo_live_heap_look(struct allo_live_heap *heap, struct allo_error *err);

/* Checks the process: it may have ended, or started another recording. */
bool allo_live_heap_check(struct allo_live_heap *heap, struct allo_error *err);

/* The increase per second between the last two looks or, at the first look, since the recording
 * began. */
uint64_t allo_live_heap_rate(const struct allo_live_heap *heap, uint64_t now, uint64_t before);

void allo_live_heap_close(struct allo_live_heap *heap);

#endif
