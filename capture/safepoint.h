/*
 * safepoint.h - whether hooks have anything to do, and how to find all threads outside of them.
 *
 * A hook goes in by saying so in its thread's state and then looking at the gate; whoever shuts the
 * gate then looks at the states.  One of the two sees the other: the kernel makes all processors
 * agree when the gate is shut, so that hooks need no instruction for it.
 */
#ifndef ALLO_CAPTURE_SAFEPOINT_H
#define ALLO_CAPTURE_SAFEPOINT_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stdint.h>

struct allo_thread_state;

enum allo_safepoint {
	ALLO_SAFEPOINT_SHUT,   /* nothing is recorded: hooks pass by */
	ALLO_SAFEPOINT_OPEN,   /* also until it is known what is wanted */
	ALLO_SAFEPOINT_FROZEN, /* hooks wait: somebody needs all threads to be outside */
};

/* Also says which recording it is the gate of: a thread may be held up between looking at its own
 * state and going in for longer than a recording lasts. */
ALLO_HIDDEN extern uint32_t allo_safepoint;

/* The recordings of this process, counted: a thread that has begun in another one begins anew. */
ALLO_HIDDEN extern uint32_t allo_session;

static inline enum allo_safepoint allo_safepoint_state(void)
{
	return (enum allo_safepoint)(__atomic_load_n(&allo_safepoint, __ATOMIC_RELAXED) % 4);
}

/* Lets hooks know that the gate, or what is wanted, has changed.  Where there are none, neither is
 * this. */
void allo_hooks_update(void) __attribute__((weak, visibility("hidden")));

void allo_safepoint_set(enum allo_safepoint gate);

/* Before threads may be waited for. */
void allo_safepoint_init(void);

/* Makes hooks wait, and waits until nobody is inside of one but `self`, which may be NULL.  False,
 * and nothing has changed, when recording is not on, or is about to end. */
bool allo_safepoint_freeze(struct allo_thread_state *self);

/* Lets them go on. */
void allo_safepoint_thaw(void);

/* The same for the end of a recording: whoever waits inside of a hook comes out of it first.  False
 * when somebody stays there for too long: what is done then must put up with him. */
bool allo_safepoint_freeze_to_end(void);

/* What this thread has written before, every other one sees that reads it after. */
void allo_safepoint_barrier(void);

/* Waits until a thread that has only looked at the gate is outside. */
void allo_safepoint_await_exit(const struct allo_thread_state *thread);

/* Nothing is recorded from now on. */
void allo_safepoint_shut(void);

/* For a hook that is not inside, or not far enough to be in the way: waits while it is frozen.
 * False when that cannot be waited for, since this thread has frozen it. */
bool allo_safepoint_wait(void);

#endif
