/*
 * triggers.h - snapshots of a program's processes when something happens.
 *
 * `allo run` looks from outside, while it waits for the program; nothing of this is in the program.
 */
#ifndef ALLO_CLI_TRIGGERS_H
#define ALLO_CLI_TRIGGERS_H

#include "cli/auto_snapshots.h"
#include "cli/command.h"
#include "run/recordings.h"
#include "run/trigger.h"

enum { ALLO_TRIGGERS_MS = 200 }; /* between two looks */

/* A process that is recorded. */
struct allo_triggered {
	pid_t pid;
	const char *recording; /* the last one that it has begun */
	struct allo_trigger_state state;
	unsigned owed; /* bits of the kinds of trigger whose snapshot is still to be begun */
};

/* All zeros: nothing is looked for. */
struct allo_triggers {
	ALLO_VEC(struct allo_trigger) all;
	struct allo_auto_snapshots snapshots;

	/* Private. */
	struct allo_recordings *recordings;
	size_t seen; /* of those */
	ALLO_VEC(struct allo_triggered) processes;
};

/* What --snapshot-on and --snapshot-keep, which may be NULL, ask for. */
bool allo_triggers_init(struct allo_triggers *triggers, const struct allo_list *conditions,
			const char *keep, struct allo_recordings *recordings,
			struct allo_error *err);

void allo_triggers_done(struct allo_triggers *triggers);

/* Whether a signal is one of them, and not for the program. */
bool allo_triggers_have_signal(const struct allo_triggers *triggers, int signal);

/* Looks at all processes, and has snapshots made; `signal` has just come, or is 0. */
void allo_triggers_look(struct allo_triggers *triggers, int signal);

/* Waits for those that are being made, and says which there are. */
void allo_triggers_end(struct allo_triggers *triggers, bool is_quiet);

#endif
