/*
 * steps.h - what a thread has learned about the time that passes between two of its events.
 *
 * A step is a pair of places in the program.  The code between them takes about as long each time,
 * so a step that was short several times in a row is known as short, and its events need no clock.
 * A step that turns out to be long is not trusted again for many more short times.
 */
#ifndef ALLO_CAPTURE_STEPS_H
#define ALLO_CAPTURE_STEPS_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	ALLO_STEPS = 1024,
	ALLO_STEP_NONE = ALLO_STEPS,
	/* Short times in a row until a step is known. */
	ALLO_STEP_NEW = 4,
	ALLO_STEP_OLD = 1,     /* it was known before a long gap */
	ALLO_STEP_LONG = 127,  /* it was long, or may have been */
	ALLO_STEP_WRONG = 255, /* it may have been long before a sleep */
	/* The last ones, above LONG, count this many times each. */
	ALLO_STEP_PATIENCE = 256,
};

struct allo_steps {
	uint8_t left[ALLO_STEPS]; /* until each step is known: 0 */
	uint32_t last;            /* the step to the last event, unless that read the clock: NONE */
	uint32_t count;           /* of short steps */
};

/* The step from an allocation with the stack `last` to the next event: an allocation with the stack
 * `next`, a free whose return address is `next`, or another event: 0.  Different steps may share a
 * number. */
static inline uint64_t allo_step(uint32_t last, uint64_t next)
{
	return ((uint64_t)last * 5 + next) % ALLO_STEPS;
}

/* No step is known. */
void allo_steps_begin(struct allo_steps *steps);

/* Each step must be short so many times in a row again, or more often if it was long. */
void allo_steps_forget(struct allo_steps *steps, uint8_t times);

/* This step was short, or long, by the clock. */
void allo_steps_add_short(struct allo_steps *steps, uint64_t step);
void allo_steps_add_long(struct allo_steps *steps, uint64_t step);

/* True if the last event did not read the clock.  So it is unknown whether time has passed before
 * it or after it. */
static inline bool allo_steps_is_unsure(const struct allo_steps *steps)
{
	return steps->last != ALLO_STEP_NONE;
}

/* The step to that event may have been long; `has_slept`: a sleep came after it. */
void allo_steps_doubt_last(struct allo_steps *steps, bool has_slept);

#endif
