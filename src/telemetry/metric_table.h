/*
 * figure_table.h - all figures of a snapshot: what they are called, and what they mean.
 *
 * Both texts for Prometheus, JSON, `allo mem --list` and the documentation come from this table.
 */
#ifndef ALLO_TELEMETRY_METRIC_TABLE_H
#define ALLO_TELEMETRY_METRIC_TABLE_H

#include <allo.h>

enum allo_metric_type { ALLO_GAUGE, ALLO_COUNTER, ALLO_INFO };

/* What a row stands for: a number, or as many as there are of something. */
enum allo_metric_source {
	ALLO_EACH_NUMBER,
	ALLO_EACH_GROUP,        /* texts about the control group */
	ALLO_EACH_ALLOCATOR,    /* texts about the allocator */
	ALLO_EACH_STAT_BYTES,   /* reader of memory.stat */
	ALLO_EACH_STAT_COUNTER, /* those that count events */
	ALLO_EACH_SOURCE_TIME,
	ALLO_EACH_SOURCE_STATE,
};

/* How much it takes to know it. */
enum allo_metric_cost {
	ALLO_COST_NONE,   /* it is there, or read in microseconds: each time */
	ALLO_COST_PAGES,  /* a walk through all pages */
	ALLO_COST_ARENAS, /* a walk through free blocks, where the allocator is glibc's */
};

struct allo_memory_metric {
	/* As in allo.h and in JSON, "process" and "rss_bytes"; the second is NULL where a number
	 * has a second name, or is none. */
	const char *group, *name;
	size_t offset; /* in the snapshot */
	enum allo_metric_source each;
	enum allo_metric_cost cost;
	/* For Prometheus: the name with its unit and, of counters, "_total".  Rows of one name
	 * follow one another; the first says what it means. */
	const char *prometheus, *label; /* label: kind="anon", or NULL */
	enum allo_metric_type type;
	const char *help;
};

/* Ends with one that has no group; rows of a group follow one another. */
extern const struct allo_memory_metric allo_memory_metrics[];

uint64_t allo_memory_metric_value(const struct allo_memory_snapshot *snapshot,
				  const struct allo_memory_metric *metric);

/* Whether the number is of nanoseconds, which become seconds for Prometheus. */
bool allo_memory_metric_is_time(const struct allo_memory_metric *metric);

#endif
