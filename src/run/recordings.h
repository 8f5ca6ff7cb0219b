/*
 * recordings.h - the recordings that a run has made.
 *
 * Each recorded process appends a line to a list when it begins: its id and the path of its file
 * (capture/file/announce.h).  A process that only counts appends its counts when it exits.  The
 * list is a temporary file that we remove, not one of our descriptors in /proc: the program may
 * outlive us, and another process may then have our id.
 */
#ifndef ALLO_RUN_RECORDINGS_H
#define ALLO_RUN_RECORDINGS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <sys/types.h>

/* The counts of a process that is not recorded. */
struct allo_counted {
	uint64_t blocks, bytes, live_blocks, live_bytes, peak_blocks, peak_bytes;
};

/* A process and its recording. */
struct allo_recorded {
	pid_t pid;         /* 0: it ended in another PID namespace */
	pid_t own_pid;     /* in its own namespace */
	uint64_t space;    /* the inode of that namespace; 0: unknown */
	const char *path;  /* NULL: it only counts */
	bool is_running;   /* the process is still running */
	bool has_executed; /* the process has executed another program since */
	bool has_counted;  /* `counted` is set: the process has exited */
	struct allo_counted counted;
};

/* A program that was executed without being recorded. */
struct allo_skipped {
	const char *path;
	const char *reason; /* "it is statically linked" */
	uint64_t times;
};

/* A program that recorded processes have executed. */
struct allo_executed {
	const char *path;
	uint64_t times;
	/* An allocator that the runtime does not see (own_allocator.h): "mimalloc"; NULL: none. */
	const char *allocator;
};

/* A process that could not create a recording. */
struct allo_unrecorded {
	pid_t pid;
	const char *program, *reason;
};

/* All zeros: nothing to close. */
struct allo_recordings {
	ALLO_VEC(struct allo_recorded) all;
	ALLO_VEC(struct allo_skipped) skipped;   /* each program once */
	ALLO_VEC(struct allo_executed) executed; /* the same */
	size_t executed_seen;                    /* by allo_own_allocators_look() */
	ALLO_VEC(struct allo_unrecorded) failures;
	char *list; /* path of the list, for the processes */
	int fd;
	uint64_t done;           /* bytes of the list that were read */
	struct allo_arena arena; /* owns all paths */
};

/* Creates an empty list. */
bool allo_recordings_open(struct allo_recordings *recordings, struct allo_error *err);

/* Reads new lines of the list. */
bool allo_recordings_read_more(struct allo_recordings *recordings, struct allo_error *err);

/* Reads new lines, and finds out which processes are still running. */
bool allo_recordings_read(struct allo_recordings *recordings, struct allo_error *err);

/* Cuts the hole off at the end of a raw recording: the runtime extends the file of a program that
 * gives up its access to files. */
void allo_recordings_cut_hole(const char *path);

void allo_recordings_close(struct allo_recordings *recordings);

#endif
