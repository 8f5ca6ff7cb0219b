/*
 * thresholds.h - the numbers that decide whether a rule reports a site.
 *
 * Each has a name, RULE.NUMBER, for allo.conf: "findings.leak-growing.share = 2%".
 */
#ifndef ALLO_FINDINGS_THRESHOLDS_H
#define ALLO_FINDINGS_THRESHOLDS_H

#include "base/error.h"
#include "base/text.h"

enum allo_threshold {
	ALLO_LEAK_GROWING_SHARE,
	ALLO_LEAK_GROWING_BYTES,
	ALLO_LEAK_GROWING_R2,
	ALLO_LEAK_GROWING_DURATION,
	ALLO_LEAK_EXIT_SHARE,
	ALLO_LEAK_EXIT_BYTES,
	ALLO_GROW_BY_ONE_SHARE,
	ALLO_GROW_BY_ONE_BYTES,
	ALLO_GROWTH_FACTOR_SHARE,
	ALLO_GROWTH_FACTOR_CHAINS,
	ALLO_CHURN_LOOP_SHARE,
	ALLO_CHURN_LOOP_BLOCKS,
	ALLO_TEMP_FORMAT_SHARE,
	ALLO_TEMP_FORMAT_BLOCKS,
	ALLO_SAME_SIZE_SHARE,
	ALLO_SAME_SIZE_BLOCKS,
	ALLO_TINY_SHARE,
	ALLO_TINY_BLOCKS,
	ALLO_TINY_SIZE,
	ALLO_ZERO_SIZE_BLOCKS,
	ALLO_DOUBLE_BUFFER_SHARE,
	ALLO_DOUBLE_BUFFER_BYTES,
	ALLO_SPIKE_FACTOR,
	ALLO_SPIKE_BYTES,
	ALLO_SPIKE_DURATION,
	ALLO_LATE_FREE_SHARE,
	ALLO_LATE_FREE_BYTES,
	ALLO_CROSS_THREAD_SHARE,
	ALLO_CROSS_THREAD_BLOCKS,
	ALLO_STARTUP_SHARE,
	ALLO_STARTUP_BYTES,
	ALLO_STARTUP_DURATION,
	ALLO_FRAGMENTATION_SHARE,
	ALLO_FRAGMENTATION_BYTES,
	ALLO_FRAGMENTATION_DURATION,
	ALLO_NEVER_READ_SHARE,
	ALLO_NEVER_READ_BYTES,
	ALLO_NEVER_WRITTEN_SHARE,
	ALLO_NEVER_WRITTEN_BYTES,
	ALLO_LOW_USE_SHARE,
	ALLO_LOW_USE_BYTES,
	ALLO_LOW_ACCESS_SHARE,
	ALLO_LOW_ACCESS_BYTES,
	ALLO_QUALITY_STACKS,
	ALLO_QUALITY_NAMES,
	ALLO_QUALITY_SAMPLES,
	ALLO_HIGH_COST,
	ALLO_MEDIUM_COST,
	ALLO_THRESHOLDS
};

/* How a threshold is written. */
enum allo_threshold_unit {
	ALLO_THRESHOLD_PERCENT, /* a share of 1, written as "2%" */
	ALLO_THRESHOLD_BYTES,
	ALLO_THRESHOLD_COUNT,
	ALLO_THRESHOLD_NS,
	ALLO_THRESHOLD_NUMBER, /* with a decimal point */
};

struct allo_threshold_kind {
	const char *name;
	double value; /* the default */
	enum allo_threshold_unit unit;
	const char *about; /* "of the bytes that were never freed" */
};

/* Indexed by enum allo_threshold. */
extern const struct allo_threshold_kind allo_threshold_kinds[ALLO_THRESHOLDS];

struct allo_thresholds {
	double at[ALLO_THRESHOLDS];
};

void allo_thresholds_init(struct allo_thresholds *thresholds);

/* Sets one by its name.  Messages are about the position. */
bool allo_thresholds_set(struct allo_thresholds *thresholds, struct allo_text name,
			 struct allo_text value, struct allo_pos pos, struct allo_error *err);

#endif
