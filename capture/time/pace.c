/* pace.c - the slow half of giving time stamps. */
#include "capture/time/pace.h"
#include "capture/debug_log.h"
#include "capture/system.h"
#include "capture/thread.h"

#include <sys/resource.h>

enum {
	/* Short gaps in a row, of 2 us at most, before a thread stops reading the clock.  At 20 ns
	 * each these readings take a tenth of the gap of 50 us that they follow. */
	CALM = 256,
	STAMP_EVERY = 96,  /* bytes: about 32 events */
	HIDDEN_NS = 50000, /* of computing in a gap with a sleep: the error that is promised */
};

void allo_pace_begin(struct allo_thread_state *thread)
{
	struct allo_pace *pace = &thread->pace;

	*pace = (struct allo_pace){ .own_sign = allo_sleep_sign_find(), .room = ALLO_TAIL_FULL };
	allo_steps_begin(&pace->steps);
}

void allo_pace_add_thread(void)
{
	if (__atomic_add_fetch(&allo_recorder->threads, 1, __ATOMIC_RELAXED) == 2)
		allo_tick_stop();
}

void allo_pace_want_time(struct allo_pace *pace)
{
	pace->sign = 0;
	pace->room = 0;
}

/* The time that it takes is not the program's, and no gap. */
static void seal(struct allo_thread_state *thread)
{
	uint64_t begin = allo_now();

	allo_thread_seal(thread);
	thread->pace.read_ticks += allo_now() - begin;
	thread->pace.is_base_known = false;
}

void allo_pace_make_room(struct allo_thread_state *thread)
{
	if (thread->tail->used > ALLO_TAIL_FULL)
		seal(thread);
	allo_pace_want_time(&thread->pace);
}

/* Notes in the head that some events did not read the clock.  There is no head if the recording has
 * ended since the thread entered its hook. */
static void note_step(void)
{
	struct allo_wire_head *head = allo_recorder->head;

	if (head && head->sampling.time_step == ALLO_PACE_ERROR_NS)
		head->sampling.time_step = allo_tick_ns();
}

/* From here on, ticks and sleeps show.  A signal handler must not set the sign for the hook that it
 * interrupted, so a nested state reads the clock at every event. */
static void rely_on_signs(struct allo_thread_state *thread)
{
	struct allo_pace *pace = &thread->pace;

	pace->sign = 0;
	if (pace->calm < CALM || pace->own_sign == 0 || thread->is_nested)
		return;
	pace->tick = __atomic_load_n(allo_tick_word(), __ATOMIC_RELAXED);
	if (pace->tick == allo_tick_off)
		return;
	allo_sleep_sign_set(pace->own_sign);
	pace->sign = pace->own_sign;
	note_step();
}

/* What the kernel counts for a thread. */

static bool avoids_system_calls;

void allo_pace_avoid_system_calls(void)
{
	avoids_system_calls = true;
}

bool allo_pace_avoids_system_calls(void)
{
	return avoids_system_calls;
}

/* False if it is unknown. */
static bool read_usage(struct allo_pace_usage *usage)
{
	struct timespec time;
	struct rusage rusage;

	if (avoids_system_calls || allo_is_confined ||
	    ALLO_SYSCALL2(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time) < 0 ||
	    ALLO_SYSCALL2(SYS_getrusage, RUSAGE_THREAD, &rusage) < 0)
		return false;
	usage->cpu_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	usage->waits = (uint64_t)rusage.ru_nvcsw;
	return true;
}

/* A duration of some milliseconds; the speed of the counter is known from the head. */
static uint64_t ns_of(const struct allo_wire_head *head, uint64_t ticks)
{
	uint64_t all = head->last.ticks - head->first.ticks;
	uint64_t all_ns = head->last.monotonic_ns - head->first.monotonic_ns;

	return all > 0 ? (uint64_t)((double)ticks * (double)all_ns / (double)all) : 0;
}

/* The contents of a gap: neither if the thread was only interrupted, both if it is unknown. */
struct contents {
	bool has_computing, has_sleep;
};

