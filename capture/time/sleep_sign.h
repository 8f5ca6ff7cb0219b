/*
 * sleep_sign.h - a word that shows whether a thread has slept since its last event.
 *
 * glibc registers a struct rseq for each thread.  Its field rseq_cs points to the restartable
 * section that the thread is in.  When the kernel resumes a thread outside of the section, after
 * any sleep, wait, preemption or signal, it clears the field.  The runtime stores a pointer to an
 * empty section there, and a hook compares: if another value is found, the thread may have slept.
 *
 * An empty section has no effect.  Code that uses the field for real sections overwrites the
 * pointer and loses nothing; it costs a few more time stamps.
 *
 * Linux 6.19 clears the field in fewer cases and not after a sleep, so a test decides.
 */
#ifndef ALLO_CAPTURE_SLEEP_SIGN_H
#define ALLO_CAPTURE_SLEEP_SIGN_H

#include "capture/visibility.h"

#include <linux/rseq.h>
#include <stdbool.h>
#include <stdint.h>

ALLO_HIDDEN extern const struct rseq_cs allo_empty_section;

/* The field of the calling thread, as its distance from allo_empty_section.  0 if it has none: that
 * is the address of a word that never shows an awake thread.  So zeroed state is safe. */
typedef uintptr_t allo_sleep_sign;

/* Finds out whether libc registers the struct (glibc 2.35 and later).  Once, before the others. */
void allo_sleep_sign_init(void);

allo_sleep_sign allo_sleep_sign_find(void);

/* Tests the sign by a short sleep.  Call it in the thread whose sign it is. */
bool allo_sleep_sign_works(allo_sleep_sign sign);

static inline uint64_t *allo_sleep_sign_field(allo_sleep_sign sign)
{
	return (uint64_t *)((uintptr_t)&allo_empty_section + sign);
}

/* From here on, the sign shows whether the thread has slept. */
static inline void allo_sleep_sign_set(allo_sleep_sign sign)
{
	__atomic_store_n(allo_sleep_sign_field(sign), (uint64_t)&allo_empty_section,
			 __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

/* 0 if the thread has not slept since. */
static inline uint64_t allo_sleep_sign_change(allo_sleep_sign sign)
{
	return __atomic_load_n(allo_sleep_sign_field(sign), __ATOMIC_RELAXED) ^
	       (uint64_t)&allo_empty_section;
}

static inline bool allo_sleep_sign_is_awake(allo_sleep_sign sign)
{
	return allo_sleep_sign_change(sign) == 0;
}

/* Removes the pointer, if it is there. */
void allo_sleep_sign_clear(allo_sleep_sign sign);

#endif
