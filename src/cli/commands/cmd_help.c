/* cmd_help.c - allo help: explains a command, on the terminal or as a man page in roff. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/help.h"
#include "cli/version.h"
#include "readers/readers.h"
#include "writers/writers.h"

struct help {
	struct allo_common common;
	bool man;
};

#define AT(field) offsetof(struct help, field)
static const struct allo_option options[] = {
	OPT_FLAG(
		0, "man", man,
		"print a man page in roff: of the command, of allo without one, or allo-formats(7) for "
		"'allo-formats'"),
	OPT_END,
};
#undef AT
static const struct allo_option_group group = { "Options", options };
static const struct allo_option_group *const groups[] = { &group, NULL };
static const struct allo_example examples[] = {
	{ "allo help convert", "the help of one command" },
	{ "allo help --man top | man -l -", "the same as a man page" },
	{ NULL, NULL },
};

/* Man pages. */

/* Text without any meaning for roff. */
static void put_part(struct allo_output *out, struct allo_text text)
{
	bool at_line_start = true;

	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (at_line_start && (c == '.' || c == '\''))
			allo_output_string(out, "\\&");
		if (c == '\\')
			allo_output_string(out, "\\e");
		else if (c == '-')
			allo_output_string(out, "\\-");
		else
			allo_output_byte(out, c);
		at_line_start = c == '\n';
	}
}

static void put_text(struct allo_output *out, const char *text)
{
	put_part(out, allo_text_of(text));
}

/* Paragraphs are separated by an empty line. */
static void put_paragraphs(struct allo_output *out, const char *text)
{
	for (; *text; text++) {
		const char *end = strstr(text, "\n\n");
		size_t len = end ? (size_t)(end - text) : strlen(text);

		allo_output_string(out, ".PP\n");
		put_part(out, (struct allo_text){ text, len });
		allo_output_byte(out, '\n');
		if (!end)
			return;
		text = end + 1;
	}
}

static void put_title(struct allo_output *out, const char *name, const char *section,
		      const char *summary)
{
	allo_output_printf(out, ".TH \"%s\" \"%s\" \"\" \"Allotrope %s\" \"Allotrope\"\n.SH NAME\n",
			   name, section, ALLO_VERSION);
	put_text(out, name);
	allo_output_string(out, " \\- ");
	put_text(out, summary);
	allo_output_byte(out, '\n');
}

static void put_option(struct allo_output *out, const struct allo_option *option)
{
	allo_output_string(out, ".TP\n");
	if (option->letter)
		allo_output_printf(out, "\\fB\\-%c\\fR, ", option->letter);
	allo_output_string(out, "\\fB\\-\\-");
	put_text(out, option->name);
	allo_output_string(out, "\\fR");
	if (option->argument) {
		allo_output_string(out, " \\fI");
		put_text(out, option->argument);
		allo_output_string(out, "\\fR");
	}
	if (option->optional) {
		allo_output_string(out, "[=\\fI");
		put_text(out, option->optional);
		allo_output_string(out, "\\fR]");
	}
	allo_output_byte(out, '\n');
	put_text(out, option->help);
	allo_output_byte(out, '\n');
}

static const struct allo_example usual_statuses[] = {
	{ "0", "success" },
	{ "1", "failure" },
	{ "2", "error in the command line" },
	{ "3", "a check did not pass" },
	{ NULL, NULL },
};

static void put_exit_status(struct allo_output *out, const struct allo_example *statuses)
{
	allo_output_string(out, ".SH EXIT STATUS\n");
	for (; statuses->line; statuses++) {
		allo_output_printf(out, ".TP\n%s\n", statuses->line);
		put_text(out, statuses->what);
		allo_output_byte(out, '\n');
	}
}

static void put_command(struct allo_output *out, const struct allo_command *command)
{
	char name[64] = "allo-";

	strncat(name, command->name, sizeof(name) - sizeof("allo-"));
	put_title(out, name, "1", command->summary);
	allo_output_string(out, ".SH SYNOPSIS\n\\fBallo ");
	put_text(out, command->name);
	allo_output_string(out, "\\fR [\\fIOPTION\\fR]... \\fI");
	put_text(out, command->arguments);
	allo_output_string(out, "\\fR\n.SH DESCRIPTION\n");
	put_paragraphs(out, command->about);
	if (command->finds_newest)
		put_paragraphs(out, allo_help_newest);
	for (size_t i = 0; command->groups[i]; i++) {
		const struct allo_option *option = command->groups[i]->options;

		allo_output_string(out, ".SH ");
		for (const char *c = command->groups[i]->title; *c; c++)
			allo_output_byte(out, (char)(*c >= 'a' && *c <= 'z' ? *c - 'a' + 'A' : *c));
		allo_output_byte(out, '\n');
		for (; option->name; option++)
			put_option(out, option);
	}
	allo_output_string(out, ".SH HELP\n");
	put_option(out, &allo_help_option);
	allo_output_string(out, ".SH EXAMPLES\n");
	for (const struct allo_example *example = command->examples; example->line; example++) {
		allo_output_string(out, ".TP\n\\fB");
		put_text(out, example->line);
		allo_output_string(out, "\\fR\n");
		put_text(out, example->what);
		allo_output_byte(out, '\n');
	}
	put_exit_status(out, command->statuses ? command->statuses : usual_statuses);
	allo_output_string(out, ".SH SEE ALSO\n\\fBallo\\fR(1), \\fBallo\\-formats\\fR(7)\n");
}

