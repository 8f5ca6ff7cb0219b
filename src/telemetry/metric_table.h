/*
 * metric_table.h - all metrics of a memory snapshot, with names and meanings.
 *
 * The Prometheus and OpenMetrics texts, the JSON, `allo mem --list` and doc/telemetry.md come from
 * this table.
 */
#ifndef ALLO_TELEMETRY_METRIC_TABLE_H
#define ALLO_TELEMETRY_METRIC_TABLE_H

#include <allo.h>

enum allo_metric_type { ALLO_GAUGE, ALLO_COUNTER, ALLO_INFO };

/* A row is one number, or one sample for each entry of a list. */
enum allo_metric_source {
	ALLO_EACH_NUMBER,
	ALLO_EACH_GROUP,        /* texts about the control group */
	ALLO_EACH_ALLOCATOR,    /* texts about the allocator */
	ALLO_EACH_STAT_BYTES,   /* lines of memory.stat in bytes */
	ALLO_EACH_STAT_COUNTER, /* lines of memory.stat that count events */
	ALLO_EACH_SOURCE_TIME,
	ALLO_EACH_SOURCE_STATE,
};

/* The cost of reading it. */
enum allo_metric_cost {
	ALLO_COST_NONE,   /* microseconds */
	ALLO_COST_PAGES,  /* a walk through all pages */
	ALLO_COST_ARENAS, /* a walk through free blocks, if the allocator is glibc's */
};

struct allo_memory_metric {
	/* Names in allo.h and JSON: "process" and "rss_bytes".  `name` is NULL for rows that are no
	 * number, or that repeat one under another Prometheus name. */
	const char *group, *name;
	size_t offset; /* in the snapshot */
	enum allo_metric_source each;
	enum allo_metric_cost cost;
	/* The name for Prometheus, with unit and, for counters, "_total".  Rows of one name are
	 * adjacent; the first has the help text.  NULL: JSON only. */
	const char *prometheus, *label; /* label: kind="anon", or NULL */
	enum allo_metric_type type;
	const char *help;
};

/* Ends with a row without a group.  Rows of a group are adjacent. */
extern const struct allo_memory_metric allo_memory_metrics[];

uint64_t allo_memory_metric_value(const struct allo_memory_snapshot *snapshot,
				  const struct allo_memory_metric *metric);

/* Whether the number is in nanoseconds; Prometheus gets seconds. */
bool allo_memory_metric_is_time(const struct allo_memory_metric *metric);

#endif
