/*
 * snapshots.h - the memory of a process, looked at again and again.
 *
 * Three kinds of reading: what is cheap is read each time; a walk through all pages only where it
 * takes no longer than a budget, and else what an earlier one has found is told with its age; what
 * an allocator has to walk for is nothing that can be had from here.
 *
 * Nothing is allocated, and a file that cannot be read costs no other one.
 */
#ifndef ALLO_TELEMETRY_SNAPSHOTS_H
#define ALLO_TELEMETRY_SNAPSHOTS_H

#include "telemetry/cgroup_place.h"

#include <allo.h>

enum { ALLO_PAGE_BUDGET_NS = 1000000 };

struct allo_snapshots {
	const char *root;        /* in front of all paths: "", but for tests */
	uint64_t page_budget_ns; /* that a walk through all pages may take */

	/* Private from here on. */
	uint64_t pid;     /* 0: this process */
	char process[32]; /* its folder: "/proc/123" */
	struct allo_proc_reader reader;
	struct allo_cgroup_place cgroup;
	struct allo_page_memory pages; /* of the last walk, */
	uint64_t pages_ns;             /* when that was, by a clock that never stops; 0: never */
	uint64_t walk_ns, walk_rss;    /* how long it took, and for how much */
	uint64_t start_ticks, start_unix_ns;
	char why[104]; /* the source that is being read has no figures */
};

/* `pid` 0 is the calling process, whatever it is called. */
void allo_snapshots_init(struct allo_snapshots *shots, const char *root, uint64_t pid);

/* Everything is unknown. */
void allo_snapshot_init(struct allo_memory_snapshot *snapshot);

/* Begins a snapshot with all that can be read from outside.  False when there is no such process.
 */
bool allo_snapshots_take(struct allo_snapshots *shots, unsigned walks,
			 struct allo_memory_snapshot *snapshot);

/* Says where figures came from; `why` as in struct allo_memory_source. */
void allo_snapshot_add_source(struct allo_memory_snapshot *snapshot, const char *name,
			      uint64_t read_ns, const char *why);

#endif
