/*
 * kernel_tick.h - a word of memory that the kernel changes with every timer interrupt.
 *
 * The kernel maps the data of its clocks into every process, for the vDSO, and updates them with
 * every timer interrupt: every 4 ms on most machines.  So one comparison shows a hook that a tick
 * has passed since the last event.  It takes neither a thread nor a clock.
 *
 * The layout of that data is private to the kernel.  So the word is found by its contents, and a
 * trial decides whether to use it: each time that CLOCK_MONOTONIC_COARSE has advanced, which the
 * kernel does with the same interrupt, the word must have changed.  The trial never ends.  If the
 * word fails once, every event gets a time stamp from then on.
 */
#ifndef ALLO_CAPTURE_KERNEL_TICK_H
#define ALLO_CAPTURE_KERNEL_TICK_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The word that hooks compare, atomic: the kernel's, or one of the two below.  These contain
 * UINT64_MAX, which no thread remembers as a tick.  allo_tick_reset sets it, also in a child. */
ALLO_HIDDEN extern const uint64_t *allo_tick;
ALLO_HIDDEN extern const uint64_t allo_tick_unproven; /* no word has passed the trial yet */
ALLO_HIDDEN extern const uint64_t allo_tick_off;      /* every event gets a time stamp */

static inline const uint64_t *allo_tick_word(void)
{
	return __atomic_load_n(&allo_tick, __ATOMIC_RELAXED);
}

static inline bool allo_tick_is_off(void)
{
	return allo_tick_word() == &allo_tick_off;
}

/* Prepares for a new recording; `is_off` requests a time stamp with every event. */
void allo_tick_reset(bool is_off);

/* Finds candidates for the word and begins their trial, unless that was done.  False if there are
 * none. */
bool allo_tick_prepare(void);

/* Turns ticks off for the rest of the recording. */
void allo_tick_stop(void);

/* Continues the trial.  False if no candidate is left.  Only the single thread of a recording may
 * call this and allo_tick_prepare(). */
bool allo_tick_look(void);

/* Nanoseconds between two ticks. */
uint32_t allo_tick_ns(void);

/* The trial, apart from the kernel for unit tests. */

enum {
	ALLO_TICK_CANDIDATES = 8,
	ALLO_TICK_PROOF = 2, /* ticks that a word must have changed with before it is used */
};

struct allo_tick_trial {
	const uint64_t *words; /* the candidates, in a row */
	unsigned count;
	uint64_t (*read_clock)(void); /* CLOCK_MONOTONIC_COARSE, ns */
	unsigned ticks;               /* seen so far, up to ALLO_TICK_PROOF */
	unsigned left;                /* a bit for each candidate that has changed with each tick */
	uint64_t clock_ns;            /* at the last tick that was seen */
	uint64_t values[ALLO_TICK_CANDIDATES];
};

/* Starts a trial of the words that were set before. */
void allo_tick_trial_begin(struct allo_tick_trial *trial);

/* Looks at all candidates.  Returns the first one that has passed, or NULL.  `left` is 0 if all
 * have failed. */
const uint64_t *allo_tick_trial_look(struct allo_tick_trial *trial);

/* Finds the time `ns` in the clock data of a vDSO, and sets the candidates.  False if the words are
 * no such data. */
bool allo_tick_trial_find(struct allo_tick_trial *trial, const uint64_t *words, size_t count,
			  uint64_t ns);

#endif
