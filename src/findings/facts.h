/*
 * facts.h - facts about the blocks of each allocation site, gathered while a recording is replayed.
 *
 * A profile has sums per stack.  These facts are about single blocks: equal sizes, blocks
 * that follow each other, chains of reallocs, threads, and the live memory over time.  They take
 * one pass, as an observer of the heap (replay/heap.h).  Memory grows with sites and with live
 * blocks that realloc resized, never with events.
 *
 * Nothing here reads files, the clock or the environment: the same events give the same facts.
 */
#ifndef ALLO_FINDINGS_FACTS_H
#define ALLO_FINDINGS_FACTS_H

#include "findings/chains.h"
#include "findings/curve.h"
#include "replay/heap.h"

/* The value that most items of a sequence have, by majority vote.  `count` never exceeds the true
 * number of such items, and is exact if the first item has the value. */
struct allo_majority {
	uint64_t value, votes, count;
};

/* Chains of reallocs with at least as many steps count as short or long ones. */
enum { ALLO_SHORT_CHAIN = 4, ALLO_LONG_CHAIN = 8 };

/* Blocks that realloc made larger. */
struct allo_growth_facts {
	uint64_t steps;                     /* reallocs that made a block larger */
	uint64_t copied_bytes;              /* at most: the old sizes */
	uint64_t small_steps;               /* by less than a quarter */
	struct allo_majority step_bytes;    /* within a tenth */
	uint64_t longest;                   /* steps of the longest chain */
	uint64_t short_chains, long_chains; /* that ended, or were live at the end */
	struct allo_majority last_size;     /* of these chains */
};

/* Two cache lines: an event touches few of them, since programs with many stacks miss the cache. */
struct allo_site_facts {
	uint64_t blocks, bytes; /* allocated, reallocs included */
	uint64_t live_bytes;
	uint32_t node;   /* the stack in the recording */
	uint32_t curve;  /* index + 1 in `curves`; 0: too little memory for a curve */
	uint32_t growth; /* index + 1 in `growths`; 0: no reallocs */
	uint32_t epoch;  /* private: when the curve was filled */
	uint64_t freed_blocks;
	uint64_t crossed_blocks; /* freed by other threads than the allocating one */
	/* Freed before the site allocated again: one block could have served all of them.  Unlike a
	 * lifetime, this does not depend on the resolution of the clock. */
	uint64_t reusable_blocks;
	struct allo_majority size;
	uint64_t least_size, most_size;
	uint64_t empty_blocks; /* of size 0 */
	/* Of the blocks that are live at the end: from the two middle quarters of the run, and from
	 * the last one. */
	uint64_t middle_blocks, late_blocks;
};

/* Sizes below this are counted one by one. */
enum { ALLO_COUNTED_SIZES = 4096 };

/* Curves of more sites would take more memory than they are worth. */
enum { ALLO_CURVES_MOST = 4096 };

/* The times of events number 0, `step`, 2 * `step` and so on. */
enum { ALLO_EVENT_TIMES = 256 };
struct allo_event_times {
	uint64_t ns[ALLO_EVENT_TIMES];
	uint64_t count, step;
	uint64_t events; /* so far */
};

/* All zeros is empty, ready for use. */
struct allo_facts {
	ALLO_VEC(struct allo_site_facts) sites; /* by site of the heap */
	ALLO_VEC(struct allo_curve) curves;
	ALLO_VEC(struct allo_growth_facts) growths;
	uint64_t sizes[ALLO_COUNTED_SIZES]; /* blocks by size */
	uint64_t step_ns;                   /* of the curves */
	uint64_t steps;                     /* that the curves have at the end */

	/* Private from here on. */
	struct allo_chains chains;
	struct allo_event_times times;
	uint64_t step, step_end_ns; /* the current step */
	uint64_t old_ns;            /* a tenth of the time until the step */
	uint32_t epoch;             /* number of the current step, before any folding */
	uint64_t peak_bytes;        /* of the program, so far */
	bool are_full;              /* no site gets a curve any more */
};

/* The observer that fills the facts. */
struct allo_heap_observer allo_facts_observer(struct allo_facts *facts);

void allo_facts_done(struct allo_facts *facts);

/* Adds the facts of another stack of the same site; curves and growths are not touched. */
void allo_site_facts_add(struct allo_site_facts *to, const struct allo_site_facts *more);
void allo_growth_facts_add(struct allo_growth_facts *to, const struct allo_growth_facts *more);

#endif
