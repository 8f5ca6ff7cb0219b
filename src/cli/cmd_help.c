/* cmd_help.c - allo help: explains a command. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/help.h"

struct help {
	struct allo_common common;
	bool man;
};

static const struct allo_option options[] = {
	{ .name = "man",
	  .help = "print the man page, in roff: of a command, of allo itself without one, or "
		  "allo-formats(7) for 'allo-formats'",
	  .offset = offsetof(struct help, man) },
	{ .name = NULL },
};
static const struct allo_option_group group = { "Options", options };
static const struct allo_option_group *const groups[] = { &group, NULL };
static const struct allo_example examples[] = {
	{ "allo help convert", "all about one command" },
	{ "allo help --man top | man -l -", "the same as a man page" },
	{ NULL, NULL },
};

static bool print_man(const struct allo_command *command, const char *name, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_common_open_result(&out, err))
		return false;
	if (name && strcmp(name, "allo-formats") == 0)
		allo_man_formats(&out);
	else
		allo_man_command(&out, command);
	return allo_output_finish(&out, err);
}

static bool run_help(const void *options_given, char **files, struct allo_error *err)
{
	const struct help *opt = options_given;
	const struct allo_command *command = files[0] ? allo_command_find(files[0]) : NULL;
	bool is_formats = files[0] && strcmp(files[0], "allo-formats") == 0;

	if (files[0] && !command && !(opt->man && is_formats))
		return allo_command_fail(files[0], err);
	return opt->man ? print_man(command, files[0], err) : allo_help_print(command, err);
}

const struct allo_command allo_cmd_help = {
	.name = "help",
	.heading = "Help",
	.summary = "explain a command",
	.arguments = "[COMMAND]",
	.about = "Explains a command, or lists them all. 'allo help --man allo-formats' is the "
		 "page on formats.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct help),
	.files_most = 1,
	.completes = ALLO_COMPLETE_COMMANDS,
	.run = run_help,
};
