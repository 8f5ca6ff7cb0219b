/* cmd_stop.c - allo stop: ends the recording of a process, which goes on. */
#include "cli/tell_process.h"

struct stop {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_telling_group, NULL };

static const struct allo_example examples[] = {
	{ "allo stop 4711", "the recording is complete; the process goes on" },
	{ "allo stop all", "all that are being recorded" },
	{ NULL, NULL },
};

static bool run_stop(const void *options_given, char **names, struct allo_error *err)
{
	const struct stop *opt = options_given;
	struct allo_message request;

	allo_message_begin(&request, "stop");
	allo_message_end(&request);
	return allo_tell_process(&(struct allo_telling){ .common = &opt->common,
							 .name = names[0],
							 .request = &request,
							 .done = "stopped",
							 .before_file = ":",
							 .state = "recording" },
				 err);
}

const struct allo_command allo_cmd_stop = {
	.name = "stop",
	.heading = "Watch",
	.summary = "end the recording of a process, which goes on",
	.arguments = "PID",
	.about =
		"Ends the recording that 'allo run' or 'allo start' has begun. The process goes on, "
		"and is dormant; 'allo start' begins another recording. One that the program has "
		"begun by itself, with allo_start(), is left to it.\n\n"
		"PID is the number of a process, the path of its socket, %NAME for the only one "
		"of a name, or all for all that are being recorded.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct stop),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_stop,
};
