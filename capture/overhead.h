/*
 * overhead.h - keeps the cost of sampling below a share of the program's processor time
 * (`allo run --max-overhead`).
 *
 * The recorder times its own work on sampled blocks, and estimates it for all others.  A few times
 * a second a thread that has just recorded a sample compares the sum with the processor time of the
 * process, and changes the sampling interval if that is needed.
 *
 * The weight of a block follows from the interval at its birth, by its time.  So the interval
 * changes while all hooks are frozen, and for some microseconds before and after that no block is
 * sampled: times of events are exact to less than that.  Other threads notice at their next hook,
 * since their open_safepoint is ALLO_SAFEPOINT_STALE.  The distance to their next sampling point is
 * then scaled: the rest of an exponential distance is exponential, too.
 */
#ifndef ALLO_CAPTURE_OVERHEAD_H
#define ALLO_CAPTURE_OVERHEAD_H

#include "capture/settings.h"
#include "capture/thread.h"

/* The state of the looks.  All zeros: none so far. */
struct allo_overhead {
	uint32_t is_looking;           /* lock */
	uint64_t due_ticks;            /* of the next look; atomic */
	struct allo_wire_moment first; /* when the recording began */
	uint64_t first_cpu_ns;
	/* So far, on samples and on other blocks that needed a look; atomic. */
	uint64_t sample_ticks, other_ticks;
	/* At the last look that had enough to compare. */
	uint64_t last_sample_ticks, last_cpu_ns;
	double last_fixed_ns;
	uint64_t pass_ps; /* cost of a block that is not sampled, or of its free, in picoseconds */
};

/* Call it when a recording begins. */
void allo_overhead_start(void);

/* Before and after work on a sampled block. */
static inline uint64_t allo_overhead_begin(void)
{
	return __builtin_expect(allo_settings.max_overhead != 0, 0) ? allo_now() : 0;
}
void allo_overhead_add(struct allo_thread_state *thread, uint64_t begin);
static inline void allo_overhead_end(struct allo_thread_state *thread, uint64_t begin)
{
	if (__builtin_expect(begin != 0, 0))
		allo_overhead_add(thread, begin);
}

/* Before and after the general path of a hook, if its block turns out not to be sampled.  One in
 * ALLO_OVERHEAD_LOOKS is timed: reading the clock takes as long as the hook. */
enum { ALLO_OVERHEAD_LOOKS = 16 };
static inline uint64_t allo_overhead_begin_other(struct allo_thread_state *thread)
{
	if (__builtin_expect(allo_settings.max_overhead == 0, 1) ||
	    thread->sampler.others++ % ALLO_OVERHEAD_LOOKS != 0)
		return 0;
	return allo_now();
}
void allo_overhead_add_other(struct allo_thread_state *thread, uint64_t begin);
static inline void allo_overhead_end_other(struct allo_thread_state *thread, uint64_t begin,
					   bool is_sample)
{
	if (__builtin_expect(begin != 0, 0) && !is_sample)
		allo_overhead_add_other(thread, begin);
}

/* Counts a sampled block for the error of the estimate. */
void allo_overhead_note_sample(uint64_t size, uint64_t weighted_bytes);

/* Looks, if it is time; call it inside of a hook, after everything else of a sample. */
void allo_overhead_look(struct allo_thread_state *thread);

/* Makes a thread whose safepoint is stale use the new interval; call it inside of a hook. */
void allo_overhead_catch_up(struct allo_thread_state *thread);

/* Writes the sums into the head when the recording ends. */
void allo_overhead_finish(void);

/* The interval that keeps to the limit.  All numbers are of the time since the last look: `cost_ns`
 * grows with the number of samples, `fixed_ns` does not. */
uint64_t allo_overhead_next_rate(uint64_t rate, uint64_t limit_ppm, double cost_ns, double fixed_ns,
				 double cpu_ns);

#endif
