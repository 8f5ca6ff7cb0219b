/*
 * attach.h - loads the runtime into a process that already runs, and takes it out of use again.
 *
 * The runtime is dormant then, and has a control socket: requests start and stop recordings, as in
 * a process of `allo run --dormant`.
 */
#ifndef ALLO_ATTACH_H
#define ALLO_ATTACH_H

#include "base/error.h"

#include <stddef.h>
#include <sys/types.h>

struct allo_attach_result {
	uint64_t stopped_ns; /* how long the process stood still */
	size_t threads;      /* number of its threads */
};

/* Loads the library into the process, or finds the one that was loaded before, and makes the
 * allocation functions call it. */
bool allo_attach(pid_t pid, const char *library, struct allo_attach_result *result,
		 struct allo_error *err);

/* Makes the allocation functions as they were.  The library stays in memory, unused: threads may be
 * inside of it. */
bool allo_detach(pid_t pid, struct allo_attach_result *result, struct allo_error *err);

/* Whether `allo attach` has loaded the runtime into a process, and it is in use. */
bool allo_is_attached(pid_t pid);

#endif