static void put_allo(struct allo_output *out)
{
	put_title(out, "allo", "1", "record and analyze the heap of programs");
	allo_output_string(
		out,
		".SH SYNOPSIS\n\\fBallo\\fR \\fICOMMAND\\fR [\\fIOPTION\\fR]... "
		"[\\fIFILE\\fR]...\n.br\n\\fBallo\\fR \\fIFILE\\fR\n"
		".SH DESCRIPTION\nRecords every allocation of a program, shows which code holds "
		"the memory, and reads and writes the profiles of other tools.\n.PP\n"
		"Files are recognised by their content, compressed with gzip, zstd or LZ4 or "
		"not; \\- is standard input, and URLs (http, https) are fetched. A "
		"file without a command stands for \\fBallo summary\\fR.\n.SH COMMANDS\n");
	for (size_t i = 0; allo_commands[i]; i++) {
		allo_output_string(out, ".TP\n\\fBallo\\-");
		put_text(out, allo_commands[i]->name);
		allo_output_string(out, "\\fR(1)\n");
		put_text(out, allo_commands[i]->summary);
		allo_output_byte(out, '\n');
	}
	allo_output_string(
		out,
		".SH ENVIRONMENT\n.TP\nNO_COLOR\nif set, output has no colour\n.TP\n"
		"FORCE_COLOR, CLICOLOR_FORCE\nif set, output has colour even if it is not a "
		"terminal\n.TP\nCOLUMNS\nwidth of the terminal\n.TP\nPAGER\nprogram that shows output "
		"longer than the screen (default: less \\-FRX); cat, or empty, for none\n.TP\n"
		"ALLO_NO_CACHE\nif set, no caches of recordings are read or written\n.TP\n"
		"ALLO_TOKEN\ntoken of \\fBallo serve\\fR\n.TP\n"
		"XDG_CACHE_HOME\nfolder of the caches (default: ~/.cache)\n.TP\n"
		"ALLO_LIBRARY\nlibrary that \\fBallo run\\fR preloads (default: the one installed "
		"with allo, beside it, or inside of a standalone allo)\n");
	put_exit_status(out, usual_statuses);
	allo_output_string(out, ".SH SEE ALSO\n\\fBallo\\-formats\\fR(7)\n");
}

/* allo-COMMAND(1), or allo(1) for NULL. */
static void put_man_command(struct allo_output *out, const struct allo_command *command)
{
	if (command)
		put_command(out, command);
	else
		put_allo(out);
}

static void put_format(struct allo_output *out, const char *name, const char *title,
		       const char *about)
{
	allo_output_string(out, ".SS ");
	put_text(out, name);
	allo_output_string(out, "\n\\fI");
	put_text(out, title);
	allo_output_string(out, "\\fR\n");
	put_paragraphs(out, about);
}

/* allo-formats(7), with a section for each format. */
static void put_man_formats(struct allo_output *out)
{
	put_title(out, "allo-formats", "7", "formats that allo reads and writes");
	allo_output_string(out, ".SH READING\nA file is recognised by its content, never by its "
				"name.\n");
	for (size_t i = 0; allo_readers[i]; i++)
		put_format(out, allo_readers[i]->name, allo_readers[i]->title,
			   allo_readers[i]->about);
	allo_output_string(out, ".SH WRITING\n\\fB\\-\\-to\\fR or the ending of the output's name "
				"chooses the format.\n");
	for (size_t i = 0; allo_writers[i]; i++) {
		char holds[256];

		put_format(out, allo_writers[i]->name, allo_writers[i]->title,
			   allo_writers[i]->about);
		allo_output_string(out, ".PP\nEndings: ");
		put_text(out, allo_writers[i]->endings);
		allo_holds_names(allo_writers[i]->holds, holds, sizeof(holds));
		allo_output_string(out, ". Besides stacks and one metric it holds: ");
		put_text(out, holds[0] ? holds : "nothing");
		allo_output_string(out, ".\n");
	}
	allo_output_string(out, ".SH SEE ALSO\n\\fBallo\\fR(1), \\fBallo\\-convert\\fR(1)\n");
}

static bool print_man(const struct allo_command *command, const char *name, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_common_open_result(&out, err))
		return false;
	if (name && strcmp(name, "allo-formats") == 0)
		put_man_formats(&out);
	else
		put_man_command(&out, command);
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
	.about = "Prints the help of a command, or lists all commands. 'allo help --man "
		 "allo-formats' prints the man page about formats.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct help),
	.files_most = 1,
	.completes = ALLO_COMPLETE_COMMANDS,
	.run = run_help,
};
