/*
 * cgroup_place.h - where the control group of a process is, and its memory is counted.
 *
 * Either in version 2 of control groups or, also where both are there (a hybrid), in the hierarchy
 * of version 1 that has the controller "memory".  Pressure is told by version 2 alone.
 */
#ifndef ALLO_TELEMETRY_CGROUP_PLACE_H
#define ALLO_TELEMETRY_CGROUP_PLACE_H

#include "telemetry/proc_reader.h"

enum { ALLO_CGROUP_PATH = 1024 };

enum allo_cgroup_limit {
	ALLO_CGROUP_MAX,
	ALLO_CGROUP_HIGH,
	ALLO_CGROUP_SWAP_MAX,
	ALLO_CGROUP_LIMITS,
};

/* A group in one hierarchy. */
struct allo_cgroup_folder {
	char group[ALLO_CGROUP_PATH]; /* as the process's file has it; "": there is none */
	char path[ALLO_CGROUP_PATH];  /* of its folder; "": it cannot be seen from here */
	size_t mount_len;             /* of the path: the folders from there on are groups */
};

/* All zeros is one that was never looked for. */
struct allo_cgroup_place {
	struct allo_cgroup_folder v1, v2; /* v1: of the controller "memory" */
	int version; /* in which memory is counted: 1 or 2; 0: nowhere that can be seen */
	struct allo_cgroup_folder memory; /* which it is counted in */
	const char *why;                  /* it is nowhere; NULL: it is somewhere */
	/* The least limits of the groups above, which seldom change, and when they were read, by a
	 * clock that never stops; 0: never. */
	uint64_t above[ALLO_CGROUP_LIMITS];
	uint64_t above_ns;
};

/* Looks for the groups of the process whose folder in /proc this is ("/proc/self", "/proc/123").
 * Mounts are looked through only if it is in others than before.  Returns 0, or why the process's
 * file cannot be read. */
int allo_cgroup_find(struct allo_cgroup_place *place, struct allo_proc_reader *reader,
		     const char *root, const char *process);

/* What a line of /proc/PID/cgroup says, and one of /proc/PID/mountinfo. */
void allo_cgroup_read_group(struct allo_cgroup_place *place, struct allo_text line);
void allo_cgroup_read_mount(struct allo_cgroup_place *place, struct allo_text line);

#endif
