/*
 * sum.h - 128-bit sums of a profile's values, and the metric that a view shows.
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

/* For printing; saturates at 64 bits. */
static inline struct allo_number allo_sum_number(allo_sum sum)
{
	allo_sum magnitude = sum < 0 ? -sum : sum;

	return (struct allo_number){ magnitude > UINT64_MAX ? UINT64_MAX : (uint64_t)magnitude,
				     sum < 0, false };
}

/* The same for a sum that may be an estimate. */
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
 * The columns that a view shows: a metric, its base in a comparison, and, for bytes, the metric of
 * the blocks.
 */
struct allo_metric_columns {
	size_t metric, before, blocks;
	bool has_before, has_blocks;
};

struct allo_metric_columns allo_metric_columns_of(const struct allo_profile *profile,
						  size_t metric);

/* The values of one or many samples in those columns. */
struct allo_values {
	allo_sum value, blocks, before;
	double variance; /* of an estimated value; 0 when unknown */
};

struct allo_values allo_values_of(const struct allo_profile *profile,
				  const struct allo_metric_columns *columns, size_t sample);

static inline void allo_values_add(struct allo_values *to, const struct allo_values *more)
{
	to->value += more->value;
	to->before += more->before;
	to->blocks += more->blocks;
	to->variance += more->variance;
}

static inline void allo_values_subtract(struct allo_values *from, const struct allo_values *less)
{
	from->value -= less->value;
	from->before -= less->before;
	from->blocks -= less->blocks;
	from->variance -= less->variance;
}

/* Half the width of the 95 % confidence interval of a value. */
allo_sum allo_values_margin(const struct allo_values *values);

/*
 * The default metric: the producer's choice; else live bytes at the peak, now, or at the end; else
 * allocated bytes; else the last metric.
 */
size_t allo_default_metric(const struct allo_profile *profile);

/* Finds a metric by our name, pprof's, DHAT's or its alias.  The failure lists the metrics. */
bool allo_find_metric(const struct allo_profile *profile, const char *name, size_t *metric,
		      struct allo_error *err);

#endif
