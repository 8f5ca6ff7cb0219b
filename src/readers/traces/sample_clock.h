/*
 * sample_clock.h - when samples were taken, and how long each lasts.
 *
 * A sample stands for the time until the next one would be due.  Where nobody says how long that
 * is, it is what mostly passes between two samples of a thread.  Without times, the samples of a
 * thread follow on each other.
 */
#ifndef ALLO_READERS_SAMPLE_CLOCK_H
#define ALLO_READERS_SAMPLE_CLOCK_H

#include "profile/profile.h"

/* What is known of a thread; times are those of the file. */
struct allo_clocked_thread {
	uint64_t end; /* of its last sample */
	uint64_t latest,
		passed;   /* of its samples, and of those that were passed on with a portion */
	uint64_t portion; /* in which the latter was looked up */
};

/* All zeros but for the period, of which 0 says that it is not known. */
struct allo_sample_clock {
	uint64_t period_ns;

	/* Private from here on. */
	bool has_start;
	uint64_t start_ns, end_ns; /* of all samples */
	uint64_t portion;          /* so many have been passed on */
	ALLO_VEC(struct allo_clocked_thread) threads;
	ALLO_VEC(uint64_t) gaps;
};

/* What is known of a sample. */
struct allo_clocked {
	allo_thread_id thread;
	bool has_time;
	uint64_t time_ns;
	uint64_t duration_ns; /* 0: not known */
};

void allo_sample_clock_done(struct allo_sample_clock *clock);

/* When a sample was taken, by the file's clock, and perhaps for how long.  False when memory is
 * short, which `err` says, and if it was taken before one that was passed on already. */
bool allo_sample_clock_when(struct allo_sample_clock *clock, const struct allo_clocked *sample,
			    struct allo_when *when, struct allo_error *err);

/* Makes the times of a profile or a portion, which is to be passed on, those from the start of all,
 * and gives a duration to samples that have none.  False when memory is short. */
bool allo_sample_clock_settle(struct allo_sample_clock *clock, struct allo_profile *profile);

/* From the first sample to the end of the last one. */
static inline uint64_t allo_sample_clock_duration(const struct allo_sample_clock *clock)
{
	return clock->end_ns - clock->start_ns;
}

#endif
