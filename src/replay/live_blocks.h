/*
 * live_blocks.h - which blocks of a recorded program are live while its events go by, and which one
 * an event ends.
 *
 * An event takes a few nanoseconds and, mostly, one access to memory that is not in a cache.
 * Memory grows with the blocks that are live at once and with the distinct stacks.
 *
 * Events of two threads may come in the wrong order when they are less than the difference of two
 * processors' clocks apart.  For one address allocations and frees alternate, so an allocation at a
 * live address means that another thread's free is late: the old block is retired there and then,
 * and the late free does nothing.
 */
#ifndef ALLO_REPLAY_LIVE_BLOCKS_H
#define ALLO_REPLAY_LIVE_BLOCKS_H

#include "replay/event_stream.h"
#include "replay/weights.h"

struct allo_live_block {
	uint64_t pointer; /* 0: the place in the table is free */
	uint64_t size;
	uint64_t birth_ns;
	uint32_t stack;  /* the last one: that of the realloc, if there was one */
	uint32_t number; /* among the stack's, from 1, modulo 2^32; or its place, if asked for */
};

/* Pairs of places, each a cache line.  A block is in the pair that its address has, or, where that
 * was full, in the next one that was not. */
struct allo_block_table {
	struct allo_live_block *at;
	uint8_t *passed; /* by pair: how many blocks found it full and went on; at most 255 */
	uint64_t seed;   /* of addresses' hashes */
	unsigned shift;
	size_t mask; /* pairs - 1 */
	size_t most; /* blocks, before it has to grow */
};

static inline size_t allo_block_places(const struct allo_block_table *table)
{
	return 2 * (table->mask + 1);
}

enum allo_outcome_flag {
	ALLO_OUTCOME_CREATED = 1,    /* a new block */
	ALLO_OUTCOME_ENDED = 2,      /* a block ended, or was to be resized and could not be */
	ALLO_OUTCOME_LATE = 4,       /* it had been retired before */
	ALLO_OUTCOME_RETIRED = 8,    /* the block that was where the new one is: see `retired` */
	ALLO_OUTCOME_TEMPORARY = 16, /* it ended before its thread allocated again */
	ALLO_OUTCOME_PEAK = 32,      /* never were so many bytes live as now */
};

/* What an event has done to blocks. */
struct allo_outcome {
	uint64_t size, birth_ns; /* of the block that ended, as the next two */
	uint32_t stack, number;
	uint32_t new_stack; /* of the new one; 0 where the recording does not have it */
	unsigned flags;
};

/* Whether an event has ended the block that its outcome tells of. */
static inline bool allo_outcome_ends_block(const struct allo_outcome *outcome,
					   const struct allo_event *event)
{
	return (outcome->flags & (ALLO_OUTCOME_ENDED | ALLO_OUTCOME_LATE)) == ALLO_OUTCOME_ENDED &&
	       event->kind != ALLO_EVENT_RESIZE_FAILED;
}

/* Of the events of a span, one for each. */
struct allo_outcomes {
	struct allo_outcome at[ALLO_EVENTS_AT_ONCE];
	struct allo_outcome retired[ALLO_EVENTS_AT_ONCE]; /* in the order of those that have any */
	uint32_t place[ALLO_EVENTS_AT_ONCE];              /* of new blocks, if asked for */
};

/*
 * Places for those who keep more of each block than is kept here: numbers from 0 on, each for one
 * block at a time.  A place is taken after the one of the block that the same event ends is given
 * back.
 */
struct allo_block_places {
	bool are_wanted; /* to be set before the first event */
	uint32_t count;  /* so many were ever taken at once */

	/* Private from here on. */
	uint32_t last; /* taken */
	ALLO_VEC(uint32_t) free;
};

/* A block that was retired not long ago. */
struct allo_retired_block {
	struct allo_live_block block; /* all zeros: none */
	uint64_t ns;
	uint32_t stream; /* that allocated its address since then */
};

