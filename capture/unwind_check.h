/*
 * unwind_check.h - a second opinion on stacks: libgcc's unwinder.
 *
 * A hundred times slower than ours and with locks of its own, so for tests only.
 */
#ifndef ALLO_CAPTURE_UNWIND_CHECK_H
#define ALLO_CAPTURE_UNWIND_CHECK_H

#include "capture/thread.h"

/* Finds the unwinder, where checks are asked for. */
void allo_unwind_check_init(void);

/* Compares a stack that was just found, if it is its turn, and counts it. */
void allo_unwind_check(struct allo_thread_state *thread, const struct allo_registers *caller,
		       uint32_t id);

#endif
