/*
 * sample_clock.h - start and duration of samples.
 *
 * A sample lasts until the next one is due.  If that period is unknown, it is the median distance
 * between two samples of a thread.  Without times, the samples of a thread follow each other.
 */
#ifndef ALLO_READERS_SAMPLE_CLOCK_H
#define ALLO_READERS_SAMPLE_CLOCK_H

#include "profile/profile.h"

/* A thread; times are by the file's clock. */
struct allo_clocked_thread {
	uint64_t end;            /* of its last sample */
	uint64_t latest, passed; /* latest of its samples, and latest of its drained samples */
	uint64_t portion;        /* portion in which `passed` was set */
};

/* Set the period (0: unknown), leave the rest zero. */
struct allo_sample_clock {
	uint64_t period_ns;

	/* Private from here on. */
	bool has_start;
	uint64_t start_ns, end_ns; /* of all samples */
	uint64_t portion;          /* number of drained portions */
	ALLO_VEC(struct allo_clocked_thread) threads;
	ALLO_VEC(uint64_t) gaps;
};

/* A sample. */
struct allo_clocked {
	allo_thread_id thread;
	bool has_time;
	uint64_t time_ns;
	uint64_t duration_ns; /* 0: unknown */
};

void allo_sample_clock_done(struct allo_sample_clock *clock);

/* Sets the time of a sample, by the file's clock, and its duration if that is known.  False at
 * failure, and, without a failure in `err`, if an earlier portion has a later sample of the thread.
 */
bool allo_sample_clock_when(struct allo_sample_clock *clock, const struct allo_clocked *sample,
			    struct allo_when *when, struct allo_error *err);

/* Makes the times of a profile or of a portion, before it is drained, relative to the first sample,
 * and sets missing durations.  False when memory is short. */
bool allo_sample_clock_settle(struct allo_sample_clock *clock, struct allo_profile *profile);

/* From the first sample to the end of the last one. */
static inline uint64_t allo_sample_clock_duration(const struct allo_sample_clock *clock)
{
	return clock->end_ns - clock->start_ns;
}

#endif
