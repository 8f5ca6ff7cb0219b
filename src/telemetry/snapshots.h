/*
 * snapshots.h - reads the memory of a process again and again.
 *
 * Cheap sources are read each time.  A walk through all pages is done only if it is expected to
 * stay within a time budget; otherwise the result of an earlier walk is given with its age. Nothing
 * is allocated, and a file that cannot be read does not affect the others.
 */
#ifndef ALLO_TELEMETRY_SNAPSHOTS_H
#define ALLO_TELEMETRY_SNAPSHOTS_H

#include "telemetry/cgroup.h"

#include <allo.h>

enum { ALLO_PAGE_BUDGET_NS = 1000000 };

struct allo_snapshots {
	const char *root;        /* prefix of all paths: "", except in tests */
	uint64_t page_budget_ns; /* for a walk through all pages */

	/* Private from here on. */
	uint64_t pid;     /* 0: this process */
	char process[32]; /* "/proc/123" */
	struct allo_proc_reader reader;
	struct allo_cgroup_place cgroup;
	struct allo_page_memory pages; /* of the last walk */
	uint64_t pages_ns;             /* time of the last walk, monotonic clock; 0: never */
	uint64_t walk_ns, walk_rss;    /* its duration, and the resident memory then */
	uint64_t start_ticks, start_unix_ns;
	char why[104]; /* reason why the current source has no metrics */
};

/* `pid` 0: the calling process. */
void allo_snapshots_init(struct allo_snapshots *shots, const char *root, uint64_t pid);

/* Sets everything to unknown. */
void allo_snapshot_init(struct allo_memory_snapshot *snapshot);

/* Reads everything that is visible from outside the process.  False if there is no such process. */
bool allo_snapshots_take(struct allo_snapshots *shots, unsigned walks,
			 struct allo_memory_snapshot *snapshot);

/* Adds a source of metrics, or replaces one of that name; `why` as in struct allo_memory_source. */
void allo_snapshot_add_source(struct allo_memory_snapshot *snapshot, const char *name,
			      uint64_t read_ns, const char *why);

#endif
