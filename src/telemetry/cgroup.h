/*
 * cgroup.h - the control group of a process and its memory.
 *
 * Memory is accounted in the hierarchy of version 1 that has the controller "memory", if there is
 * one (also on hybrid systems); otherwise in version 2.  Pressure exists in version 2 only.  Names
 * of statistics are those of version 2.
 */
#ifndef ALLO_TELEMETRY_CGROUP_H
#define ALLO_TELEMETRY_CGROUP_H

#include "telemetry/proc_reader.h"

#include <allo.h>

enum { ALLO_CGROUP_PATH = 1024 };

enum allo_cgroup_limit {
	ALLO_CGROUP_MAX,
	ALLO_CGROUP_HIGH,
	ALLO_CGROUP_SWAP_MAX,
	ALLO_CGROUP_LIMITS,
};

/* A group in one hierarchy. */
struct allo_cgroup_folder {
	char group[ALLO_CGROUP_PATH]; /* from /proc/PID/cgroup; "": none */
	char path[ALLO_CGROUP_PATH];  /* of its folder; "": not visible from here */
	size_t mount_len;             /* prefix of the path that is the mount point */
};

/* All zeros: not looked up yet. */
struct allo_cgroup_place {
	struct allo_cgroup_folder v1, v2; /* v1: of the controller "memory" */
	int version; /* that accounts for memory: 1 or 2; 0: none that is visible */
	struct allo_cgroup_folder memory; /* the group that accounts for it */
	const char *why;                  /* the reason if no group does; else NULL */
	/* The lowest limits of the ancestors, which seldom change, and when they were read:
	 * monotonic clock, 0: never. */
	uint64_t above[ALLO_CGROUP_LIMITS];
	uint64_t above_ns;
};

/* Finds the groups of the process with this folder in /proc ("/proc/self", "/proc/123").  Reads the
 * mounts only if its groups have changed.  Returns 0 or an errno. */
int allo_cgroup_find(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
		     const char *root, const char *process);

/* Parse a line of /proc/PID/cgroup, and one of /proc/PID/mountinfo. */
void allo_cgroup_read_group(struct allo_cgroup_place *place, struct allo_text line);
void allo_cgroup_read_mount(struct allo_cgroup_place *place, struct allo_text line);

/* Reads usage, peak, limits and swap.  Returns 0, or an errno if even the usage cannot be read. */
int allo_cgroup_read_usage(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			   const char *root, struct allo_cgroup_memory *memory);

/* Reads memory.stat, and computes the working set from it and the usage.  In version 1 it has the
 * limit too. */
int allo_cgroup_read_stat(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			  const char *root, struct allo_cgroup_memory *memory);

int allo_cgroup_read_events(const struct allo_cgroup_place *place, struct allo_proc_reader *reader,
			    const char *root, struct allo_cgroup_memory *memory);

int allo_cgroup_read_pressure(const struct allo_cgroup_place *place,
			      struct allo_proc_reader *reader, const char *root,
			      struct allo_cgroup_memory *memory);

/* Parses the lines of memory.stat. */
void allo_cgroup_take_stats(struct allo_proc_reader *reader, int version,
			    struct allo_cgroup_memory *memory);

/* Parses the lines of a pressure file: time in which some, and in which all, runnable tasks waited.
 */
void allo_take_pressure(struct allo_proc_reader *reader, uint64_t *some_ns, uint64_t *full_ns);

/* The value of a name in the list; ALLO_UNKNOWN if it is not there. */
uint64_t allo_cgroup_stat(const struct allo_cgroup_memory *memory, const char *name);

#endif
