/*
 * sample_clock.h - when samples were taken that come in the order of time, and how long each lasts.
 *
 * A sample stands for the time until the next one would be due.  Where nobody says how long that
 * is, it is what most often passes between two samples of a thread.  Without times, the samples of
 * a thread follow on each other.
 */
#ifndef ALLO_READERS_SAMPLE_CLOCK_H
#define ALLO_READERS_SAMPLE_CLOCK_H

#include "profile/profile.h"

/* All zeros but for the period, of which 0 says that it is not known. */
struct allo_sample_clock {
	uint64_t period_ns;

	/* Private from here on. */
	bool has_start;
	uint64_t start_ns;       /* the first time of all */
	uint64_t end_ns;         /* of all samples, from there on */
	ALLO_VEC(uint64_t) ends; /* of the last sample, by thread */
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

/* When a sample was taken; its duration may be unknown (0) still.  False when memory is short. */
bool allo_sample_clock_when(struct allo_sample_clock *clock, const struct allo_clocked *sample,
			    struct allo_when *when);

/* Gives a duration to the samples of a profile or a portion that have none.  False when memory is
 * short. */
bool allo_sample_clock_settle(struct allo_sample_clock *clock, struct allo_profile *profile);

#endif
