/*
 * spawn_allo.h - runs `allo convert` as a child process, for conversions too large for a library.
 *
 * The program is ALLO_PROGRAM, or the first `allo` in PATH.  The process's own wait() does not see
 * the child, and the child is not recorded.  In a program with more rights than its caller
 * (settings.h), all conversions fail.
 */
#ifndef ALLO_CAPTURE_SPAWN_ALLO_H
#define ALLO_CAPTURE_SPAWN_ALLO_H

#include <stdbool.h>

/* One run of `allo convert`. */
struct allo_spawn_request {
	const char *recording; /* path of the input */
	const char *format;    /* NULL or "": the ending of `made` selects it */
	const char *options;   /* separated by spaces; NULL: none */
	const char *made;      /* path of the output; NULL: write to the descriptor `output` */
	int output;
	bool is_live; /* the recording goes on: formats of live memory get the heap of this moment
		       */
};

/* Whether profiles begin at the function that allocates, not in its allocator.  The Rust crate sets
 * this; a request with options decides by its options.  Databases have all frames. */
extern bool allo_spawn_trims;

/* Runs the conversion and waits for it.  False if it fails; allo_error() is then its message. */
bool allo_spawn_convert(const struct allo_spawn_request *conversion);

/* Starts the conversion without waiting; safe in signal handlers. */
void allo_spawn_convert_detached(const struct allo_spawn_request *conversion);

#endif
