/* sample_clock.c - see sample_clock.h. */
#include "readers/sample_clock.h"

#include <stdlib.h>

static const uint64_t usual_period_ns = 1000000;

void allo_sample_clock_done(struct allo_sample_clock *clock)
{
	allo_vec_done(&clock->ends);
	allo_vec_done(&clock->gaps);
}

static uint64_t add_saturating(uint64_t a, uint64_t b)
{
	return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

bool allo_sample_clock_when(struct allo_sample_clock *clock, const struct allo_clocked *sample,
			    struct allo_when *when)
{
	uint64_t *end;

	if (!allo_vec_cover(&clock->ends, (size_t)sample->thread + 1))
		return false;
	end = &clock->ends.at[sample->thread];
	*when = (struct allo_when){ .duration_ns = sample->duration_ns ? sample->duration_ns
								       : clock->period_ns,
				    .thread = sample->thread };
	if (sample->has_time) {
		if (!clock->has_start)
			clock->start_ns = sample->time_ns;
		clock->has_start = true;
		if (sample->time_ns > clock->start_ns)
			when->start_ns = sample->time_ns - clock->start_ns;
	} else {
		when->start_ns = *end;
		if (when->duration_ns == 0)
			when->duration_ns = usual_period_ns;
	}
	*end = add_saturating(when->start_ns, when->duration_ns);
	if (*end > clock->end_ns)
		clock->end_ns = *end;
	return true;
}

static int compare_gaps(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* What passes between two samples of a thread: the one in the middle of all. */
static bool find_period(struct allo_sample_clock *clock, const struct allo_profile *profile)
{
	clock->gaps.len = 0;
	memset(clock->ends.at, 0xff, clock->ends.len * sizeof(*clock->ends.at));
	for (size_t i = 0; i < profile->sample_times.len; i++) {
		const struct allo_when *when = &profile->sample_times.at[i];
		uint64_t *last = &clock->ends.at[when->thread], gap = when->start_ns - *last;

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
		uint64_t end;

		if (when->duration_ns > 0)
			continue;
		if (clock->period_ns == 0 && !find_period(clock, profile))
			return false;
		when->duration_ns = clock->period_ns;
		end = add_saturating(when->start_ns, when->duration_ns);
		if (end > clock->end_ns)
			clock->end_ns = end;
	}
	return true;
}
