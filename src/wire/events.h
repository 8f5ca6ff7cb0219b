/*
 * events.h - the bytes of an event stream.
 *
 * Writer and reader keep the same small state and predict from it: what comes as predicted costs no
 * byte.  The first byte of an event:
 *
 *     free     0 | six bits of the pointer | more
 *     alloc    1 | stack as predicted | size as predicted | four bits of the pointer | more
 *
 * from the lowest bit up.  The pointer is written as zigzag((pointer - last pointer) / 16) + 1: its
 * low bits in the first byte and, when `more` is set, the rest as a varint behind it.  Then come
 * the stack and the size as varints, where they are not as predicted.
 *
 * A stack is written as twice its number, or, where the prediction that its number leads to was
 * last used for it, as twice the prediction's index and 1.
 *
 * A code of 0 does not happen, so a zero byte is an escape.  A varint follows: below 8 it is one of
 * enum allo_escape.  Otherwise, less 8, its lowest bit says what the rest is: 1 the code of a block
 * that a realloc begins with, 0 the time since the last one in units of 64 ticks.
 *
 * Where a second thread exists, each event is followed by a varint: the time since the one before
 * in units of 16 ticks; until then an escape tells the time now and then, before the events that it
 * is the time of.  Events are free, alloc, the beginning of realloc, FAILED, GONE and NOTE; the
 * other escapes have no time.  What a realloc has come to is the next alloc of the stream, FAILED
 * or GONE.
 *
 * Ticks and pointer start from what the block's header says, in every block.  A fresh block starts
 * with all else zero, too: predictions, the last stack, no time behind events, no realloc begun, no
 * labels.
 */
#ifndef ALLO_WIRE_EVENTS_H
#define ALLO_WIRE_EVENTS_H

#include "wire/varint.h"

#include <stddef.h>

enum allo_escape {
	ALLO_ESCAPE_NOTE = 1,   /* varint: enum allo_wire_note, and the varints that belong to it */
	ALLO_ESCAPE_TIMED = 2,  /* from now on, a time follows each event */
	ALLO_ESCAPE_FAILED = 4, /* the realloc that began has failed: the block is as before */
	ALLO_ESCAPE_LOW = 5,    /* byte: the low four bits of the next event's pointer, when it is
				   not a multiple of 16 */
	ALLO_ESCAPE_UNTIMED = 6, /* the reverse of TIMED */
	ALLO_ESCAPE_GONE = 7,    /* the realloc that began has freed the block (a size of 0) */
	ALLO_ESCAPES = 8,        /* a time, or the beginning of a realloc */
};

/* What a program says of itself; texts and sets of labels are facts (wire/stacks.h). */
enum allo_wire_note {
	ALLO_NOTE_LABELS = 1, /* set: what the thread does from here on has these labels; 0: none */
	ALLO_NOTE_MARK = 2,   /* text: the name of this moment */
	ALLO_NOTE_EVENT = 3,  /* text (0: no name), stack, weight: an event of the program's own */
};

enum {
	ALLO_EVENT_MAX = 64, /* bytes an event may take, its escapes included */
	ALLO_TICK_SHIFT = 4, /* of times behind events */
	ALLO_TIME_SHIFT = 6, /* of times by themselves */
	ALLO_PREDICTIONS = 4096,
};

/* By the low bits of a stack's number: the stack that was last here, the stack that followed it,
 * and the size it had. */
struct allo_prediction {
	uint32_t stack;
	uint32_t next_stack;
	uint32_t size; /* 0: unknown; sizes of 2^32 and more are never predicted */
};

struct allo_event_state {
	uint64_t ticks;   /* of the last time written */
	uint64_t pointer; /* the last one, / 16 */
	uint32_t stack;   /* the last one */
	struct allo_prediction predictions[ALLO_PREDICTIONS];
};

/* Predicts the stack that follows the last one, and learns the one that does. */
static inline bool allo_predict_stack(struct allo_event_state *state, uint32_t stack)
{
	uint32_t *next = &state->predictions[state->stack % ALLO_PREDICTIONS].next_stack;
	bool is_right = *next == stack;

	*next = stack;
	state->stack = stack;
	return is_right;
}

