/*
 * safepoint.h - stops all threads outside of the hooks, without a cost for hooks that run freely.
 *
 * A hook stores "busy" in its thread's state and then loads the safepoint word.  A thread that
 * needs all others outside stores "frozen" in the word and then loads the states.  One of the two
 * always sees the other's store: membarrier(2) orders the processors on the rare side, so the hook
 * needs no fence.
 */
#ifndef ALLO_CAPTURE_SAFEPOINT_H
#define ALLO_CAPTURE_SAFEPOINT_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stdint.h>

struct allo_thread_state;

enum allo_safepoint {
	ALLO_SAFEPOINT_SHUT,   /* nothing is recorded: hooks call the real functions */
	ALLO_SAFEPOINT_OPEN,   /* hooks record; also until the settings are read */
	ALLO_SAFEPOINT_FROZEN, /* hooks wait: one thread needs all others outside */
};

/* session << 3 | ALLO_SAFEPOINT_PLAIN, if set | enum allo_safepoint.  The session is part of the
 * word because a thread may be preempted between its two steps for longer than a recording lasts.
 */
ALLO_HIDDEN extern uint32_t allo_safepoint;

/* allo_settings.is_plain: the short hooks may record.  Part of the word, so that a thread that
 * calls a short hook of a stale dispatch table notices. */
enum { ALLO_SAFEPOINT_PLAIN = 4 };

/* In a thread's state, in place of the word that lets it into hooks: see overhead.h. */
enum { ALLO_SAFEPOINT_STALE = 3 };

/* Number of the current recording in this process.  A thread that was set up for another one starts
 * over. */
ALLO_HIDDEN extern uint32_t allo_session;

/* The word while recording is on in the current session. */
static inline uint32_t allo_safepoint_open_word(void)
{
	return allo_session << 3 | ALLO_SAFEPOINT_OPEN;
}

/* Acquire: a hook that finds the safepoint open sees all that was written while it was frozen or
 * shut. */
static inline uint32_t allo_safepoint_load(void)
{
	return __atomic_load_n(&allo_safepoint, __ATOMIC_ACQUIRE);
}

static inline enum allo_safepoint allo_safepoint_state(void)
{
	return (enum allo_safepoint)(allo_safepoint_load() % 4);
}

/* Chooses the hooks again after the safepoint or the settings changed.  Weak: a build without hooks
 * does not define it. */
void allo_hooks_update(void) __attribute__((weak, visibility("hidden")));

void allo_safepoint_set(enum allo_safepoint state);

/* Registers with membarrier(2); call it before threads can be frozen. */
void allo_safepoint_init(void);

/* Freezes the hooks and waits until no thread but `self` (may be NULL) is inside of one.  False,
 * with nothing changed, if recording is off or about to end. */
bool allo_safepoint_freeze(struct allo_thread_state *self);

/* Opens the safepoint again. */
void allo_safepoint_thaw(void);

/* Freezes the hooks to end a recording: threads parked inside of a hook leave it first.  False if a
 * thread stays inside for too long; the caller must then keep the memory that thread may use. */
bool allo_safepoint_freeze_to_end(void);

/* Orders memory between all threads: stores before this call are visible to all loads after it. */
void allo_safepoint_barrier(void);

/* Waits until a thread that has loaded the safepoint word but not yet acted on it is outside. */
void allo_safepoint_await_exit(const struct allo_thread_state *thread);

/* Ends the freeze with hooks that call the real functions. */
void allo_safepoint_shut(void);

/* Waits while the safepoint is frozen, for a hook that is outside or about to go in.  False if this
 * very thread has frozen it. */
bool allo_safepoint_wait(void);

#endif
