/*
 * announce.h - reports recordings to the process that started them (`allo run`), as lines in the
 * file that ALLO_LIST names.
 *
 * Each line begins with "PID:NAMESPACE ": the process id in its own PID namespace, and the inode of
 * that namespace (0: unknown).
 *
 * A process that cannot write to the file leaves the line as the target of a symbolic link instead,
 * named LIST.PID.N.  That takes no descriptor and has no size.
 */
#ifndef ALLO_CAPTURE_ANNOUNCE_H
#define ALLO_CAPTURE_ANNOUNCE_H

#include "wire/skip.h"

/* Appends "PATH" when a recording begins, or "counting" in the mode without a file. */
void allo_announce_begin(void);

/* Appends "failed ERRNO PROGRAM" when a recording cannot be created. */
void allo_announce_failure(int error);

/* Appends "counted BLOCKS BYTES LIVE-BLOCKS LIVE-BYTES PEAK-BLOCKS PEAK-BYTES" when a process
 * without a file exits. */
void allo_announce_counts(void);

/* Appends "skipped REASON PATH" before a program is executed that is not recorded; REASON is a word
 * of wire/skip.h.  Writes to the stack only. */
void allo_announce_skipped(enum allo_skip skip, const char *path);

#endif
