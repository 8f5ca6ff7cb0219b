/*
 * event_column_codes.h - what those who write columns and those who read them have in common.
 */
#ifndef ALLO_REPLAY_EVENT_COLUMN_CODES_H
#define ALLO_REPLAY_EVENT_COLUMN_CODES_H

#include "replay/packed/event_columns.h"

enum {
	/* The lowest bits of a kind; what a realloc or free that is known has ended follows. */
	ALLO_KIND_FREE,
	ALLO_KIND_ALLOC,
	ALLO_KIND_RESIZE,
	ALLO_KIND_RESIZE_FAILED,
	ALLO_KIND_RETIRE,
	ALLO_KIND_LABELS,
	ALLO_KIND_MARK,
	ALLO_KIND_OWN,
	ALLO_KIND_WHAT = 7,

	ALLO_KIND_STACK = 8,    /* as predicted */
	ALLO_KIND_SIZE = 16,    /* the same */
	ALLO_KIND_ENDED = 32,   /* the stack of the block that ends, the same */
	ALLO_KIND_UNKNOWN = 64, /* the block that ends is not known */

	ALLO_ENDED_MORE = 255, /* in a column of bytes: see those behind it */

	/* Times up to this one, exclusively, are a byte with the two bits that follow the highest
	 * one; others are to the microsecond. */
	ALLO_LONG_TIME = 1 << 15,
	ALLO_TIME_MORE = 255,
	ALLO_LONG_TIME_SHIFT = 10,
};

/* What both sides learn. */

static inline void allo_column_learn_created(struct allo_column_state *state, uint32_t stack,
					     uint64_t size)
{
	state->sites[state->stack].next = stack;
	state->sites[stack].size = size;
	state->sites[stack].blocks++;
	state->stack = stack;
}

static inline void allo_column_learn_ended(struct allo_column_state *state, uint32_t stack,
					   uint32_t number)
{
	state->sites[state->ended_stack].next_ended = stack;
	state->sites[stack].last_ended = number;
	state->ended_stack = stack;
}

#endif
