/*
 * worker.h - a forked child that does one slow task for the server.
 *
 * The server keeps answering other requests meanwhile.  The child's memory is returned when it
 * exits, and a crash costs only the task.  The server has a single thread, so a child may call
 * anything after the fork.
 */
#ifndef ALLO_SERVE_WORKER_H
#define ALLO_SERVE_WORKER_H

#include "base/error.h"

#include <sys/types.h>

/* HTTP status codes: the outcome of a task. */
enum {
	ALLO_DONE = 200,
	ALLO_BAD_REQUEST = 400,
	ALLO_NOT_FOUND = 404,
	ALLO_GONE = 410,
	ALLO_BROKEN = 500,
	ALLO_UNAVAILABLE = 503,
	ALLO_TOO_LATE = 504,
};

/* Runs in the child: writes the reply's body to `out` and returns the status.  Sets `err` unless it
 * is ALLO_DONE. */
typedef unsigned (*allo_worker_function)(const void *task, int out, struct allo_error *err);

struct allo_worker_report;

/* All zeros: no child runs. */
struct allo_worker {
	pid_t pid;            /* 0: no child runs */
	int pidfd;            /* readable once the child has ended */
	uint64_t deadline_ns; /* monotonic clock; the server kills the child then */

	/* Private. */
	int out;
	struct allo_worker_report *report;
};

/* Starts a child.  It keeps `out`, standard error and the descriptor `kept` (unless -1); all others
 * are closed. */
bool allo_worker_start(struct allo_worker *worker, allo_worker_function function, const void *task,
		       int kept, uint64_t limit_ns, struct allo_error *err);

/* Collects the outcome of a child that has ended; kills it first if its deadline has passed.  `out`
 * receives the file with the body, which the caller closes, or -1. */
unsigned allo_worker_end(struct allo_worker *worker, int *out, struct allo_error *err);

/* Kills the child, if there is one. */
void allo_worker_drop(struct allo_worker *worker);

/* For a child just after fork(): dies with its parent, accepts signals again, lowers its priority,
 * and closes every descriptor above standard error except these two (-1: none). */
void allo_worker_become_child(pid_t parent, int one, int other);

#endif