/* How a stack is written that was not predicted; learns it in any case. */
static inline uint64_t allo_stack_code(struct allo_event_state *state, uint32_t stack)
{
	uint32_t *last = &state->predictions[stack % ALLO_PREDICTIONS].stack;
	uint64_t is_last = *last == stack; /* no branch: nobody could foresee it */
	uint64_t mask = (0 - is_last) & ~(uint64_t)(ALLO_PREDICTIONS - 1);

	*last = stack;
	return (stack & ~mask) << 1 | is_last;
}

/* The size that the stack had last time; to be called after the stack is known. */
static inline bool allo_predict_size(struct allo_event_state *state, uint64_t size)
{
	uint32_t *last = &state->predictions[state->stack % ALLO_PREDICTIONS].size;
	bool is_right = size != 0 && *last == size;

	*last = size <= UINT32_MAX ? (uint32_t)size : 0;
	return is_right;
}

static inline uint64_t allo_pointer_code(struct allo_event_state *state, uint64_t pointer)
{
	uint64_t code = allo_zigzag((pointer >> 4) - state->pointer) + 1;

	state->pointer = pointer >> 4;
	return code;
}

/* A pointer that is not a multiple of 16 is announced; call it before what has the pointer. */
static inline uint8_t *allo_put_low(uint8_t *at, uint64_t pointer)
{
	if (__builtin_expect((pointer & 15) != 0, 0)) {
		*at++ = 0;
		*at++ = ALLO_ESCAPE_LOW;
		*at++ = (uint8_t)(pointer & 15);
	}
	return at;
}

static inline uint8_t *allo_put_alloc(struct allo_event_state *state, uint8_t *at, uint64_t pointer,
				      uint64_t size, uint32_t stack)
{
	uint64_t code, stack_code;
	bool has_stack, has_size;

	at = allo_put_low(at, pointer);
	code = allo_pointer_code(state, pointer);
	has_stack = !allo_predict_stack(state, stack);
	stack_code = allo_stack_code(state, stack);
	has_size = !allo_predict_size(state, size);
	*at++ = (uint8_t)(1 | !has_stack << 1 | !has_size << 2 | (code & 15) << 3 |
			  (code > 15) << 7);
	if (code > 15)
		at = allo_varint_put(at, code >> 4);
	if (has_stack)
		at = allo_varint_put(at, stack_code);
	if (has_size)
		at = allo_varint_put(at, size);
	return at;
}

static inline uint8_t *allo_put_free(struct allo_event_state *state, uint8_t *at, uint64_t pointer)
{
	uint64_t code;

	at = allo_put_low(at, pointer);
	code = allo_pointer_code(state, pointer);
	*at++ = (uint8_t)((code & 63) << 1 | (code > 63) << 7);
	if (code > 63)
		at = allo_varint_put(at, code >> 6);
	return at;
}

/* Realloc begins. */
static inline uint8_t *allo_put_resize(struct allo_event_state *state, uint8_t *at,
				       uint64_t pointer)
{
	at = allo_put_low(at, pointer);
	*at++ = 0;
	return allo_varint_put(at, ALLO_ESCAPES + (allo_pointer_code(state, pointer) << 1 | 1));
}

/* Units since the last time.  Counters of two processors may differ by a little: time stands still,
 * and does not go back. */
static inline uint64_t allo_time_units(struct allo_event_state *state, uint64_t ticks,
				       unsigned shift)
{
	uint64_t units = (int64_t)(ticks - state->ticks) < 0 ? 0 : (ticks - state->ticks) >> shift;

	state->ticks += units << shift;
	return units;
}

/* The time of an event, behind it. */
static inline uint8_t *allo_put_time(struct allo_event_state *state, uint8_t *at, uint64_t ticks)
{
	return allo_varint_put(at, allo_time_units(state, ticks, ALLO_TICK_SHIFT));
}

/* A time by itself. */
static inline uint8_t *allo_put_lone_time(struct allo_event_state *state, uint8_t *at,
					  uint64_t ticks)
{
	*at++ = 0;
	return allo_varint_put(at, ALLO_ESCAPES +
					   (allo_time_units(state, ticks, ALLO_TIME_SHIFT) << 1));
}

#endif
