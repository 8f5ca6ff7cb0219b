/* cmd_start.c - allo start: starts recording a running process. */
#include "base/defer.h"
#include "cli/process_request.h"
#include "cli/start_options.h"
#include "run/name_pattern.h"

#include <stdlib.h>

static const struct allo_option_group *const groups[] = { &allo_start_group,
							  &allo_process_request_group, NULL };

static const struct allo_example examples[] = {
	{ "allo start 4711", "record the process from now on" },
	{ "allo start %redis-server -m sampled --duration 1m", "sample it for a minute" },
	{ "allo start 4711 -m counters", "keep counts for 'allo stats', without a recording" },
	{ NULL, NULL },
};

static bool run_start(const void *options_given, char **names, struct allo_error *err)
{
	const struct allo_start_options *opt = options_given;
	ALLO_DEFER(allo_free_pointer) char *pattern = NULL;
	struct allo_message request;

	if (!allo_start_options_check(opt, err))
		return false;
	if (opt->output) {
		pattern = allo_name_pattern_prepare(opt->output, err);
		if (!pattern)
			return false;
	}
	allo_start_options_request(opt, pattern, &request);
	return allo_process_request_send(&(struct allo_process_request){ .common = &opt->common,
									 .name = names[0],
									 .message = &request,
									 .done = "recording",
									 .before_file = " to",
									 .state = "dormant" },
					 err);
}

const struct allo_command allo_cmd_start = {
	.name = "start",
	.heading = "Watch",
	.summary = "start recording a running process",
	.arguments = "PID",
	.about =
		"Starts a recording in a process that has a control socket: one started by 'allo run "
		"--dormant', one started by 'allo run --control' whose recording was stopped, or a "
		"program that is linked with the runtime and was started with ALLO_CONTROL=1. The "
		"process may be idle. Blocks from before the start are not in the recording, and "
		"freeing them is not counted.\n\n"
		"PID is a process id, the path of its socket, %NAME for all processes with that "
		"name (a unique beginning is enough), or all for all dormant processes: see 'allo ps'.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_start_options),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_start,
};
