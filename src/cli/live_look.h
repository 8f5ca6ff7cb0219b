/*
 * live_look.h - a process that is recorded, or a recording that is being written, looked at again
 * and again.
 */
#ifndef ALLO_CLI_LIVE_LOOK_H
#define ALLO_CLI_LIVE_LOOK_H

#include "cli/heap_counts.h"
#include "cli/live_sites.h"
#include "watch/recorded_process.h"

/* What a look has found. */
struct allo_look {
	uint64_t ns; /* on the monotonic clock; 0: there was none */
	struct allo_heap_counts counts;
	bool has_frees;
	uint64_t frees;
};

/* All zeros: nothing to close.  It must not be moved. */
struct allo_looking {
	struct allo_recorded_process
		process;  /* .pid is 0: a file that nobody is known to write to */
	const char *file; /* NULL: the process only counts */
	bool has_ended;   /* nothing more will come */
	struct allo_look now, before;
	struct allo_live_sites sites; /* of the last look */

	/* Private. */
	struct allo_common common;
	struct allo_recorded_processes list;
	struct allo_follow follow;
};

/* Opens what is named: a process, or a file. */
bool allo_looking_open(struct allo_looking *looking, const struct allo_common *common,
		       const char *name, struct allo_error *err);

/* Looks once more. */
bool allo_looking_look(struct allo_looking *looking, struct allo_error *err);

/* Finds out what has become of the process: it may have ended, or begun another recording. */
bool allo_looking_ask(struct allo_looking *looking, struct allo_error *err);

/* So many more a second, between the last two looks or, with the first one, since the recording
 * began. */
uint64_t allo_looking_rate(const struct allo_looking *looking, uint64_t now, uint64_t before);

void allo_looking_close(struct allo_looking *looking);

#endif
