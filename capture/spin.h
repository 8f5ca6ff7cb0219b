/*
 * spin.h - a spin lock for rare operations, never taken in a signal handler.
 *
 * It must lie in memory that a child made by fork finds zeroed, since the owner may not exist
 * there.
 */
#ifndef ALLO_CAPTURE_SPIN_H
#define ALLO_CAPTURE_SPIN_H

#include "capture/system.h"

static inline bool allo_spin_try(uint32_t *is_locked)
{
	return !__atomic_exchange_n(is_locked, 1, __ATOMIC_ACQUIRE);
}

static inline void allo_spin_lock(uint32_t *is_locked)
{
	while (!allo_spin_try(is_locked))
		ALLO_SYSCALL1(SYS_sched_yield, 0);
}

static inline void allo_spin_unlock(uint32_t *is_locked)
{
	__atomic_store_n(is_locked, 0, __ATOMIC_RELEASE);
}

#endif
