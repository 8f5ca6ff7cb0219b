/* safepoint.c - see safepoint.h. */
#include "capture/safepoint.h"
#include "capture/process.h"
#include "capture/system.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <time.h>

uint32_t allo_safepoint = ALLO_SAFEPOINT_OPEN;
uint32_t allo_session;

enum {
	YIELDS = 64,           /* before a thread that waits sleeps */
	SLEEP_NS = 50000,      /* each time */
	SLEEPS_MAX = 4000,     /* a fifth of a second, for one that does not come out */
	WITHOUT_NS = 20000000, /* where the kernel cannot make processors agree: they will have */
};

static bool has_barrier;
static uint32_t freezer_process; /* of whoever froze it last */

static uint32_t process_number(void)
{
	return (uint32_t)ALLO_SYSCALL1(SYS_getpid, 0);
}

void allo_safepoint_set(enum allo_safepoint gate)
{
	__atomic_store_n(&allo_safepoint, allo_session * 4 + (uint32_t)gate, __ATOMIC_SEQ_CST);
	if (gate != ALLO_SAFEPOINT_FROZEN && allo_hooks_update)
		allo_hooks_update();
}

void allo_safepoint_init(void)
{
	has_barrier = ALLO_SYSCALL2(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) ==
		      0;
}

/* The `turn`-th time that somebody finds what he waits for not to be so. */
static void pause_for(unsigned turn)
{
	if (turn < YIELDS)
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

/* Who waits for the gate inside of a hook is in nobody's way, until the recording ends. */
static bool is_inside(const struct allo_thread_state *thread)
{
	uint32_t state = __atomic_load_n(&thread->phase, __ATOMIC_ACQUIRE);

	return state == ALLO_THREAD_BUSY ||
	       (state == ALLO_THREAD_PARKED && allo_process->is_ending);
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

/* The gate is one thread's at a time. */
static bool try_to_take(void)
{
	uint32_t nobody = 0;

	if (!__atomic_compare_exchange_n(&allo_process->freezer, &nobody, allo_thread_number(),
					 false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
		return false;
	freezer_process = process_number();
	return true;
}

static void give_back(void)
{
	__atomic_store_n(&allo_process->freezer, 0, __ATOMIC_RELEASE);
}

/* False when the recording is about to end. */
static bool take(struct allo_thread_state *self)
{
	bool is_taken = false, is_ending = false;

	if (self)
		__atomic_store_n(&self->phase, ALLO_THREAD_PARKED, __ATOMIC_RELEASE);
	for (unsigned turn = 0; !is_taken && !is_ending; turn++) {
		is_taken = try_to_take();
		is_ending = self && __atomic_load_n(&allo_process->is_ending, __ATOMIC_ACQUIRE);
		if (!is_taken && !is_ending)
			pause_for(turn);
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
	for (unsigned turn = 0; is_waiting && turn < SLEEPS_MAX; turn++) {
		is_waiting = is_anyone_inside(self);
		if (is_waiting)
			pause_for(turn);
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
	for (unsigned turn = 0; is_inside(thread) && turn < YIELDS; turn++)
		pause_for(turn);
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

	for (unsigned turn = 0; allo_safepoint_state() == ALLO_SAFEPOINT_FROZEN; turn++) {
		if (__atomic_load_n(&allo_process->freezer, __ATOMIC_ACQUIRE) == number)
			return false;
		/* In a child made by fork nobody is there to thaw it. */
		if (freezer_process != process_number())
			allo_safepoint_set(ALLO_SAFEPOINT_OPEN);
		else
			pause_for(turn);
	}
	return true;
}
