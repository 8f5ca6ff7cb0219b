/*
 * sum.h - sums of a profile's values, wide enough that nothing overflows.
 */
#ifndef ALLO_ANALYSIS_SUM_H
#define ALLO_ANALYSIS_SUM_H

#include "base/units.h"
#include "profile/profile.h"

typedef __int128 allo_sum;

static inline allo_sum allo_value_of(const struct allo_metric *metric, uint64_t value)
{
	return metric->is_signed ? (allo_sum)(int64_t)value : (allo_sum)value;
}

/* For printing; what does not fit 64 bits is cut to the largest number. */
static inline struct allo_number allo_sum_number(allo_sum sum)
{
	allo_sum magnitude = sum < 0 ? -sum : sum;

	return (struct allo_number){ magnitude > UINT64_MAX ? UINT64_MAX : (uint64_t)magnitude,
				     sum < 0, false };
}

/* The same of what may be an estimate. */
static inline struct allo_number allo_sum_estimate(allo_sum sum, bool is_estimated)
{
	struct allo_number number = allo_sum_number(sum);

	number.is_estimated = is_estimated;
	return number;
}

/* The sum of a metric over all samples. */
static inline allo_sum allo_metric_sum(const struct allo_profile *profile, size_t metric)
{
	allo_sum sum = 0;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		sum += allo_value_of(&profile->metrics.at[metric],
				     allo_profile_row(profile, i)[metric]);
	return sum;
}

/*
 * Which of a profile's columns a view shows: a metric, the same in the base of a comparison, and
 * its blocks where it is bytes.
 */
struct allo_columns {
	size_t metric, before, blocks;
	bool has_before, has_blocks;
};

struct allo_columns allo_columns_of(const struct allo_profile *profile, size_t metric);

/* One sample's, or many samples', values in those columns. */
struct allo_values {
	allo_sum value, blocks, before;
	double variance; /* of the value, where it is an estimate and that is known */
};

struct allo_values allo_values_of(const struct allo_profile *profile,
				  const struct allo_columns *columns, size_t sample);

static inline void allo_values_add(struct allo_values *to, const struct allo_values *more)
{
	to->value += more->value;
	to->before += more->before;
	to->blocks += more->blocks;
	to->variance += more->variance;
}

/* How far a value may be off: 95 of 100 such intervals, by as much up and down, hold the truth. */
allo_sum allo_values_margin(const struct allo_values *values);

/*
 * The metric that is meant when none is named: what the producer prefers; else what was live at the
 * peak, when the profile was taken, at the end; else what was allocated; else the last one.
 */
size_t allo_default_metric(const struct allo_profile *profile);

/* By our name, pprof's, DHAT's or a short one; false, and a failure that lists what there is. */
bool allo_find_metric(const struct allo_profile *profile, const char *name, size_t *metric,
		      struct allo_error *err);

#endif
