/*
 * pace.h - which events of a thread get a time stamp.
 *
 * Reading the clock takes a third of the time of recording an event.  A thread that allocates in
 * quick succession does without, as long as nothing happened between two events: the kernel has not
 * ticked (kernel_tick.h), the thread has not slept (sleep_sign.h), and the step from one event to
 * the next is a known short one (steps.h).  An event without a stamp has the time of the last one.
 * So a gap in which the thread slept is exact, and less than a tick is lost of a gap in which it
 * computed.
 *
 * The exception is a short step that takes longer than ever before, followed by a gap: the time of
 * the computation is added to the gap.  The processor time of the thread shows that a gap with a
 * sleep has a computation, too.  Then the head counts the gap as unsure, and the step is not
 * trusted for a long time.
 *
 * Every event reads the clock
 * - after a gap of 50 us, until many short gaps have followed;
 * - if the kernel's words cannot be trusted or the user wants it: allo_tick_off;
 * - as soon as there is a second thread, so that the events of all threads can be put in order.
 *   In these two cases the stamp is part of the event, see thread.is_timed.
 */
#ifndef ALLO_CAPTURE_PACE_H
#define ALLO_CAPTURE_PACE_H

#include "capture/time/kernel_tick.h"
#include "capture/time/sleep_sign.h"
#include "capture/time/steps.h"

struct allo_thread_state;

enum {
	ALLO_PACE_ERROR_NS = 40000, /* largest error of times while every event reads the clock */
};

/* What the kernel counts for a thread. */
struct allo_pace_usage {
	uint64_t cpu_ns;
	uint64_t waits; /* it gave up the processor by itself */
};

/* All zeros reads the clock at every event. */
struct allo_pace {
	uint64_t tick;            /* of the kernel when the clock was last read */
	allo_sleep_sign sign;     /* 0 while every event reads the clock */
	allo_sleep_sign own_sign; /* of the thread; 0 if it has none */
	uint32_t room;            /* used bytes of the slot at which the next stamp is due;
				     0 if thread.is_timed */
	uint32_t calm;            /* short gaps in a row */
	uint64_t read_ticks;      /* when the clock was last read */
	bool is_base_known;
	uint64_t base_ticks; /* since then, the thread has not slept */
	struct allo_pace_usage base;
	struct allo_steps steps;
};

/* True if the next event does without a time stamp. */
static inline bool allo_pace_holds(struct allo_pace *pace, uint64_t step)
{
	uint64_t tick = __atomic_load_n(allo_tick_word(), __ATOMIC_RELAXED);

	if (__builtin_expect(tick != pace->tick, 0) ||
	    __builtin_expect(!allo_sleep_sign_is_awake(pace->sign), 0) ||
	    __builtin_expect(pace->steps.left[step] != 0, 0))
		return false;
	pace->steps.last = (uint32_t)step;
	return true;
}

/* The next event gets a time stamp. */
void allo_pace_want_time(struct allo_pace *pace);

/* Sets the pace for a thread that begins; call it in the thread. */
void allo_pace_begin(struct allo_thread_state *thread);

/* Counts a thread of the recording.  The second one ends the pace of the first. */
void allo_pace_add_thread(void);

/* Seals the slot if it is full; else the next event gets a time stamp. */
void allo_pace_make_room(struct allo_thread_state *thread);

/* Reads the clock before an event, and writes a separate time stamp unless the last one was just
 * before; for a stream that does not time every event (yet). */
uint8_t *allo_pace_put_time(struct allo_thread_state *thread, uint8_t *at, uint64_t step);

/* A seccomp filter forbids to read the processor time, so gaps that would need it are unsure. */
void allo_pace_avoid_system_calls(void);
bool allo_pace_avoids_system_calls(void);

/* Ends the pace for good, because the runtime is about to be unloaded. */
void allo_pace_end(void);

#endif
