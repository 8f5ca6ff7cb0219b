/*
 * events.h - the encoding of an event stream.
 *
 * Writer and reader keep the same small state and predict from it; a correct prediction costs no
 * byte.  The first byte of an event, from the lowest bit up:
 *
 *     free     0 | six bits of the pointer | more
 *     alloc    1 | stack is predicted | size is predicted | four bits of the pointer | more
 *
 * The pointer is encoded as zigzag((pointer - last pointer) / 16) + 1: its low bits are in the
 * first byte and, if `more` is set, the rest follows as a varint.  Then come the stack and the size
 * as varints, unless they are predicted.
 *
 * A stack is encoded as twice its id.  If the prediction at the index of its id was last used for
 * the same stack, it is encoded as twice that index, plus 1.
 *
 * A pointer code is never 0, so a zero byte is an escape.  A varint follows.  Below 8 it is one of
 * enum allo_escape.  Otherwise subtract 8: if the lowest bit is 1, the rest is the pointer code of
 * a block at the start of a realloc; if it is 0, the rest is the time since the last one in units
 * of 64 ticks.
 *
 * If every event has a time, a varint follows each event: the time since the previous event in
 * units of 16 ticks.  Otherwise, escapes give the time now and then, before the events they apply
 * to.  Events are free, alloc, the start of a realloc, FAILED, GONE and NOTE; the other escapes
 * have no time.  A realloc ends with the stream's next alloc, FAILED or GONE.
 *
 * In every slot, ticks and pointer start from the values in the slot's header.  In a fresh slot all
 * other state starts from zero: predictions, the last stack, no times after events, no open
 * realloc, no labels.
 */
#ifndef ALLO_WIRE_EVENTS_H
#define ALLO_WIRE_EVENTS_H

#include "wire/varint.h"

#include <stddef.h>

enum allo_escape {
	ALLO_ESCAPE_NOTE = 1,   /* varint: enum allo_wire_note, and the varints that belong to it */
	ALLO_ESCAPE_TIMED = 2,  /* from here on, a time follows each event */
	ALLO_ESCAPE_FAILED = 4, /* the open realloc failed: the block is unchanged */
	ALLO_ESCAPE_LOW = 5,    /* byte: the low four bits of the next event's pointer, when it is
				   not a multiple of 16 */
	ALLO_ESCAPE_UNTIMED = 6, /* the reverse of TIMED */
	ALLO_ESCAPE_GONE = 7,    /* the open realloc freed the block (size 0) */
	ALLO_ESCAPES = 8,        /* from here on: a time, or the start of a realloc */
};

/* Annotations of the program; texts and label sets are facts (wire/stacks.h). */
enum allo_wire_note {
	ALLO_NOTE_LABELS = 1, /* set: labels of the thread's later events; 0: none */
	ALLO_NOTE_MARK = 2,   /* text: the name of this moment */
	ALLO_NOTE_EVENT = 3,  /* text (0: no name), stack, weight: a program event */
};

enum {
	ALLO_EVENT_MAX = 64, /* maximum bytes of an event with its escapes */
	ALLO_TICK_SHIFT = 4, /* log2 of the unit of times after events, in ticks */
	ALLO_TIME_SHIFT = 6, /* log2 of the unit of times in escapes, in ticks */
	ALLO_PREDICTIONS = 4096,
};

/* A prediction, indexed by the low bits of a stack's id: the last stack with these bits, the stack
 * that followed it, and its size. */
struct allo_prediction {
	uint32_t stack;
	uint32_t next_stack;
	uint32_t size; /* 0: unknown; sizes of 2^32 and more are never predicted */
};

struct allo_event_state {
	uint64_t ticks;   /* the last time written */
	uint64_t pointer; /* the last pointer / 16 */
	uint32_t stack;   /* the last stack */
	struct allo_prediction predictions[ALLO_PREDICTIONS];
};

/* Returns whether the stack was predicted from the last one, and learns it. */
static inline bool allo_predict_stack(struct allo_event_state *state, uint32_t stack)
{
	uint32_t *next = &state->predictions[state->stack % ALLO_PREDICTIONS].next_stack;
	bool is_right = *next == stack;

	*next = stack;
	state->stack = stack;
	return is_right;
}

/* The code of a stack that was not predicted; learns the stack. */
static inline uint64_t allo_stack_code(struct allo_event_state *state, uint32_t stack)
{
	uint32_t *last = &state->predictions[stack % ALLO_PREDICTIONS].stack;
	uint64_t is_last = *last == stack; /* no branch: it would be unpredictable */
	uint64_t mask = (0 - is_last) & ~(uint64_t)(ALLO_PREDICTIONS - 1);

	*last = stack;
	return (stack & ~mask) << 1 | is_last;
}

/* Returns whether the size is the stack's last one, and learns it.  Call it after
 * allo_predict_stack(). */
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

/* Writes an escape for a pointer that is not a multiple of 16; call it before the event. */
static inline uint8_t *allo_put_low(uint8_t *at, uint64_t pointer)
{
	if (__builtin_expect((pointer & 15) != 0, 0)) {
		*at++ = 0;
		*at++ = ALLO_ESCAPE_LOW;
		*at++ = (uint8_t)(pointer & 15);
	}
	return at;
}

/* Inlined into both ways of a hook to write it, timed and not. */
static inline __attribute__((always_inline)) uint8_t *allo_put_alloc(struct allo_event_state *state,
								     uint8_t *at, uint64_t pointer,
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

/* Writes the start of a realloc. */
static inline uint8_t *allo_put_resize(struct allo_event_state *state, uint8_t *at,
				       uint64_t pointer)
{
	at = allo_put_low(at, pointer);
	*at++ = 0;
	return allo_varint_put(at, ALLO_ESCAPES + (allo_pointer_code(state, pointer) << 1 | 1));
}

/* Time units since the last time, never negative: counters of two processors may differ a little.
 */
static inline uint64_t allo_time_units(struct allo_event_state *state, uint64_t ticks,
				       unsigned shift)
{
	uint64_t units = (int64_t)(ticks - state->ticks) < 0 ? 0 : (ticks - state->ticks) >> shift;

	state->ticks += units << shift;
	return units;
}

/* Writes the time of the event before it. */
static inline uint8_t *allo_put_time(struct allo_event_state *state, uint8_t *at, uint64_t ticks)
{
	return allo_varint_put(at, allo_time_units(state, ticks, ALLO_TICK_SHIFT));
}

/* Writes a time as an escape. */
static inline uint8_t *allo_put_lone_time(struct allo_event_state *state, uint8_t *at,
					  uint64_t ticks)
{
	*at++ = 0;
	return allo_varint_put(at, ALLO_ESCAPES +
					   (allo_time_units(state, ticks, ALLO_TIME_SHIFT) << 1));
}

#endif
