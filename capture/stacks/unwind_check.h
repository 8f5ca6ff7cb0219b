/*
 * unwind_check.h - compares stacks with those of libgcc's unwinder, for tests (ALLO_VERIFY_UNWIND).
 *
 * libgcc's unwinder is a hundred times slower and takes locks.
 */
#ifndef ALLO_CAPTURE_UNWIND_CHECK_H
#define ALLO_CAPTURE_UNWIND_CHECK_H

#include "capture/thread.h"

/* Loads libgcc's unwinder if checks are enabled. */
void allo_unwind_check_init(void);

/* Compares one in ALLO_VERIFY_UNWIND stacks and counts the differences. */
void allo_unwind_check(struct allo_thread_state *thread, const struct allo_registers *caller,
		       uint32_t id);

#endif
