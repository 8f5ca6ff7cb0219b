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

/* Finds the recording of a process.  `mark` is the start of a window; NULL: no window, but live
 * memory now and all allocations so far.  Fails if nothing is recorded.  The snapshot refers to the
 * list and to the mark. */
bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process,
		      const struct allo_source_options *source, const char *mark,
		      struct allo_error *err);

/* Starts a window: puts a mark into the recording.  A time would be too coarse, since a busy thread
 * does not read the clock for every event. */
enum { ALLO_SNAPSHOT_MARK_SIZE = 48 };
bool allo_snapshot_begin(const struct allo_recorded_process *process,
			 char mark[ALLO_SNAPSHOT_MARK_SIZE], struct allo_error *err);

#endif
