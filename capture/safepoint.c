/* safepoint.c - freezing and thawing: one thread at a time, with a bounded wait. */
#include "capture/safepoint.h"
#include "base/assert.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <time.h>

uint32_t allo_safepoint = ALLO_SAFEPOINT_OPEN;
uint32_t allo_session;

enum {
	YIELDS = 64,           /* before a waiting thread sleeps */
	SLEEP_NS = 50000,      /* per sleep */
	SLEEPS_MAX = 4000,     /* 0.2 s in all for a thread that stays inside */
	WITHOUT_NS = 20000000, /* without membarrier: store buffers have drained after 20 ms */
};

static bool has_barrier;
static uint32_t freezer_process; /* process of the last thread that froze; differs in a fork */

static uint32_t process_number(void)
{
	return (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
}

void allo_safepoint_set(enum allo_safepoint state)
{
	uint32_t word;

	ALLO_ASSERT(state <= ALLO_SAFEPOINT_FROZEN);
	word = allo_session << 3 | (uint32_t)state;
	if (allo_settings.is_plain)
		word |= ALLO_SAFEPOINT_PLAIN;
	__atomic_store_n(&allo_safepoint, word, __ATOMIC_SEQ_CST);
	if (state != ALLO_SAFEPOINT_FROZEN && allo_hooks_update)
		allo_hooks_update();
}

void allo_safepoint_init(void)
{
	has_barrier = ALLO_SYSCALL2(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) ==
		      0;
}

/* Yields for the first tries, then sleeps. */
static void back_off(unsigned tries)
{
	if (tries < YIELDS)
		ALLO_SYSCALL1(SYS_sched_yield, 0);
	else
		allo_sleep_ns(SLEEP_NS);
}

void allo_safepoint_barrier(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!has_barrier || ALLO_SYSCALL2(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) < 0)
		allo_sleep_ns(WITHOUT_NS);
}

/* A thread parked inside of a hook touches nothing until it gets the safepoint, so it counts as
 * outside, except when the recording ends. */
static bool is_inside(const struct allo_thread_state *thread)
{
	uint32_t phase = __atomic_load_n(&thread->phase, __ATOMIC_ACQUIRE);

	return phase == ALLO_THREAD_BUSY || phase == ALLO_THREAD_PASSING ||
	       (phase == ALLO_THREAD_PARKED &&
		__atomic_load_n(&allo_process->is_ending, __ATOMIC_RELAXED));
}

static bool is_anyone_inside(const struct allo_thread_state *self)
{
	const struct allo_thread_state *thread;

	if (__atomic_load_n(&allo_process->beginning, __ATOMIC_SEQ_CST) > 0)
		return true;
	thread = __atomic_load_n(&allo_process->threads, __ATOMIC_ACQUIRE);
	while (thread && (thread == self || !is_inside(thread)))
		thread = thread->next;
	return thread != NULL;
}

/* One thread at a time owns the safepoint. */
static bool try_to_take(void)
{
	uint32_t nobody = 0;

	if (!__atomic_compare_exchange_n(&allo_process->freezer, &nobody, allo_thread_number(),
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	__atomic_store_n(&freezer_process, process_number(), __ATOMIC_RELAXED);
	return true;
}

static void give_back(void)
{
	__atomic_store_n(&allo_process->freezer, 0, __ATOMIC_RELEASE);
}

/* False if the recording is about to end. */
static bool take(struct allo_thread_state *self)
{
	bool is_taken = false, is_ending = false;

	if (self)
		__atomic_store_n(&self->phase, ALLO_THREAD_PARKED, __ATOMIC_RELEASE);
	for (unsigned tries = 0; !is_taken && !is_ending; tries++) {
		is_taken = try_to_take();
		is_ending = self && __atomic_load_n(&allo_process->is_ending, __ATOMIC_ACQUIRE);
		if (!is_taken && !is_ending)
			back_off(tries);
	}
	if (self)
		__atomic_store_n(&self->phase, ALLO_THREAD_BUSY, __ATOMIC_SEQ_CST);
	return is_taken;
}

static bool wait_until_outside(const struct allo_thread_state *self)
{
	bool is_waiting = true;

	allo_safepoint_set(ALLO_SAFEPOINT_FROZEN);
	allo_safepoint_barrier();
	for (unsigned tries = 0; is_waiting && tries < SLEEPS_MAX; tries++) {
		is_waiting = is_anyone_inside(self);
		if (is_waiting)
			back_off(tries);
	}
	return !is_waiting;
}

bool allo_safepoint_freeze(struct allo_thread_state *self)
{
	if (!take(self))
		return false;
	if (allo_safepoint_state() != ALLO_SAFEPOINT_OPEN) {
		give_back();
		return false;
	}
	wait_until_outside(self);
	return true;
}

void allo_safepoint_thaw(void)
{
	allo_safepoint_set(ALLO_SAFEPOINT_OPEN);
	give_back();
}

bool allo_safepoint_freeze_to_end(void)
{
	take(NULL);
	__atomic_store_n(&allo_process->is_ending, 1, __ATOMIC_SEQ_CST);
	return wait_until_outside(NULL);
}

void allo_safepoint_await_exit(const struct allo_thread_state *thread)
{
	for (unsigned tries = 0; is_inside(thread) && tries < YIELDS; tries++)
		back_off(tries);
}

void allo_safepoint_shut(void)
{
	allo_safepoint_set(ALLO_SAFEPOINT_SHUT);
	__atomic_store_n(&allo_process->is_ending, 0, __ATOMIC_SEQ_CST);
	give_back();
}

bool allo_safepoint_wait(void)
{
	uint32_t number = allo_thread_number();

	for (unsigned tries = 0; allo_safepoint_state() == ALLO_SAFEPOINT_FROZEN; tries++) {
		if (__atomic_load_n(&allo_process->freezer, __ATOMIC_ACQUIRE) == number)
			return false;
		/* In a forked child the thread that would thaw it does not exist. */
		if (__atomic_load_n(&freezer_process, __ATOMIC_RELAXED) != process_number())
			allo_safepoint_set(ALLO_SAFEPOINT_OPEN);
		else
			back_off(tries);
	}
	return true;
}
