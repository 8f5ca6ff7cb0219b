/*
 * claimed_file.h - files that another process names as its own.
 *
 * The process may lie, or put a link or a FIFO there.  Only a regular file that belongs to the
 * user of the process is accepted, so a server shows only files that this user can read.
 */
#ifndef ALLO_WATCH_CLAIMED_FILE_H
#define ALLO_WATCH_CLAIMED_FILE_H

#include "watch/recorded_process.h"

/* Opens a file that a process of user `uid` claims, for reading.  A process that has changed its
 * user may have mapped a file of the earlier one, as the kernel tells; without `pid` (0) it may
 * not. Returns -1 and sets errno: EPERM if the file is not acceptable. */
int allo_claimed_file_open(const char *path, pid_t pid, uid_t uid);

/* The size of such a file on the disk; false if it cannot be opened. */
bool allo_claimed_file_size(const char *path, pid_t pid, uid_t uid, uint64_t *bytes);

/*
 * The path of the recording that a process claims to write; NULL on failure.  For a process of
 * another user it leads to an open descriptor, so that the file cannot be exchanged afterwards; it
 * is valid as long as `list`.
 */
const char *allo_claimed_recording(struct allo_recorded_processes *list,
				   const struct allo_recorded_process *process,
				   struct allo_error *err);

#endif