static struct contents contents_of_gap(const struct allo_pace *pace, bool is_after_sleep)
{
	const struct allo_wire_head *head = allo_recorder->head;
	struct allo_pace_usage usage;
	uint64_t computed_before;

	if (!is_after_sleep)
		return (struct contents){ .has_computing = true };
	if (!head || !pace->is_base_known || !read_usage(&usage))
		return (struct contents){ true, true };
	computed_before = ns_of(head, pace->read_ticks - pace->base_ticks);
	return (struct contents){ usage.cpu_ns > pace->base.cpu_ns + computed_before + HIDDEN_NS,
				  usage.waits != pace->base.waits };
}

/* Once per tick is often enough: the speed of the counter is known well enough for that time.  In a
 * short gap that has a sleep, the thread may have computed for no time. */
static void note_base(struct allo_pace *pace, uint64_t now, uint64_t slept_ticks, bool is_due)
{
	pace->base_ticks += slept_ticks;
	if (pace->sign == 0) {
		pace->is_base_known = false;
	} else if (is_due || !pace->is_base_known) {
		pace->is_base_known = read_usage(&pace->base);
		pace->base_ticks = now;
	}
}

/* Gaps. */

/* A long gap follows an event that did not read the clock.  The thread may have computed before
 * that event. */
static void doubt_last_step(struct allo_pace *pace, bool has_sleep)
{
	struct allo_wire_head *head = allo_recorder->head;

	allo_steps_doubt_last(&pace->steps, has_sleep);
	if (head && has_sleep)
		allo_count(&head->unsure_sleeps, 1);
}

/* After a long gap between events that did not read the clock, it is unknown before which of them
 * it was, so all steps are forgotten.  After another one the program may do something else, so each
 * step reads the clock once. */
static void count_long_gap(struct allo_pace *pace, uint64_t step, bool is_after_sleep)
{
	struct contents contents = contents_of_gap(pace, is_after_sleep);
	bool is_unsure = allo_steps_is_unsure(&pace->steps);

	if (!contents.has_computing && !contents.has_sleep)
		return;
	if (is_unsure && contents.has_computing)
		doubt_last_step(pace, contents.has_sleep);
	if (pace->calm == CALM)
		allo_steps_forget(&pace->steps, is_unsure ? ALLO_STEP_NEW : ALLO_STEP_OLD);
	pace->calm = 0;
	allo_steps_add_long(&pace->steps, step);
}

/* More than 50 us. */
static bool is_long(uint64_t ticks)
{
	return ticks > allo_recorder->ticks_50us;
}

/* 2 us at most. */
static bool is_short(uint64_t ticks)
{
	return ticks < allo_recorder->ticks_50us / 25;
}

/* Learns from a gap. */
static void count_gap(struct allo_pace *pace, uint64_t ticks, uint64_t step, bool is_after_sleep)
{
	if (is_long(ticks)) {
		count_long_gap(pace, step, is_after_sleep);
		return;
	}
	allo_steps_add_short(&pace->steps, step);
	if (is_short(ticks) && pace->calm < CALM)
		pace->calm++;
}

/* Whether the kernel shows sleeps and ticks; a child has the same kernel.  The first call sleeps
 * for 0.2 ms, so it is made when a thread has something to gain. */
static bool is_kernel_usable(const struct allo_pace *pace)
{
	static enum { NEW, NO, YES } has_sleeps;

	if (has_sleeps == NEW) {
		has_sleeps = allo_sleep_sign_works(pace->own_sign) ? YES : NO;
		ALLO_DEBUG(ALLO_DEBUG_SESSION, "times: the kernel shows sleeps: %s, ticks: %s",
			   has_sleeps == YES ? "yes" : "no", allo_tick_prepare() ? "yes" : "no");
	}
	return has_sleeps == YES && allo_tick_prepare();
}

/* Continues the trial of the kernel's tick.  If events relied on a word that fails, the accuracy of
 * their times is unknown. */
