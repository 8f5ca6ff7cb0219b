/* cmd_mark.c - allo mark: adds a named mark to a recording. */
#include "cli/process_request.h"

struct mark {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_process_request_group, NULL };

static const struct allo_example examples[] = {
	{ "allo mark 4711 warm", "mark the end of the warm-up" },
	{ "allo top --range warm.. server.allo", "the allocations since" },
	{ NULL, NULL },
};

static bool run_mark(const void *options_given, char **words, struct allo_error *err)
{
	const struct mark *opt = options_given;
	struct allo_message request;

	allo_message_begin(&request, "mark");
	allo_message_add(&request, "name", words[1]);
	allo_message_end(&request);
	return allo_process_request_send(
		&(struct allo_process_request){ .common = &opt->common,
						.name = words[0],
						.message = &request,
						.done = "marked",
						.before_file = " in",
						.state = "recording",
						.do_outside = allo_recorded_process_mark,
						.argument = words[1] },
		err);
}

const struct allo_command allo_cmd_mark = {
	.name = "mark",
	.heading = "Watch",
	.summary = "mark this moment of a recording with a name",
	.arguments = "PID NAME",
	.about =
		"Adds a mark to the recording of a process, like allo_mark() in a program. --range "
		"and --at accept the name, and 'allo timeline' shows it. The process takes no part, "
		"unless it has a control socket ('allo run --control').\n\n"
		"PID is a process id, the path of its socket, %NAME for all processes with that "
		"name (a unique beginning is enough), or all for all processes that are being recorded.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct mark),
	.files_least = 2,
	.files_most = 2,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_mark,
};
