/* cmd_mark.c - allo mark: a name for this moment in a recording. */
#include "cli/tell_process.h"

struct mark {
	struct allo_common common;
};

static const struct allo_option_group *const groups[] = { &allo_telling_group, NULL };

static const struct allo_example examples[] = {
	{ "allo mark 4711 warm", "from here on it is warm" },
	{ "allo top --range warm..end server.allo", "what it has done since" },
	{ NULL, NULL },
};

static bool run_mark(const void *options_given, char **words, struct allo_error *err)
{
	const struct mark *opt = options_given;
	struct allo_message request;

	allo_message_begin(&request, "mark");
	allo_message_add(&request, "name", words[1]);
	allo_message_end(&request);
	return allo_tell_process(&(struct allo_telling){ .common = &opt->common,
							 .name = words[0],
							 .request = &request,
							 .done = "marked",
							 .before_file = " in",
							 .state = "recording" },
				 err);
}

const struct allo_command allo_cmd_mark = {
	.name = "mark",
	.heading = "Watch",
	.summary = "give this moment of a recording a name",
	.arguments = "PID NAME",
	.about = "Puts a mark into the recording of a process, as allo_mark() does in a program: "
		 "--range and --at know it by its name, and 'allo timeline' shows it.\n\n"
		 "PID is the number of a process, the path of its socket, %NAME for the only one "
		 "of a name, or all for all that are being recorded.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct mark),
	.files_least = 2,
	.files_most = 2,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_mark,
};
