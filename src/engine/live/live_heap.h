/*
 * live_heap.h - the heap of a recorded process, or of a growing recording, looked at repeatedly.
 *
 * Each look replays only the new events.  Numbers are kept per stack; live_sites.h sums them up by
 * function.
 */
#ifndef ALLO_ENGINE_LIVE_HEAP_H
#define ALLO_ENGINE_LIVE_HEAP_H

#include "engine/live/heap_counts.h"
#include "replay/follow.h"

/* The numbers of one or many stacks.  Those of a sampled recording are estimates. */
struct allo_live_sum {
	uint64_t live_bytes, live_blocks;
	uint64_t alloc_blocks, alloc_bytes; /* since the start */
	uint64_t earlier_blocks;            /* alloc_blocks at the previous look */
	uint64_t marked_bytes;              /* live_bytes at the mark */
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
	unsigned recordings; /* number of the recording: stacks of another one are others */
	struct allo_live_look now, before;
	struct allo_live_look mark; /* growth counts from here: at first, from the first look */

	/* Private. */
	struct allo_source_options options;
	struct allo_recorded_processes list;
	struct allo_follow follow;
	ALLO_VEC(uint64_t) earlier_blocks; /* by stack */
	ALLO_VEC(uint64_t) marked_bytes;   /* by stack; later stacks are beyond the end */
};

/* Opens a process or a file by its name, and replays the events so far. */
bool allo_live_heap_open(struct allo_live_heap *heap, const struct allo_source_options *options,
			 const char *name, struct allo_error *err);

/* Replays new events and updates the numbers. */
bool allo_live_heap_look(struct allo_live_heap *heap, struct allo_error *err);

/* Checks the process: it may have ended, or started another recording. */
bool allo_live_heap_check(struct allo_live_heap *heap, struct allo_error *err);

/* Growth counts from now on. */
bool allo_live_heap_mark(struct allo_live_heap *heap, struct allo_error *err);

/* The number of stacks, and the numbers of one. */
size_t allo_live_heap_stack_count(const struct allo_live_heap *heap);
struct allo_live_sum allo_live_heap_stack(const struct allo_live_heap *heap, size_t stack);

static inline void allo_live_sum_add(struct allo_live_sum *to, const struct allo_live_sum *more)
{
	to->live_bytes += more->live_bytes;
	to->live_blocks += more->live_blocks;
	to->alloc_blocks += more->alloc_blocks;
	to->alloc_bytes += more->alloc_bytes;
	to->earlier_blocks += more->earlier_blocks;
	to->marked_bytes += more->marked_bytes;
}

/* The increase per second between the last two looks or, at the first look, since the recording
 * began. */
uint64_t allo_live_heap_rate(const struct allo_live_heap *heap, uint64_t now, uint64_t before);

/* Writes the heap as of the last look as a pprof file, which must be new. */
bool allo_live_heap_write(struct allo_live_heap *heap, const char *path, struct allo_error *err);

void allo_live_heap_close(struct allo_live_heap *heap);

#endif
