/*
 * gate.h - whether hooks have anything to do, and how to find all threads outside of them.
 *
 * A hook goes in by saying so in its thread's state and then looking at the gate; whoever shuts the
 * gate then looks at the states.  One of the two sees the other: the kernel makes all processors
 * agree when the gate is shut, so that hooks need no instruction for it.
 */
#ifndef ALLO_CAPTURE_GATE_H
#define ALLO_CAPTURE_GATE_H

#include <stdbool.h>
#include <stdint.h>

struct allo_thread;

enum allo_gate {
	ALLO_GATE_SHUT,   /* nothing is recorded: hooks pass by */
	ALLO_GATE_OPEN,   /* also until it is known what is wanted */
	ALLO_GATE_FROZEN, /* hooks wait: somebody needs all threads to be outside */
};

extern uint8_t allo_gate;

static inline bool allo_gate_is_open(void)
{
	return __builtin_expect(__atomic_load_n(&allo_gate, __ATOMIC_RELAXED) == ALLO_GATE_OPEN, 1);
}

/* Before threads may be waited for. */
void allo_gate_init(void);

/* Makes hooks wait, and waits until nobody is inside of one but `self`, which may be NULL.  False
 * when somebody stays there for too long: what is done then must put up with him. */
bool allo_gate_freeze(struct allo_thread *self);

/* What it is to be from now on. */
void allo_gate_thaw(enum allo_gate gate);

/* For a hook that is not inside, or not far enough to be in the way: waits while it is frozen.
 * False when that cannot be waited for, since this thread has frozen it. */
bool allo_gate_wait(void);

#endif