static void try_tick(const struct allo_pace *pace)
{
	struct allo_wire_head *head = allo_recorder->head;

	if (is_kernel_usable(pace) && allo_tick_look())
		return;
	allo_tick_stop();
	if (head && head->sampling.time_step > ALLO_PACE_ERROR_NS)
		head->sampling.time_step = ALLO_TIME_UNKNOWN;
}

/* Looks after the recorder, and after the tick if this thread could rely on it. */
static void attend(struct allo_thread_state *thread, uint64_t now)
{
	bool is_due = now >= allo_recorder_due();

	if (is_due)
		allo_thread_attend(thread, now);
	if (thread->pace.calm == CALM && !thread->is_nested && !allo_tick_is_off() &&
	    (is_due || allo_tick_word() == &allo_tick_unproven))
		try_tick(&thread->pace);
}

static uint8_t *put_stamp(struct allo_thread_state *thread, uint8_t *at, uint64_t now)
{
	uint32_t used = (uint32_t)(at - (uint8_t *)(thread->tail + 1));

	allo_thread_check_end(thread);
	thread->pace.room = used + STAMP_EVERY < ALLO_TAIL_FULL ? used + STAMP_EVERY
								: ALLO_TAIL_FULL;
	at = allo_put_lone_time(&thread->events, at, now);
	if (allo_tick_is_off()) {
		*at++ = 0;
		*at++ = ALLO_ESCAPE_TIMED;
		thread->is_timed = true;
		thread->pace.room = 0;
	}
	return at;
}

/* Whether the thread has slept since the clock was last read, if it relied on the signs then. */
static bool has_slept(const struct allo_pace *pace)
{
	return !allo_sleep_sign_is_awake(pace->own_sign);
}

/* The usual reading: after a gap that is not long, with nothing to do but to count it.  0, with
 * nothing changed, if there may be more.  Signs that are set stay so: a sleep in between makes the
 * gap long, a later one shows at the next event. */
static uint64_t read_quickly(struct allo_pace *pace, uint64_t step)
{
	bool is_calm = pace->calm == CALM;
	uint64_t now, gap;

	/* If the base is known, the signs have been set since. */
	if (is_calm && (!pace->is_base_known || has_slept(pace) ||
			__atomic_load_n(allo_tick_word(), __ATOMIC_RELAXED) != pace->tick))
		return 0;
	now = allo_now();
	gap = now - pace->read_ticks;
	if (is_long(gap) || now >= allo_recorder_due())
		return 0;
	allo_steps_add_short(&pace->steps, step);
	if (is_calm) {
		pace->sign = pace->own_sign;
	} else {
		pace->calm += is_short(gap);
		pace->sign = 0;
		pace->is_base_known = false;
	}
	return now;
}

/* The same after any gap.  Sets the signs before it reads the clock: a sleep in between shows at
 * the next event. */
static uint64_t read_clock(struct allo_thread_state *thread, uint64_t step)
{
	struct allo_pace *pace = &thread->pace;
	bool is_after_sleep = has_slept(pace);
	uint64_t now, gap, tick = pace->tick;

	rely_on_signs(thread);
	now = allo_now();
	attend(thread, now);
	gap = now - pace->read_ticks;
	count_gap(pace, gap, step, is_after_sleep);
	note_base(pace, now, is_after_sleep ? gap : 0, tick != pace->tick);
	return now;
}

uint8_t *allo_pace_put_time(struct allo_thread_state *thread, uint8_t *at, uint64_t step)
{
	struct allo_pace *pace = &thread->pace;
	uint64_t now = read_quickly(pace, step);

	if (now == 0)
		now = read_clock(thread, step);
	pace->read_ticks = now;
	pace->steps.last = ALLO_STEP_NONE;
	if (thread->tail->used <= pace->room && !allo_tick_is_off() &&
	    now - thread->events.ticks < allo_recorder->ticks_50us / 2)
		return at;
	return put_stamp(thread, at, now);
}

void allo_pace_end(void)
{
	allo_tick_stop();
	allo_sleep_sign_clear(allo_sleep_sign_find());
}
