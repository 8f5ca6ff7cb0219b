/*
 * spawn_allo.h - has the program `allo` do what has no place in other people's processes.
 *
 * It is the one that ALLO_PROGRAM names, or the first in PATH.  It runs as a child that this
 * process's own waiting for children does not see, and is not recorded itself.
 */
#ifndef ALLO_CAPTURE_SPAWN_ALLO_H
#define ALLO_CAPTURE_SPAWN_ALLO_H

#include <stdbool.h>

/* What `allo convert` is to do. */
struct allo_conversion {
	const char *recording;
	const char *format;  /* NULL or empty: what the name ends in */
	const char *options; /* separated by spaces; NULL: none */
	const char *made;    /* NULL: what is made goes to `output`, an open file */
	int output;
};

/* Waits for it.  False, with what it had to say in allo_error(). */
bool allo_spawn_convert(const struct allo_conversion *request);

/* Does not wait: for signal handlers. */
void allo_spawn_convert_detached(const struct allo_conversion *request);

#endif
