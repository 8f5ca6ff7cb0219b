/*
 * live_blocks.h - the table of live blocks during a replay: it finds the block that an event ends.
 *
 * An event takes a few nanoseconds and usually one cache miss.  Memory use grows with the number of
 * live blocks and of distinct stacks.
 *
 * Events of two threads may come in the wrong order if they are closer than the difference of two
 * processors' clocks.  For one address allocations and frees alternate, so an allocation at a live
 * address means that the free by another thread is late.  The old block is retired at once, and the
 * late free does nothing.
 */
#ifndef ALLO_REPLAY_LIVE_BLOCKS_H
#define ALLO_REPLAY_LIVE_BLOCKS_H

#include "replay/events/event_stream.h"
#include "replay/weights.h"

struct allo_live_block {
	uint64_t pointer; /* 0 if the place in the table is free */
	uint64_t size;
	uint64_t birth_ns;
	uint32_t stack;  /* of the allocation, or of the last realloc */
	uint32_t number; /* of the blocks of this stack, from 1, modulo 2^32; or its place, or a
			    number of the caller: see below */
};

/* A hash table of pairs of places; each pair is a cache line.  A block is in the home pair of its
 * address, or in the next pair that was not full. */
struct allo_block_table {
	struct allo_live_block *at;
	uint8_t *passed; /* by pair: number of blocks that found it full and went on; at most 255 */
	uint64_t seed;   /* of the hash of addresses */
	unsigned shift;
	size_t mask; /* pairs - 1 */
	size_t most; /* blocks that it may hold before it grows */
};

static inline size_t allo_block_places(const struct allo_block_table *table)
{
	return 2 * (table->mask + 1);
}

enum allo_outcome_flag {
	ALLO_OUTCOME_CREATED = 1,    /* a new block */
	ALLO_OUTCOME_ENDED = 2,      /* a block ended, or realloc failed to resize it */
	ALLO_OUTCOME_LATE = 4,       /* that block was retired before */
	ALLO_OUTCOME_RETIRED = 8,    /* the block at the address of the new one: see `retired` */
	ALLO_OUTCOME_TEMPORARY = 16, /* it ended before the next allocation of its thread */
	ALLO_OUTCOME_PEAK = 32,      /* more bytes are live than ever before */
};

/* The effect of an event on blocks. */
struct allo_outcome {
	uint64_t size, birth_ns; /* these and the next two: of the block that ended */
	uint32_t stack, number;
	uint32_t new_stack; /* of the new block; 0 if the recording does not have it */
	unsigned flags;
};

/* Whether an event ended the block of its outcome. */
static inline bool allo_outcome_ends_block(const struct allo_outcome *outcome,
					   const struct allo_event *event)
{
	return (outcome->flags & (ALLO_OUTCOME_ENDED | ALLO_OUTCOME_LATE)) == ALLO_OUTCOME_ENDED &&
	       event->kind != ALLO_EVENT_RESIZE_FAILED;
}

/* The outcomes of a span, one per event. */
struct allo_outcomes {
	struct allo_outcome at[ALLO_EVENTS_AT_ONCE];
	struct allo_outcome
		retired[ALLO_EVENTS_AT_ONCE]; /* one per outcome with ALLO_OUTCOME_RETIRED */
	uint32_t place[ALLO_EVENTS_AT_ONCE];  /* of new blocks, if places.are_wanted */
};

/*
 * Places: small numbers from 0, unique among live blocks.  A caller that keeps more facts about
 * each block uses them as array indexes.  An event that ends one block and creates another frees
 * the old place before it takes a new one.
 */
struct allo_block_places {
	bool are_wanted; /* set it before the first event */
	uint32_t count;  /* most places ever in use at once */

	/* Private from here on. */
	uint32_t last; /* taken */
	ALLO_VEC(uint32_t) free;
};

/* A recently retired block. */
struct allo_retired_block {
	struct allo_live_block block; /* all zeros if none */
	uint64_t ns;
	uint32_t stream; /* that has allocated its address since */
};

enum { ALLO_RETIRED_KEPT = 64, ALLO_RETIRED_MARKS = 1024 };

/* The index of an address in retired_marks. */
static inline size_t allo_retired_mark(uint64_t pointer)
{
	return (pointer ^ pointer >> 4 ^ pointer >> 14) % ALLO_RETIRED_MARKS;
}

