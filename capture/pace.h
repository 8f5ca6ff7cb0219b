/*
 * pace.h - which events of a thread get a time stamp.
 *
 * Reading the clock takes a third of the time of recording an event.  A thread that allocates in
 * quick succession does without, as long as nothing happened between two events: the kernel has not
 * ticked (kernel_tick.h), the thread has not slept (sleep_sign.h), and the step from one event to
 * the next is a known short one.  A step is a pair of stacks; code between two allocations takes
 * about as long each time.  An event without a stamp has the time of the last one.  So a gap in
 * which the thread slept is exact, and less than a tick is lost of a gap in which it computed.
 *
 * Every event reads the clock
 * - after a gap of 50 us, until many short gaps have followed;
 * - if the kernel's words cannot be trusted or the user wants it: allo_tick_off;
 * - as soon as there is a second thread, so that the events of all threads can be put in order.
 *   In these two cases the stamp is part of the event, see thread.is_timed.
 */
#ifndef ALLO_CAPTURE_PACE_H
#define ALLO_CAPTURE_PACE_H

#include "capture/kernel_tick.h"
#include "capture/sleep_sign.h"

struct allo_thread_state;

enum {
	ALLO_STEPS = 1024,
	ALLO_STEP_NEW = 4,          /* short gaps in a row that make a step known */
	ALLO_PACE_ERROR_NS = 40000, /* largest error of times while every event reads the clock */
};

/* All zeros reads the clock at every event. */
struct allo_pace {
	uint64_t tick;             /* of the kernel when the clock was last read */
	allo_sleep_sign sign;      /* 0 while every event reads the clock */
	allo_sleep_sign own_sign;  /* of the thread; 0 if it has none */
	uint32_t room;             /* used bytes of the slot at which the next stamp is due */
	uint32_t calm;             /* short gaps in a row */
	uint64_t read_ticks;       /* when the clock was last read */
	uint8_t steps[ALLO_STEPS]; /* short gaps in a row until each step is known: 0 */
};

/* The step from an allocation with the stack `last` to an allocation with the stack `next`, or to
 * another event: 0.  Different steps may share a number. */
static inline uint64_t allo_pace_step(uint32_t last, uint32_t next)
{
	return (last * 5 + next) % ALLO_STEPS;
}

/* True if the next event may do without a time stamp.  One branch for all three. */
static inline bool allo_pace_holds(const struct allo_pace *pace, uint64_t step)
{
	uint64_t tick = __atomic_load_n(allo_tick_word(), __ATOMIC_RELAXED);
	uint64_t changes = (tick ^ pace->tick) | allo_sleep_sign_change(pace->sign) |
			   pace->steps[step];

	return __builtin_expect(changes == 0, 1);
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

/* Ends the pace for good, because the runtime is about to be unloaded. */
void allo_pace_end(void);

#endif
