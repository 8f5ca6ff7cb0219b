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

#include "wire/allocator_state.h"
#include "wire/skip.h"

#include <stdbool.h>

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

/* The same at the exit of this process, whose calls of malloc() went to another library. */
void allo_announce_hidden(void);

/* Appends "allocator WORD NAME PATH" for an allocator in the module PATH that is not recorded; WORD
 * is one of wire/allocator_state.h, and NAME has no space.  If NAME is malloc, nothing is recorded:
 * "skipped REASON PATH".  One thread at a time. */
void allo_announce_allocator(enum allo_allocator_state state, const char *name, const char *path);

/* Appends "executes PATH" before this process executes a program, or "starts PATH" before a child
 * does.  The path is absolute, unless the file has none.  Writes to the stack only. */
void allo_announce_executed(const char *path, bool in_child);

#endif
