/*
 * heap.h - the heap of a recorded program while its events go by.
 *
 * Which blocks are live, what each stack holds and has held, and the exact moment when the program
 * held most.  An event takes a few nanoseconds and, mostly, one access to memory that is not in a
 * cache.  Memory grows with the blocks that are live at once and with the distinct stacks.
 *
 * Events of two threads may come in the wrong order when they are less than the difference of two
 * processors' clocks apart.  For one address allocations and frees alternate, so an allocation at a
 * live address means that another thread's free is late: the old block ends there and then, and the
 * late free does nothing.
 */
#ifndef ALLO_REPLAY_HEAP_H
#define ALLO_REPLAY_HEAP_H

#include "replay/event_stream.h"

/* A block that is live. */
struct allo_live_block {
	uint64_t pointer; /* 0: the place in the table is free */
	uint64_t size;
	uint64_t birth_ns;
	uint32_t stack;  /* the last one: that of the realloc, if there was one */
	uint32_t stream; /* index of the one that allocated or resized it */
};

/* What is known of a stack.  The table of sites has one for each node's number. */
struct allo_site {
	uint64_t alloc_bytes, alloc_blocks;
	uint64_t live_bytes, live_blocks;
	uint64_t max_bytes, max_blocks;   /* the blocks when the bytes were most */
	uint64_t kept_bytes, kept_blocks; /* live at the peak, */
	uint64_t of_peak;                 /* this one; see allo_heap_peak() */
	uint64_t lifetime_ns;             /* at most UINT64_MAX */
	uint64_t temporary_blocks;        /* freed by their thread before its next allocation */
};

/* A block that ended because its address was allocated again. */
struct allo_retired_block {
	uint64_t pointer, ns;
	uint64_t birth_ns;
};

enum { ALLO_RETIRED_KEPT = 64 };

/* All zeros: nothing to drop. */
struct allo_heap {
	uint64_t allocations, resizes, frees, failed_resizes;
	uint64_t unknown_frees;  /* of blocks that were not live */
	uint64_t late_frees;     /* that came behind the next allocation of their address */
	uint64_t overflows;      /* allocations left out, since their sum does not fit 64 bits */
	uint64_t missing_stacks; /* allocations whose stack is not in the recording */
	uint64_t partial_stacks; /* allocations whose stack is not known to its outermost frame */
	uint64_t total_bytes;
	uint64_t live_bytes, live_blocks;
	uint64_t peak_bytes, peak_blocks, peak_ns;
	uint64_t last_ns;        /* of the last event */
	bool has_long_lifetimes; /* some sum does not fit 64 bits */
	struct allo_site *sites; /* by node, site_count of them; [0] is of stacks not known */
	size_t site_count;

	/* Private from here on. */
	const struct allo_node *nodes;
	struct allo_live_block *table; /* open addressing */
	uint64_t seed;                 /* of addresses' hashes */
	unsigned shift;
	size_t mask;
	uint64_t peaks;           /* how often there was more than ever before */
	uint64_t *last_allocated; /* by stream */
	size_t stream_count;
	struct allo_retired_block retired[ALLO_RETIRED_KEPT]; /* the last ones, in turn */
	size_t retired_count;
	uint64_t retired_ns; /* when the last one was */
};

/* For the stacks and streams of a recording, which stays open as long. */
bool allo_heap_init(struct allo_heap *heap, const struct allo_recording *recording,
		    struct allo_error *err);

void allo_heap_done(struct allo_heap *heap);

/* Lets events happen; false when memory is short. */
bool allo_heap_apply(struct allo_heap *heap, const struct allo_event_span *span,
		     struct allo_error *err);

/* To be called behind the last event: what is live ends its life here, but stays live. */
void allo_heap_end(struct allo_heap *heap, uint64_t end_ns);

/* All events of a recording and their end. */
bool allo_heap_replay(struct allo_heap *heap, struct allo_recording *recording,
		      uint64_t *event_count, struct allo_error *err);

struct allo_peak {
	uint64_t bytes, blocks;
};

/* What a site held at the first moment when the program held most. */
struct allo_peak allo_heap_peak(const struct allo_heap *heap, const struct allo_site *site);

#endif
