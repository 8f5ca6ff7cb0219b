/*
 * compact_ring.h - sums up the older events of a bounded recording, and frees their pages.
 *
 * The program may write meanwhile, and any process may read.  Only one may sum up.
 */
#ifndef ALLO_REPLAY_COMPACT_RING_H
#define ALLO_REPLAY_COMPACT_RING_H

#include "base/error.h"

#include <stdint.h>

/* The state of a bounded recording.  All zeros but for keep_ns: not known. */
struct allo_ring_state {
	uint64_t keep_ns; /* length of the exact part; 0: as much as the size has room for */
	uint64_t size;    /* that it may have on the disk; 0: it is not bounded */
	uint64_t used;    /* slots of streams that are in the file */
	uint64_t trigger; /* slots, from which on events should be summed up */
	uint64_t freed;   /* slots so far */
	uint64_t checkpoints;
	uint64_t exact_ns, now_ns; /* of CLOCK_MONOTONIC: exact events begin; the last known time */
	uint64_t short_bytes;      /* lacking for the last checkpoint; 0: none */
};

/* Whether events should be summed up. */
static inline bool allo_ring_is_due(const struct allo_ring_state *state)
{
	return state->used >= state->trigger ||
	       (state->keep_ns > 0 && state->now_ns > state->exact_ns &&
		(state->now_ns - state->exact_ns) / 3 * 2 > state->keep_ns);
}

/* Reads the state.  `trigger`, `freed` and `exact_ns` stay, if they are known. */
bool allo_ring_look(const char *path, struct allo_ring_state *state, struct allo_error *err);

/* Sums up about half of the events, or those before keep_ns, and frees what an interrupted call has
 * left.  Does nothing if there are too few. */
bool allo_ring_compact(const char *path, struct allo_ring_state *state, struct allo_error *err);

/* Whether a file system can free parts of a file: that of a folder. */
bool allo_ring_is_possible(const char *folder);

#endif
