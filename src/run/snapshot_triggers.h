/*
 * snapshot_triggers.h - writes profiles of recorded processes when a condition holds.
 *
 * `allo run` checks the conditions from outside while it waits for the program.  A child process
 * writes each snapshot, next to the recording, and only the newest or largest snapshots are kept.
 */
#ifndef ALLO_RUN_SNAPSHOT_TRIGGERS_H
#define ALLO_RUN_SNAPSHOT_TRIGGERS_H

#include "run/recordings.h"
#include "run/trigger.h"

enum { ALLO_TRIGGERS_MS = 200 }; /* between two checks */

struct allo_trigger_snapshot {
	char *path;
	uint64_t bytes; /* resident memory of the process when the snapshot was triggered */
	pid_t of;       /* the process */
	pid_t writer;   /* the child that writes it; 0: it is complete */
};

/* A process that is recorded. */
struct allo_triggered_process {
	pid_t pid;
	const char *recording; /* the last one that it has begun */
	struct allo_trigger_state state;
	unsigned pending; /* bits of the kinds of trigger whose snapshot is not started yet */
};

/* All zeros: there are no triggers. */
struct allo_snapshot_triggers {
	ALLO_VEC(struct allo_trigger) all;

	/* Private. */
	const struct allo_recordings *recordings; /* the caller keeps it up to date */
	size_t recordings_seen;
	ALLO_VEC(struct allo_triggered_process) processes;
	ALLO_VEC(struct allo_trigger_snapshot) snapshots; /* oldest first */
	uint64_t started;                                 /* snapshots so far */
	uint64_t keep_count;
	bool keeps_largest; /* rather than the newest */
};

/* Parses `count` values of --snapshot-on, and --snapshot-keep, which may be NULL. */
bool allo_snapshot_triggers_init(struct allo_snapshot_triggers *triggers,
				 const char *const *conditions, size_t count, const char *keep,
				 const struct allo_recordings *recordings, struct allo_error *err);

void allo_snapshot_triggers_done(struct allo_snapshot_triggers *triggers);

/* Whether a signal is a trigger, and so is not passed on to the program. */
bool allo_snapshot_triggers_have_signal(const struct allo_snapshot_triggers *triggers, int signal);

/* Checks all processes and starts snapshots.  `signal` has just arrived, or is 0. */
void allo_snapshot_triggers_check(struct allo_snapshot_triggers *triggers, int signal);

/* Waits for snapshots that are being written and, unless `is_quiet`, lists all on standard
 * error. */
void allo_snapshot_triggers_end(struct allo_snapshot_triggers *triggers, bool is_quiet);

#endif
