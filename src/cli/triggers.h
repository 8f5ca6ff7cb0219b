/*
 * triggers.h - snapshots of a program's processes when something happens.
 *
 * `allo run` looks from outside, while it waits for the program; nothing of this is in the program.
 */
#ifndef ALLO_CLI_TRIGGERS_H
#define ALLO_CLI_TRIGGERS_H

#include "cli/auto_snapshots.h"
#include "cli/command.h"
#include "cli/recordings.h"

enum { ALLO_TRIGGERS_MS = 200 }; /* between two looks */

enum allo_trigger_kind {
	ALLO_TRIGGER_RSS,      /* so many resident bytes, or so much of the limit */
	ALLO_TRIGGER_PEAK,     /* more than ever before */
	ALLO_TRIGGER_PRESSURE, /* somebody waits for memory */
	ALLO_TRIGGER_SIGNAL,
	ALLO_TRIGGER_EVERY,
};

struct allo_trigger {
	enum allo_trigger_kind kind;
	uint64_t bytes;     /* of RSS; 0: `percent` of the limit */
	double percent;     /* of RSS and PRESSURE */
	int signal;         /* of SIGNAL */
	uint64_t period_ns; /* of EVERY, */
	uint64_t next_ns;   /* and when it is due */
};

/* A process that is recorded. */
struct allo_triggered {
	pid_t pid;
	const char *recording; /* the last one that it has begun */
	uint64_t since_ns;     /* the last snapshot, or since it is known */
	uint64_t rss, peak;    /* at the last snapshots for these; 0: none, or it is less since */
	uint64_t pressure_ns, pressure_at_ns; /* waited for memory up to then */
	bool is_pressed;                      /* there was a snapshot, and it still is so */
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
