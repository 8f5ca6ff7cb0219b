/*
 * process_request.h - sends one request to a process, or to all, and prints the result.
 */
#ifndef ALLO_CLI_PROCESS_REQUEST_H
#define ALLO_CLI_PROCESS_REQUEST_H

#include "cli/common.h"
#include "watch/control_client.h"
#include "watch/recorded_process.h"

/* A request and its printed result: "recording redis-server (4711) to FILE". */
struct allo_process_request {
	const struct allo_common *common;
	const char *name; /* as in allo_recorded_processes_find(), or "all" */
	const struct allo_message *message;
	const char *done, *before_file; /* "recording", " to" */
	const char *state; /* "all", or a name of several processes, means those in this state */
	/* Does the same to a process without a control socket; NULL: that is impossible. */
	bool (*do_outside)(const struct allo_recorded_process *process, const char *argument,
			   struct allo_error *err);
	const char *argument; /* for do_outside */
};

bool allo_process_request_send(const struct allo_process_request *request, struct allo_error *err);

/* --json and --quiet. */
extern const struct allo_option_group allo_process_request_group;

#endif
