/*
 * mapped_recording.h - finds the recording of a process from outside.
 *
 * A recorded process maps the head of its recording, so /proc/PID/maps names the file.  The process
 * takes no part, and needs neither a thread nor a socket.  A forked process has the sign of
 * wire/layout.h until its recording begins.
 */
#ifndef ALLO_WATCH_MAPPED_RECORDING_H
#define ALLO_WATCH_MAPPED_RECORDING_H

#include "watch/mapped_file.h"
#include "wire/layout.h"

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

/* The program and the head are as the process wrote them: untrusted. */
struct allo_mapped_recording {
	uid_t uid;                /* of the process */
	bool is_waiting;          /* it has only the sign: the fields below are empty */
	char file[PATH_MAX];      /* as the process sees it */
	char place[2 * PATH_MAX]; /* as we see it */
	char program[64];         /* the name of the program */
	struct allo_wire_head head;
	struct allo_mapped_file identity;
};

/* Finds the recording of a process, or the sign that one will begin.  False if there is neither, or
 * if we may not read it.  If there are several recordings, it is the last one that was begun. */
bool allo_mapped_recording_find(pid_t pid, struct allo_mapped_recording *found);

/* Ends a recording: the process stops writing to it at one of its next allocations.  False, with
 * errno, if the file cannot be written; true if the recording has ended already. */
bool allo_mapped_recording_stop(const struct allo_mapped_recording *recording);

/* Adds a mark with the current time, at most ALLO_MARK_MAX bytes long.  False, with errno, if the
 * file cannot be written, has no room left (ENOSPC), or is of an older runtime (ENOTSUP). */
bool allo_mapped_recording_mark(const struct allo_mapped_recording *recording, const char *name);

/* The pid of a process in its own namespace. */
uint64_t allo_inner_pid(uint64_t pid);

/* Whether a process has the library of the runtime, recorded or not. */
bool allo_mapped_recording_has_library(pid_t pid);

#endif