/* All zeros is empty. */
struct allo_live_blocks {
	uint64_t allocations, resizes, frees, failed_resizes;
	uint64_t unknown_frees;  /* of blocks that were not live */
	uint64_t late_frees;     /* that came after the next allocation at their address */
	uint64_t overflows;      /* allocations not counted, since their sum does not fit 64 bits */
	uint64_t missing_stacks; /* allocations whose stack is not in the recording */
	uint64_t
		partial_stacks; /* allocations whose stack is not known up to the outermost frame */
	uint64_t marks;
	uint64_t own_events, own_units; /* events of the program */
	uint64_t total_bytes;
	uint64_t bytes, count; /* live now */
	uint64_t peak_bytes, peak_blocks, peak_ns;
	uint64_t last_ns; /* of the last event */
	uint64_t *made;   /* allocations by stack; [0] counts unknown stacks */
	size_t stack_count;
	bool keeps_first; /* set it before the first event: realloc leaves a block with the stack of
			     its first allocation */
	struct allo_block_places places;
	/* If not NULL, new blocks get this number, which the caller updates, instead of that of
	 * their stack.  It must be unique, and not 0. */
	const uint32_t *next_number;
	/* The numbers above count recorded blocks, even of a sampled recording; but peak_* are
	 * taken at the peak of the estimates.  See allo_live_blocks_totals(). */
	struct allo_weighing weighing;

	/* Private from here on. */
	uint64_t watch_ns; /* see allo_live_blocks_cut(); UINT64_MAX: never, or it has passed */
	uint64_t watched_bytes;
	uint64_t numbered_before; /* offset of block numbers, set by restart: they stay unique */
	bool have_names;          /* in place of addresses, which are reused */
	const struct allo_recorded_node *nodes;
	const char *file;     /* for messages */
	uint64_t input_bytes; /* limits the table */
	struct allo_block_table table;
	uint64_t *last_allocated; /* by stream: key of the last block that it allocated */
	size_t stream_count;
	struct allo_retired_block retired[ALLO_RETIRED_KEPT]; /* the last ones, as a ring */
	size_t retired_count;                                 /* ever */
	size_t retired_kept;
	uint8_t retired_marks[ALLO_RETIRED_MARKS]; /* number of retired blocks by hash of address */
	/* Estimates of a sampled recording. */
	struct allo_weighed_totals weighed;
	allo_parts weighed_peak_bytes, weighed_peak_blocks;
};

/* The recording must stay open as long as the table. */
bool allo_live_blocks_init(struct allo_live_blocks *blocks, const struct allo_recording *recording,
			   struct allo_error *err);

/* Makes room for stacks that the recording has gained, and for events of `stream_count` streams. */
bool allo_live_blocks_grow(struct allo_live_blocks *blocks, const struct allo_recording *recording,
			   size_t stream_count, struct allo_error *err);

/* Adds the sums of a bounded recording: totals before the first event, and allocations by stack at
 * any time, since blocks are numbered by them. */
void allo_live_blocks_add_totals(struct allo_live_blocks *blocks,
				 const struct allo_recording *recording);
void allo_live_blocks_add_made(struct allo_live_blocks *blocks,
			       const struct allo_recording *recording);

void allo_live_blocks_done(struct allo_live_blocks *blocks);

/* Applies events; false when memory is short. */
bool allo_live_blocks_apply(struct allo_live_blocks *blocks, const struct allo_event_span *span,
			    struct allo_outcomes *outcomes, struct allo_error *err);

/* Counts a block that the caller has found to be made, without an entry in the table.  True if more
 * bytes are live than ever before. */
bool allo_live_blocks_count_made(struct allo_live_blocks *blocks, uint32_t stack, uint64_t size,
				 uint64_t ns);

/* The same for a block that ends. */
void allo_live_blocks_count_ended(struct allo_live_blocks *blocks, uint64_t size,
				  uint64_t birth_ns);

/* Cuts a part that contains the watched time, or notes the live bytes if it begins then. */
void allo_live_blocks_cut_here(struct allo_live_blocks *blocks, struct allo_event_span *part);

/*
 * The live bytes when the resident memory of the process was largest (resident.h).
 *
 * Apply spans in parts, which end at that time.  Returns false when nothing of the span is left.
 */
static inline bool allo_live_blocks_cut(struct allo_live_blocks *blocks,
					struct allo_event_span *span, struct allo_event_span *part)
{
	if (span->count == 0)
		return false;
	*part = *span;
	if (__builtin_expect(span->events[span->count - 1].ns >= blocks->watch_ns, 0))
		allo_live_blocks_cut_here(blocks, part);
	span->events += part->count;
	span->count -= part->count;
	return true;
}

/* Call it after the last event. */
uint64_t allo_live_blocks_watched(const struct allo_live_blocks *blocks);

/* Totals; those of a sampled recording are estimates. */
struct allo_block_totals {
	uint64_t allocations, total_bytes;
	uint64_t frees; /* of a sampled recording they include reallocs */
	uint64_t bytes, blocks;
	uint64_t peak_bytes, peak_blocks;
};

struct allo_block_totals allo_live_blocks_totals(const struct allo_live_blocks *blocks);

/* Resets all but the live blocks, which become the peak. */
void allo_live_blocks_restart(struct allo_live_blocks *blocks, uint64_t ns);

/* Call it after the last event: counts partial and missing stacks. */
void allo_live_blocks_end(struct allo_live_blocks *blocks);

/* The same for one stack with `made` allocations. */
void allo_live_blocks_end_stack(struct allo_live_blocks *blocks, uint32_t stack, uint64_t made);

#endif
