/*
 * snapshot.h - what a process that is recorded holds now, or has done since some moment.
 *
 * Its recording is on disk at every moment, so it is read from outside, and the process has nothing
 * to do with it.
 */
#ifndef ALLO_CLI_SNAPSHOT_H
#define ALLO_CLI_SNAPSHOT_H

#include "cli/common.h"
#include "watch/watched.h"

struct allo_snapshot {
	struct allo_view view;
	struct allo_common common; /* options for reading it */
	const char *file;          /* to be read */
};

/* Finds out what is to be read.  `from_ns` is when on the recording's clock the window begins; 0:
 * there is none, and what is live now counts, with what was ever allocated.  Fails where nothing is
 * recorded.  What it has stays as long as the list, and must not be moved. */
bool allo_snapshot_of(struct allo_snapshot *snapshot, struct allo_watched_list *list,
		      const struct allo_watched *process, const struct allo_common *common,
		      uint64_t from_ns, struct allo_error *err);

/* The recording's clock now; 0 when it is not known. */
uint64_t allo_snapshot_clock(const struct allo_watched *process);

#endif
