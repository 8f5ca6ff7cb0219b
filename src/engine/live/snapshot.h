/*
 * snapshot.h - the heap of a recorded process now, or its changes since an instant.
 *
 * The recording is complete on disk at any time, so it is read from outside; the process takes no
 * part.
 */
#ifndef ALLO_ENGINE_SNAPSHOT_H
#define ALLO_ENGINE_SNAPSHOT_H

#include "engine/source.h"
#include "watch/recorded_process.h"

struct allo_snapshot {
	struct allo_source_options source; /* for reading the file */
	const char *file;
};

/* The start of a window: a mark or, in a process without a control socket, a time.  A busy thread
 * does not read the clock for every event, so a mark is more precise. */
struct allo_snapshot_window {
	char mark[48];    /* empty: none */
	uint64_t from_ns; /* since the start of the recording */
};

/* Starts a window; puts a mark into the recording if it can. */
bool allo_snapshot_begin(const struct allo_recorded_process *process,
			 struct allo_snapshot_window *window, struct allo_error *err);

/* Finds the recording of a process.  Without a window (NULL), the snapshot is live memory now and
 * all allocations so far.  Fails if nothing is recorded.  The snapshot refers to the list and to
 * the window. */
bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process,
		      const struct allo_source_options *source,
		      const struct allo_snapshot_window *window, struct allo_error *err);

#endif
