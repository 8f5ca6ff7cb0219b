/* gate.c - see gate.h. */
#include "capture/gate.h"
#include "capture/process.h"
#include "capture/system.h"

#include <linux/membarrier.h>
#include <sched.h>
#include <time.h>

uint8_t allo_gate = ALLO_GATE_OPEN;

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

void allo_gate_init(void)
{
	has_barrier = ALLO_SYSCALL2(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0) ==
		      0;
}

static void sleep_ns(long ns)
{
	struct timespec time = { 0, ns };

	ALLO_SYSCALL2(SYS_nanosleep, &time, 0);
}

/* The `turn`-th time that somebody finds what he waits for not to be so. */
static void pause_for(unsigned turn)
{
	if (turn < YIELDS)
		ALLO_SYSCALL1(SYS_sched_yield, 0);
	else
		sleep_ns(SLEEP_NS);
}

static void make_processors_agree(void)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!has_barrier || ALLO_SYSCALL2(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0) < 0)
		sleep_ns(WITHOUT_NS);
}

static bool is_busy(const struct allo_thread *thread)
{
	return __atomic_load_n(&thread->state, __ATOMIC_ACQUIRE) == ALLO_THREAD_BUSY;
}

/* Whether somebody is still inside. */
static bool is_anyone_inside(const struct allo_thread *self)
{
	const struct allo_thread *thread;

	if (__atomic_load_n(&allo_threads->beginning, __ATOMIC_SEQ_CST) > 0)
		return true;
	thread = __atomic_load_n(&allo_threads->first, __ATOMIC_ACQUIRE);
	while (thread && (thread == self || (self && thread->nested == self) || !is_busy(thread)))
		thread = thread->next;
	return thread != NULL;
}

/* The gate is one thread's at a time.  Who waits for that inside of a hook is in nobody's way. */
static void take(struct allo_thread *self)
{
	uint32_t number = allo_thread_number(), nobody = 0;

	if (self)
		__atomic_store_n(&self->state, ALLO_THREAD_PARKED, __ATOMIC_RELEASE);
	for (unsigned turn = 0;
	     !__atomic_compare_exchange_n(&allo_threads->freezer, &nobody, number, false,
					  __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	     turn++) {
		nobody = 0;
		pause_for(turn);
	}
	freezer_process = process_number();
	if (self)
		self->state = ALLO_THREAD_BUSY;
}

bool allo_gate_freeze(struct allo_thread *self)
{
	bool is_inside = true;

	take(self);
	__atomic_store_n(&allo_gate, ALLO_GATE_FROZEN, __ATOMIC_SEQ_CST);
	make_processors_agree();
	for (unsigned turn = 0; is_inside && turn < SLEEPS_MAX; turn++) {
		is_inside = is_anyone_inside(self);
		if (is_inside)
			pause_for(turn);
	}
	return !is_inside;
}

void allo_gate_thaw(enum allo_gate gate)
{
	__atomic_store_n(&allo_gate, (uint8_t)gate, __ATOMIC_SEQ_CST);
	__atomic_store_n(&allo_threads->freezer, 0, __ATOMIC_RELEASE);
}

bool allo_gate_wait(void)
{
	uint32_t number = allo_thread_number();

	for (unsigned turn = 0; __atomic_load_n(&allo_gate, __ATOMIC_ACQUIRE) == ALLO_GATE_FROZEN;
	     turn++) {
		if (__atomic_load_n(&allo_threads->freezer, __ATOMIC_ACQUIRE) == number)
			return false;
		/* In a child made by fork nobody is there to thaw it. */
		if (freezer_process != process_number())
			__atomic_store_n(&allo_gate, ALLO_GATE_OPEN, __ATOMIC_SEQ_CST);
		else
			pause_for(turn);
	}
	return true;
}
