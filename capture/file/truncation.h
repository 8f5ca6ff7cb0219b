/*
 * truncation.h - keeps the program alive when its recording is truncated while it records.
 *
 * Memory that is mapped beyond the end of its file raises SIGBUS.  A handler replaces the memory of
 * the recording and ends it.  All other SIGBUS signals are the program's: it finds the action that
 * it has set, and its handler is called as if ours was not there.  A program that sets the action
 * without libc's functions removes our handler.
 */
#ifndef ALLO_CAPTURE_TRUNCATION_H
#define ALLO_CAPTURE_TRUNCATION_H

#include <signal.h>

/* When a recording begins: installs the handler, unless the program ignores the signal. */
void allo_truncation_begin(void);

/* sigaction() for SIGBUS, as the program sees it. */
int allo_truncation_set(const struct sigaction *action, struct sigaction *before);

#endif
