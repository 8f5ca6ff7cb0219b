/*
 * heap.h - the heap of a recorded program while its events go by.
 *
 * What each stack holds and has held, and at the exact moment when the program held most.
 */
#ifndef ALLO_REPLAY_HEAP_H
#define ALLO_REPLAY_HEAP_H

#include "replay/live_blocks.h"

/* What is known of a stack, beside how many blocks it has made. */
struct allo_site {
	uint64_t alloc_bytes;
	uint64_t live_bytes, live_blocks;
	uint64_t max_bytes, max_blocks;   /* the blocks when the bytes were most */
	uint64_t kept_bytes, kept_blocks; /* live at the peak, */
	uint64_t of_peak;                 /* this one; see allo_heap_peak() */
	uint64_t lifetime_ns;             /* at most UINT64_MAX */
	uint64_t temporary_blocks;        /* freed by their thread before its next allocation */
};

/* All zeros: nothing to drop. */
struct allo_heap {
	struct allo_live_blocks blocks;
	struct allo_site *sites; /* by stack, as many as blocks.stack_count */
	bool has_long_lifetimes; /* some sum does not fit 64 bits */

	/* Private from here on. */
	uint64_t peaks; /* how often there was more than ever before */
	struct allo_outcomes outcomes;
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