enum { ALLO_RETIRED_KEPT = 64, ALLO_RETIRED_MARKS = 1024 };

/* Which mark an address has. */
static inline size_t allo_retired_mark(uint64_t pointer)
{
	return (pointer ^ pointer >> 4 ^ pointer >> 14) % ALLO_RETIRED_MARKS;
}

/* All zeros: nothing to drop. */
struct allo_live_blocks {
	uint64_t allocations, resizes, frees, failed_resizes;
	uint64_t unknown_frees;  /* of blocks that were not live */
	uint64_t late_frees;     /* that came behind the next allocation of their address */
	uint64_t overflows;      /* allocations left out, since their sum does not fit 64 bits */
	uint64_t missing_stacks; /* allocations whose stack is not in the recording */
	uint64_t partial_stacks; /* allocations whose stack is not known to its outermost frame */
	uint64_t marks;          /* and events of the program's own, which do nothing to blocks: */
	uint64_t own_events, own_units;
	uint64_t total_bytes;
	uint64_t bytes, count; /* live now */
	uint64_t peak_bytes, peak_blocks, peak_ns;
	uint64_t last_ns; /* of the last event */
	uint64_t *made; /* by stack, stack_count of them: allocations; [0] is of those not known */
	size_t stack_count;
	bool keeps_first; /* to be set before the first event: a realloc's block stays with the
			     stack that has allocated it first */
	struct allo_block_places places;
	/* Of a sampled recording the numbers above are those of what was recorded, and the peak is
	 * that of what it stands for: see allo_live_blocks_totals(). */
	struct allo_weighing weighing;

	/* Private from here on. */
	uint64_t numbered_before; /* the last restart; new numbers are larger */
	bool have_names;          /* in place of addresses, which blocks have one after another */
	const struct allo_stack_node *nodes;
	struct allo_block_table table;
	uint64_t *last_allocated; /* by stream: a block's name */
	size_t stream_count;
	struct allo_retired_block retired[ALLO_RETIRED_KEPT]; /* the last ones, in turn */
	size_t retired_count;                                 /* ever, and of those that are kept */
	size_t retired_kept;
	uint8_t retired_marks[ALLO_RETIRED_MARKS]; /* how many there are, by hash of address */
	/* What the blocks of a sampled recording stand for. */
	struct allo_weighed_totals weighed;
	allo_parts weighed_peak_bytes, weighed_peak_blocks;
};

/* For the stacks and streams of a recording, which stays open as long. */
bool allo_live_blocks_init(struct allo_live_blocks *blocks, const struct allo_recording *recording,
			   struct allo_error *err);

/* Makes room for the stacks that the recording has by now, and for events of so many streams. */
bool allo_live_blocks_grow(struct allo_live_blocks *blocks, const struct allo_recording *recording,
			   size_t stream_count, struct allo_error *err);

void allo_live_blocks_done(struct allo_live_blocks *blocks);

/* Lets events happen; false when memory is short. */
bool allo_live_blocks_apply(struct allo_live_blocks *blocks, const struct allo_event_span *span,
			    struct allo_outcomes *outcomes, struct allo_error *err);

/* What has happened, and is live: of a sampled recording, an estimate of it. */
struct allo_block_totals {
	uint64_t allocations, total_bytes;
	uint64_t frees; /* of a sampled recording, those of reallocs are among them */
	uint64_t bytes, blocks;
	uint64_t peak_bytes, peak_blocks;
};

struct allo_block_totals allo_live_blocks_totals(const struct allo_live_blocks *blocks);

/* Forgets what has happened so far, but not what is live, which is the most there was. */
void allo_live_blocks_restart(struct allo_live_blocks *blocks, uint64_t ns);

/* To be called behind the last event: adds up which stacks are not whole, or not there at all. */
void allo_live_blocks_end(struct allo_live_blocks *blocks);

/* The same for one stack with so many allocations. */
void allo_live_blocks_end_stack(struct allo_live_blocks *blocks, uint32_t stack, uint64_t made);

#endif
