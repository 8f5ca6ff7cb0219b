/* sample_clock.c - computes start and duration of each sample. */
#include "readers/traces/sample_clock.h"

#include "base/assert.h"

#include <stdlib.h>

static const uint64_t usual_period_ns = 1000000;

void allo_sample_clock_done(struct allo_sample_clock *clock)
{
	allo_vec_done(&clock->threads);
	allo_vec_done(&clock->gaps);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static void see_span(struct allo_sample_clock *clock, uint64_t start_ns, uint64_t end_ns)
{
	if (!clock->has_start || start_ns < clock->start_ns)
		clock->start_ns = start_ns;
	if (!clock->has_start || end_ns > clock->end_ns)
		clock->end_ns = end_ns;
	clock->has_start = true;
}

/* Whether a sample is not earlier than its thread's drained samples. */
static bool is_in_order(const struct allo_sample_clock *clock, struct allo_clocked_thread *thread,
			uint64_t start_ns)
{
	if (thread->portion != clock->portion) {
		thread->portion = clock->portion;
		thread->passed = thread->latest;
	}
	if (start_ns < thread->passed || (clock->portion > 0 && start_ns < clock->start_ns))
		return false;
	if (start_ns > thread->latest)
		thread->latest = start_ns;
	return true;
}

bool allo_sample_clock_when(struct allo_sample_clock *clock, const struct allo_clocked *sample,
			    struct allo_when *when, struct allo_error *err)
{
	struct allo_clocked_thread *thread;

	if (!allo_vec_cover(&clock->threads, (size_t)sample->thread + 1))
		return allo_fail_memory(err);
	thread = &clock->threads.at[sample->thread];
	*when = (struct allo_when){
		.start_ns = sample->has_time ? sample->time_ns : thread->end,
		.duration_ns = sample->duration_ns ? sample->duration_ns : clock->period_ns,
		.thread = sample->thread,
	};
	if (!sample->has_time && when->duration_ns == 0)
		when->duration_ns = usual_period_ns;
	if (!is_in_order(clock, thread, when->start_ns))
		return false;
	thread->end = add_saturating(when->start_ns, when->duration_ns);
	see_span(clock, when->start_ns, thread->end);
	return true;
}

static int compare_gaps(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* The median distance between two samples of a thread. */
static bool find_period(struct allo_sample_clock *clock, const struct allo_profile *profile)
{
	clock->gaps.len = 0;
	for (size_t i = 0; i < clock->threads.len; i++)
		clock->threads.at[i].end = UINT64_MAX;
	for (size_t i = 0; i < profile->sample_times.len; i++) {
		const struct allo_when *when = &profile->sample_times.at[i];
		uint64_t *last = &clock->threads.at[when->thread].end;
		uint64_t gap = when->start_ns - *last;

		ALLO_ASSERT(when->thread < clock->threads.len);
		if (*last < when->start_ns && !allo_vec_append(&clock->gaps, &gap, 1))
			return false;
		*last = when->start_ns;
	}
	clock->period_ns = usual_period_ns;
	if (clock->gaps.len > 0) {
		qsort(clock->gaps.at, clock->gaps.len, sizeof(*clock->gaps.at), compare_gaps);
		clock->period_ns = clock->gaps.at[(clock->gaps.len - 1) / 2];
	}
	return true;
}

bool allo_sample_clock_settle(struct allo_sample_clock *clock, struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->sample_times.len; i++) {
		struct allo_when *when = &profile->sample_times.at[i];

		if (when->duration_ns == 0) {
			if (clock->period_ns == 0 && !find_period(clock, profile))
				return false;
			when->duration_ns = clock->period_ns;
			see_span(clock, when->start_ns,
				 add_saturating(when->start_ns, when->duration_ns));
		}
	}
	for (size_t i = 0; i < profile->sample_times.len; i++) {
		ALLO_ASSERT(profile->sample_times.at[i].start_ns >= clock->start_ns);
		profile->sample_times.at[i].start_ns -= clock->start_ns;
	}
	clock->portion++;
	return true;
}
