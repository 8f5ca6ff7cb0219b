/* pace.c - the slow half of giving time stamps. */
#include "capture/pace.h"
#include "capture/debug_log.h"
#include "capture/thread.h"

#include <string.h>

enum {
	/* Short gaps in a row, of 2 us at most, before a thread stops reading the clock.  At 10 ns
	 * each these events take less than the gap of 50 us that they follow. */
	CALM = 4096,
	STAMP_EVERY = 96,                       /* bytes: about 32 events */
	FULL = ALLO_SLOT_ROOM - ALLO_EVENT_MAX, /* the slot has no room for another event */
};

void allo_pace_begin(struct allo_thread_state *thread)
{
	struct allo_pace *pace = &thread->pace;

	*pace = (struct allo_pace){ .own_sign = allo_sleep_sign_find(), .room = FULL };
	memset(pace->steps, ALLO_STEP_NEW, sizeof(pace->steps));
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

void allo_pace_make_room(struct allo_thread_state *thread)
{
	if (thread->tail->used > FULL)
		allo_thread_seal(thread);
	allo_pace_want_time(&thread->pace);
	if (thread->is_timed)
		thread->pace.room = FULL;
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

/* Learns from a gap.  After a long one between events that did not read the clock, it is unknown
 * before which of them it was, so all steps are forgotten. */
static void count_gap(struct allo_pace *pace, uint64_t ticks, uint64_t step)
{
	if (ticks > allo_recorder->ticks_50us) {
		if (pace->calm == CALM)
			memset(pace->steps, ALLO_STEP_NEW, sizeof(pace->steps));
		pace->calm = 0;
		pace->steps[step] = ALLO_STEP_NEW;
		return;
	}
	if (pace->steps[step] > 0)
		pace->steps[step]--;
	if (ticks < allo_recorder->ticks_50us / 25 && pace->calm < CALM)
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
	thread->pace.room = used + STAMP_EVERY < FULL ? used + STAMP_EVERY : FULL;
	at = allo_put_lone_time(&thread->events, at, now);
	if (allo_tick_is_off()) {
		*at++ = 0;
		*at++ = ALLO_ESCAPE_TIMED;
		thread->is_timed = true;
		thread->pace.room = FULL;
	}
	return at;
}

/* Sets the signs before it reads the clock: a sleep in between shows at the next event. */
uint8_t *allo_pace_put_time(struct allo_thread_state *thread, uint8_t *at, uint64_t step)
{
	struct allo_pace *pace = &thread->pace;
	uint64_t now;

	rely_on_signs(thread);
	now = allo_now();
	attend(thread, now);
	count_gap(pace, now - pace->read_ticks, step);
	pace->read_ticks = now;
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
