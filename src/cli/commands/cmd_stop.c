/* cmd_stop.c - allo stop: ends the recording of a process, which continues. */
#include "cli/process_request.h"

struct stop {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_process_request_group, NULL };

static const struct allo_example examples[] = {
	{ "allo stop 4711", "complete the recording; the process continues" },
	{ "allo stop all", "stop all recordings" },
	{ NULL, NULL },
};

static bool stop_outside(const struct allo_recorded_process *process, const char *argument,
			 struct allo_error *err)
{
	(void)argument;
	return allo_recorded_process_stop(process, err);
}

static bool run_stop(const void *options_given, char **names, struct allo_error *err)
{
	const struct stop *opt = options_given;
	struct allo_message request;

	allo_message_begin(&request, "stop");
	allo_message_end(&request);
	return allo_process_request_send(
		&(struct allo_process_request){ .common = &opt->common,
						.name = names[0],
						.message = &request,
						.done = "stopped",
						.before_file = ":",
						.state = "recording",
						.do_outside = stop_outside },
		err);
}

const struct allo_command allo_cmd_stop = {
	.name = "stop",
	.heading = "Watch",
	.summary = "stop recording a process, which continues",
	.arguments = "PID",
	.about =
		"Ends a recording. The process continues.\n\n"
		"A process with a control socket ('allo run --control') stops at once and is dormant; "
		"'allo start' begins another recording. A recording that the program started with "
		"allo_start() is not stopped. A process without a control socket stops at one of its "
		"next allocations, and cannot start another recording.\n\n"
		"PID is a process id, the path of its socket, %NAME for all processes with that "
		"name (a unique beginning is enough), or all for all processes that are being recorded.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct stop),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_stop,
};
