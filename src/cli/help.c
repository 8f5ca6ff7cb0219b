/* help.c - formats the tables of commands for people. */
#include "cli/help.h"

#include "base/defer.h"
#include "report/show.h"
#include "report/terminal.h"

#include <stdio.h>
#include <unistd.h>

const struct allo_option allo_help_option = { .letter = 'h',
					      .name = "help",
					      .help = "show this help" };

static void put_option(struct allo_output *out, const struct allo_option *option,
		       const struct allo_style *style)
{
	enum { HELP_COLUMN = 26 };
	char letter[8] = "    ", name[64];
	int width;

	if (option->letter)
		snprintf(letter, sizeof(letter), "-%c, ", option->letter);
	width = snprintf(name, sizeof(name), "%s--%s%s%s", letter, option->name,
			 option->argument ? " " : "", option->argument ? option->argument : "");
	if (option->optional)
		width = snprintf(name, sizeof(name), "%s--%s[=%s]", letter, option->name,
				 option->optional);
	allo_output_printf(out, "  %s%s%s", style->bold, name, style->reset);
	if (width + 2 >= HELP_COLUMN)
		allo_output_printf(out, "\n%*s", HELP_COLUMN, "");
	else
		allo_output_printf(out, "%*s", HELP_COLUMN - 2 - width, "");
	allo_show_wrapped(out, option->help, HELP_COLUMN, HELP_COLUMN);
}

static void put_example(struct allo_output *out, const struct allo_example *example,
			const struct allo_style *style)
{
	allo_output_printf(out, "  %s%s%s\n      %s\n", style->bold, example->line, style->reset,
			   example->what);
}

/* Only those of commands that have their own. */
static void put_statuses(struct allo_output *out, const struct allo_example *statuses,
			 const struct allo_style *style)
{
	enum { STATUS_COLUMN = 8 };

	allo_output_printf(out, "\n%sExit status%s\n", style->bold, style->reset);
	for (; statuses->line; statuses++) {
		allo_output_printf(out, "  %-*s", STATUS_COLUMN - 2, statuses->line);
		allo_show_wrapped(out, statuses->what, STATUS_COLUMN, STATUS_COLUMN);
	}
}

const char allo_help_newest[] =
	"Without FILE, it reads the newest recording in the working folder: a file *.allo, or a "
	"directory *.allo.d.";

static void put_command(struct allo_output *out, const struct allo_command *command,
			const struct allo_style *style)
{
	for (const struct allo_example *example = command->examples; example->line; example++)
		put_example(out, example, style);
	allo_output_printf(out, "\n%sUsage:%s allo %s [OPTION]...%s%s\n\n", style->bold,
			   style->reset, command->name, command->arguments[0] ? " " : "",
			   command->arguments);
	allo_show_wrapped(out, command->about, 0, 0);
	if (command->finds_newest) {
		allo_output_byte(out, '\n');
		allo_show_wrapped(out, allo_help_newest, 0, 0);
	}
	for (size_t i = 0; command->groups[i]; i++) {
		const struct allo_option *option = command->groups[i]->options;

		allo_output_printf(out, "\n%s%s%s\n", style->bold, command->groups[i]->title,
				   style->reset);
		for (; option->name; option++)
			put_option(out, option, style);
	}
	allo_output_byte(out, '\n');
	put_option(out, &allo_help_option, style);
	if (command->statuses)
		put_statuses(out, command->statuses, style);
}

static const struct allo_example first_steps[] = {
	{ "allo run ./server", "record a program" },
	{ "allo server.1234.allo", "an overview of the recording: the same as 'allo summary'" },
	{ "allo flame server.1234.allo", "draw a flame graph" },
	{ "allo convert dhat.out.1234 -o heap.pb.gz", "convert a DHAT profile to pprof" },
	{ NULL, NULL },
};

static void put_commands(struct allo_output *out, const struct allo_style *style)
{
	const char *heading = "";

	allo_output_string(out, "allo is a heap profiler: it records the allocations of a program "
				"and shows which\ncode holds the memory.\n\n");
	for (const struct allo_example *example = first_steps; example->line; example++)
		put_example(out, example, style);
	allo_output_printf(out, "\n%sUsage:%s allo COMMAND [OPTION]... [FILE]...\n", style->bold,
			   style->reset);
	for (size_t i = 0; allo_commands[i]; i++) {
		const struct allo_command *command = allo_commands[i];

		if (strcmp(command->heading, heading) != 0)
			allo_output_printf(out, "\n%s%s%s\n", style->bold, command->heading,
					   style->reset);
		heading = command->heading;
		allo_output_printf(out, "  %-12s%s\n", command->name, command->summary);
	}
	allo_output_byte(out, '\n');
	allo_show_wrapped(
		out,
		"A FILE may have any format that 'allo formats' lists as readable, compressed with "
		"gzip, zstd or LZ4 or not; - is standard input, http:// and https:// are fetched. "
		"'allo help COMMAND' explains a command.",
		0, 0);
}

bool allo_help_print(const struct allo_command *command, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_style style = allo_style_of(allo_wants_color(ALLO_COLOR_AUTO, STDOUT_FILENO));

	if (!allo_output_open(&out, "-", &(struct allo_output_options){ 0 }, err))
		return false;
	if (command)
		put_command(&out, command, &style);
	else
		put_commands(&out, &style);
	return allo_output_finish(&out, err);
}
