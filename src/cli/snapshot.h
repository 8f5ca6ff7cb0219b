/*
 * snapshot.h - what a process that is recorded holds now, or has done since some moment.
 *
 * Its recording is on disk at every moment, so it is read from outside, and the process has nothing
 * to do with it.
 */
#ifndef ALLO_CLI_SNAPSHOT_H
#define ALLO_CLI_SNAPSHOT_H

#include "cli/common.h"
#include "watch/recorded_process.h"

struct allo_snapshot {
	struct allo_view view;
	struct allo_common common; /* options for reading it */
	const char *file;          /* to be read */
};

/* Finds out what is to be read.  `mark` is where the window begins; NULL: there is none, and what
 * is live now counts, with what was ever allocated.  Fails where nothing is recorded.  What it has
 * stays as long as the list and the mark, and must not be moved. */
bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_recorded_processes *list,
		      const struct allo_recorded_process *process, const struct allo_common *common,
		      const char *mark, struct allo_error *err);

/* Begins a window: puts a mark into the recording.  A time alone would not do, since a busy thread
 * looks at the clock now and then only. */
enum { ALLO_SNAPSHOT_MARK_SIZE = 48 };
bool allo_snapshot_begin(const struct allo_recorded_process *process,
			 char mark[ALLO_SNAPSHOT_MARK_SIZE], struct allo_error *err);

#endif
