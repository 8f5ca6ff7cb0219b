/*
 * recordings.h - which recordings a run has made.
 *
 * Each process that is recorded adds a line to a list when it begins: its number and the file's
 * path.  One that only counts adds its statistics when it exits.  The list is a file that is gone
 * when we are, rather than one of our descriptors in /proc: a program may outlive us, and our
 * number in /proc may be another's by then.
 */
#ifndef ALLO_RUN_RECORDINGS_H
#define ALLO_RUN_RECORDINGS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <sys/types.h>

/* What a process that is not recorded has counted. */
struct allo_counted {
	uint64_t blocks, bytes, live_blocks, live_bytes, peak_blocks, peak_bytes;
};

/* A process, and the file that it records to. */
struct allo_recorded {
	pid_t pid;
	const char *path; /* NULL: it only counts */
	bool is_running;  /* the process still writes to it, or counts */
	bool has_counted; /* it has exited and said what */
	struct allo_counted counted;
};

/* All zeros: nothing to give back. */
struct allo_recordings {
	ALLO_VEC(struct allo_recorded) all;
	char *list; /* path of the list, for the processes */
	int fd;
	uint64_t done;           /* bytes of it that were read */
	struct allo_arena arena; /* owns the paths */
};

/* Makes an empty list. */
bool allo_recordings_open(struct allo_recordings *recordings, struct allo_error *err);

/* Reads what has come since the last time; the processes may all still run. */
bool allo_recordings_read_more(struct allo_recordings *recordings, struct allo_error *err);

/* Reads what has come together in it, and looks which processes are still there. */
bool allo_recordings_read(struct allo_recordings *recordings, struct allo_error *err);

void allo_recordings_close(struct allo_recordings *recordings);

#endif
