/*
 * debug_log.h - a log of the runtime's decisions, for people who debug it: ALLO_DEBUG=1, 2 or 3.
 *
 * ALLO_DEBUG_FILE is the path of the log, with the patterns of file_name.h (default:
 * allo-debug.%p.log in the current folder or, if that is not writable, in $TMPDIR or /tmp).  A
 * child made by fork appends to its parent's file; each line has a time (UTC), the process and the
 * thread:
 *
 *     20261117T202410.123456 4711.4712 stream 3 opened: events
 *
 * A line is one write(2) to a descriptor with O_APPEND, so lines of several threads and processes
 * do not mix.  Logging takes no locks and does not allocate, so it is safe inside of a hook and in
 * a signal handler.  It sits on slow paths only: without ALLO_DEBUG it costs a test of a global
 * there.
 */
#ifndef ALLO_CAPTURE_DEBUG_LOG_H
#define ALLO_CAPTURE_DEBUG_LOG_H

#include "capture/visibility.h"

enum allo_debug_level {
	ALLO_DEBUG_OFF,
	ALLO_DEBUG_SESSION, /* start, stop and its reason, errors */
	ALLO_DEBUG_STREAM,  /* modules, streams, fork */
	ALLO_DEBUG_UNWIND,  /* how return addresses are unwound */
};

ALLO_HIDDEN extern unsigned allo_debug_level;

/* Opens the file if the settings ask for it. */
void allo_debug_init(void);

/* Writes a line.  Of printf's conversions it knows %s, %d, %u, %lu and %#lx. */
void allo_debug_write(const char *format, ...) __attribute__((cold, format(printf, 1, 2)));

#define ALLO_DEBUG(level, ...)                                                                     \
	do {                                                                                       \
		if (__builtin_expect(allo_debug_level >= (level), 0))                              \
			allo_debug_write(__VA_ARGS__);                                             \
	} while (0)

#endif
