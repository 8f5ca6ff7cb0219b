/*
 * worker.h - work that takes a while, done by a child.
 *
 * The server answers others meanwhile; what the work needs of memory is given back at its end, and
 * if it breaks off, nothing else does.  There is one thread, so that a child may do anything.
 */
#ifndef ALLO_SERVE_WORKER_H
#define ALLO_SERVE_WORKER_H

#include "base/error.h"

#include <sys/types.h>

/* What there is to answer, as HTTP counts it. */
enum {
	ALLO_DONE = 200,
	ALLO_BAD_REQUEST = 400,
	ALLO_NOT_FOUND = 404,
	ALLO_GONE = 410,
	ALLO_BROKEN = 500,
	ALLO_UNAVAILABLE = 503,
	ALLO_TOO_LATE = 504,
};

/* What a child does: writes to `out`, and says how it went; if not well, why. */
typedef unsigned (*allo_worker_function)(const void *what, int out, struct allo_error *err);

struct allo_worker_report;

/* All zeros: none is under way. */
struct allo_worker {
	pid_t pid;            /* 0: none */
	int pidfd;            /* can be read at its end */
	uint64_t deadline_ns; /* when it is killed, by a clock that never stops */

	/* Private. */
	int out;
	struct allo_worker_report *report;
};

/* `kept`, unless -1, is a descriptor that the child has besides its output; all others are closed
 * there. */
bool allo_worker_start(struct allo_worker *worker, allo_worker_function work, const void *what,
		       int kept, uint64_t limit_ns, struct allo_error *err);

/* Once it has ended, or has to: what is to be answered.  `out` gets the file that was written,
 * which is the caller's, or -1; `why` what went wrong. */
unsigned allo_worker_end(struct allo_worker *worker, int *out, struct allo_error *err);

/* Kills it, if it is under way. */
void allo_worker_drop(struct allo_worker *worker);

#endif
