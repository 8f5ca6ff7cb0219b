/*
 * tell_process.h - commands that tell a process, or all, to do something.
 */
#ifndef ALLO_CLI_TELL_PROCESS_H
#define ALLO_CLI_TELL_PROCESS_H

#include "cli/common.h"
#include "watch/control_client.h"

/* What is told, and how that is said: "recording redis-server (4711) to FILE". */
struct allo_telling {
	const struct allo_common *common;
	const char *name; /* as watched.h has it, or "all" */
	const struct allo_message *request;
	const char *done, *before_file; /* "recording", " to" */
	const char *state;              /* of those that are meant by "all" */
};

/* Tells them, and says what came of it. */
bool allo_tell_process(const struct allo_telling *telling, struct allo_error *err);

/* --json and --quiet. */
extern const struct allo_option_group allo_telling_group;

#endif
