/* cmd_completion.c - allo completion: completion scripts for shells, from the tables of commands.
 */
#include "base/defer.h"
#include "cli/common.h"
#include "profile/metric.h"
#include "readers/readers.h"
#include "writers/writers.h"

static const struct allo_option_group *const groups[] = { NULL };

static const struct allo_example examples[] = {
	{ "source <(allo completion bash)", "in ~/.bashrc" },
	{ "allo completion zsh > ~/.zfunc/_allo", "in a folder of $fpath" },
	{ "allo completion fish > ~/.config/fish/completions/allo.fish", "for fish" },
	{ NULL, NULL },
};

/* The shell runs this at each completion. */
#define PROCESSES "$(allo ps --csv 2>/dev/null | sed \"1d;s/,.*//\")"

/* Prints the values of an argument, separated by spaces; files and programs have no list. */
static void put_words(struct allo_output *out, enum allo_completes completes,
		      const struct allo_option *option)
{
	switch (completes) {
	case ALLO_COMPLETE_READERS:
		for (size_t i = 0; allo_readers[i]; i++)
			allo_output_printf(out, "%s%s", i ? " " : "", allo_readers[i]->name);
		break;
	case ALLO_COMPLETE_WRITERS:
		for (size_t i = 0; allo_writers[i]; i++)
			allo_output_printf(out, "%s%s", i ? " " : "", allo_writers[i]->name);
		break;
	case ALLO_COMPLETE_METRICS:
		for (int i = 1; i < ALLO_MEANINGS; i++)
			allo_output_printf(out, "%s%s", i > 1 ? " " : "",
					   allo_metric_kinds[i].name);
		break;
	case ALLO_COMPLETE_COMMANDS:
		for (size_t i = 0; allo_commands[i]; i++)
			allo_output_printf(out, "%s%s", i ? " " : "", allo_commands[i]->name);
		break;
	case ALLO_COMPLETE_SHELLS:
		allo_output_string(out, "bash zsh fish");
		break;
	case ALLO_COMPLETE_CHOICES:
		for (size_t i = 0; option && option->choices[i]; i++)
			allo_output_printf(out, "%s%s", i ? " " : "", option->choices[i]);
		break;
	case ALLO_COMPLETE_PROCESSES:
		allo_output_string(out, PROCESSES);
		break;
	default:
		break;
	}
}

/* Calls `put` for every option of a command. */
static void each_option(struct allo_output *out, const struct allo_command *command,
			void (*put)(struct allo_output *out, const struct allo_option *option))
{
	for (size_t i = 0; command->groups[i]; i++) {
		for (const struct allo_option *o = command->groups[i]->options; o->name; o++)
			put(out, o);
	}
}

/* bash: one function that checks the command and the previous word. */

static void put_bash_name(struct allo_output *out, const struct allo_option *option)
{
	allo_output_printf(out, "--%s ", option->name);
	if (option->letter)
		allo_output_printf(out, "-%c ", option->letter);
}

static void put_bash_argument(struct allo_output *out, const struct allo_option *option)
{
	if (!option->argument)
		return;
	allo_output_string(out, "\t\t");
	if (option->letter)
		allo_output_printf(out, "-%c|", option->letter);
	allo_output_printf(out, "--%s) ", option->name);
	if (option->completes == ALLO_COMPLETE_FILES) {
		allo_output_string(out, "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")");
	} else {
		allo_output_string(out, "COMPREPLY=($(compgen -W \"");
		put_words(out, option->completes, option);
		allo_output_string(out, "\" -- \"$word\"))");
	}
	allo_output_string(out, "; return ;;\n");
}

static void put_bash(struct allo_output *out)
{
	allo_output_string(out, "# bash completion for allo\n_allo()\n{\n"
				"\tlocal word=${COMP_WORDS[COMP_CWORD]} "
				"before=${COMP_WORDS[COMP_CWORD-1]}\n"
				"\tif [[ $before == = ]]; then before=${COMP_WORDS[COMP_CWORD-2]}\n"
				"\telif [[ $word == = ]]; then word=\n\tfi\n"
				"\tif ((COMP_CWORD == 1)); then\n"
				"\t\tCOMPREPLY=($(compgen -W \"");
	put_words(out, ALLO_COMPLETE_COMMANDS, NULL);
	allo_output_string(out,
			   "\" -- \"$word\"))\n\t\treturn\n\tfi\n\tcase ${COMP_WORDS[1]} in\n");
	for (size_t i = 0; allo_commands[i]; i++) {
		const struct allo_command *command = allo_commands[i];

		allo_output_printf(out, "\t%s)\n\t\tcase $before in\n", command->name);
		each_option(out, command, put_bash_argument);
		allo_output_string(out, "\t\tesac\n\t\tif [[ $word == -* ]]; then\n"
					"\t\t\tCOMPREPLY=($(compgen -W \"");
		each_option(out, command, put_bash_name);
		put_bash_name(out, &allo_help_option);
		allo_output_string(out, "\" -- \"$word\"))\n\t\telse\n\t\t\t");
		if (command->completes == ALLO_COMPLETE_FILES) {
			allo_output_string(out,
					   "mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n");
		} else if (command->completes == ALLO_COMPLETE_PROGRAMS) {
			allo_output_string(out,
					   "mapfile -t COMPREPLY < <({ compgen -c -- \"$word\"; "
					   "compgen -f -- \"$word\"; } | sort -u)\n");
		} else {
			allo_output_string(out, "COMPREPLY=($(compgen -W \"");
			put_words(out, command->completes, NULL);
			allo_output_string(out, "\" -- \"$word\"))\n");
		}
		allo_output_string(out, "\t\tfi ;;\n");
	}
	allo_output_string(out, "\tesac\n}\ncomplete -o filenames -F _allo allo\n");
}

/* zsh: _arguments with one specification per option.  The shell's functions use the variable
 * `commands`, so ours has another name. */

/* Text inside single quotes and brackets. */
static void put_zsh_text(struct allo_output *out, const char *text)
{
	for (; *text; text++) {
		if (*text == '\'')
			allo_output_string(out, "'\\''");
		else if (*text == '[' || *text == ']' || *text == ':' || *text == '\\')
			allo_output_printf(out, "\\%c", *text);
		else
			allo_output_byte(out, *text);
	}
}

static void put_zsh_name(struct allo_output *out, const struct allo_option *option, bool is_letter)
{
	allo_output_string(out, " \\\n\t\t\t'");
	if (option->kind == ALLO_OPTION_LIST)
		allo_output_byte(out, '*');
	if (is_letter)
		allo_output_printf(out, "-%c%s", option->letter, option->argument ? "+" : "");
	else
		allo_output_printf(out, "--%s%s", option->name, option->argument ? "=" : "");
	allo_output_byte(out, '[');
	put_zsh_text(out, option->help);
	allo_output_byte(out, ']');
	if (option->argument) {
		allo_output_string(out, ":");
		put_zsh_text(out, option->argument);
		allo_output_byte(out, ':');
		if (option->completes == ALLO_COMPLETE_FILES) {
			allo_output_string(out, "_files");
		} else if (option->completes != ALLO_COMPLETE_NOTHING) {
			allo_output_byte(out, '(');
			put_words(out, option->completes, option);
			allo_output_byte(out, ')');
		}
	}
	allo_output_byte(out, '\'');
}

static void put_zsh_option(struct allo_output *out, const struct allo_option *option)
{
	put_zsh_name(out, option, false);
	if (option->letter)
		put_zsh_name(out, option, true);
}

static void put_zsh(struct allo_output *out)
{
	allo_output_string(out, "#compdef allo\n_allo()\n{\n\tlocal -a ours\n\tours=(\n");
	for (size_t i = 0; allo_commands[i]; i++) {
		allo_output_printf(out, "\t\t'%s:", allo_commands[i]->name);
		put_zsh_text(out, allo_commands[i]->summary);
		allo_output_string(out, "'\n");
	}
	allo_output_string(out, "\t)\n\tif ((CURRENT == 2)); then\n"
				"\t\t_describe command ours\n\t\treturn\n\tfi\n"
				"\tlocal command=${words[2]}\n\tshift words\n\t((CURRENT--))\n"
				"\tcase $command in\n");
	for (size_t i = 0; allo_commands[i]; i++) {
		const struct allo_command *command = allo_commands[i];

		allo_output_printf(out, "\t%s)\n\t\t_arguments%s", command->name,
				   command->takes_program ? " -A '-*'" : "");
		each_option(out, command, put_zsh_option);
		put_zsh_option(out, &allo_help_option);
		if (command->completes == ALLO_COMPLETE_FILES) {
			allo_output_string(out, " \\\n\t\t\t'*:file:_files'");
		} else if (command->completes == ALLO_COMPLETE_PROGRAMS) {
			allo_output_string(out, " \\\n\t\t\t'(-)1:program: _command_names -e' \\\n"
						"\t\t\t'*::argument:_normal'");
		} else if (command->completes == ALLO_COMPLETE_PROCESSES) {
			allo_output_string(out, " \\\n\t\t\t'1:process:{compadd " PROCESSES "}'");
		} else if (command->completes != ALLO_COMPLETE_NOTHING) {
			allo_output_string(out, " \\\n\t\t\t'*:name:(");
			put_words(out, command->completes, NULL);
			allo_output_string(out, ")'");
		}
		allo_output_string(out, " ;;\n");
	}
	allo_output_string(out, "\tesac\n}\nif [[ $funcstack[1] == _allo ]]; then\n\t_allo \"$@\"\n"
				"else\n\tcompdef _allo allo\nfi\n");
}

/* fish: one line per option. */

static void put_fish_text(struct allo_output *out, const char *text)
{
	allo_output_byte(out, '\'');
	for (; *text; text++) {
		if (*text == '\'' || *text == '\\')
			allo_output_byte(out, '\\');
		allo_output_byte(out, *text);
	}
	allo_output_byte(out, '\'');
}

static void put_fish_option(struct allo_output *out, const struct allo_command *command,
			    const struct allo_option *option)
{
	allo_output_printf(out, "complete -c allo -n '__fish_seen_subcommand_from %s' -l %s",
			   command->name, option->name);
	if (option->letter)
		allo_output_printf(out, " -s %c", option->letter);
	if (option->argument && option->completes == ALLO_COMPLETE_FILES) {
		allo_output_string(out, " -rF");
	} else if (option->argument) {
		allo_output_string(out, " -x -a '");
		put_words(out, option->completes, option);
		allo_output_byte(out, '\'');
	}
	allo_output_string(out, " -d ");
	put_fish_text(out, option->help);
	allo_output_byte(out, '\n');
}

static void put_fish(struct allo_output *out)
{
	allo_output_string(out, "# fish completion for allo\n");
	for (size_t i = 0; allo_commands[i]; i++) {
		const struct allo_command *command = allo_commands[i];

		allo_output_printf(out, "complete -c allo -f -n __fish_use_subcommand -a %s -d ",
				   command->name);
		put_fish_text(out, command->summary);
		allo_output_byte(out, '\n');
		for (size_t k = 0; command->groups[k]; k++) {
			const struct allo_option *option = command->groups[k]->options;

			for (; option->name; option++)
				put_fish_option(out, command, option);
		}
		put_fish_option(out, command, &allo_help_option);
		if (command->completes == ALLO_COMPLETE_PROGRAMS) {
			allo_output_printf(out,
					   "complete -c allo -n '__fish_seen_subcommand_from %s' "
					   "-a '(__fish_complete_command)'\n",
					   command->name);
		} else if (command->completes != ALLO_COMPLETE_FILES) {
			allo_output_printf(out,
					   "complete -c allo -f -n '__fish_seen_subcommand_from "
					   "%s' -a '",
					   command->name);
			put_words(out, command->completes, NULL);
			allo_output_string(out, "'\n");
		}
	}
}

static bool put_script(struct allo_output *out, const char *shell, struct allo_error *err)
{
	if (strcmp(shell, "bash") == 0)
		put_bash(out);
	else if (strcmp(shell, "zsh") == 0)
		put_zsh(out);
	else if (strcmp(shell, "fish") == 0)
		put_fish(out);
	else
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "no completion script for '%s': use bash, zsh or fish", shell);
	return !allo_failed(err);
}

static bool run_completion(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	(void)options_given;
	return allo_common_open_result(&out, err) && put_script(&out, files[0], err) &&
	       allo_output_finish(&out, err);
}

const struct allo_command allo_cmd_completion = {
	.name = "completion",
	.heading = "Help",
	.summary = "print a completion script for a shell",
	.arguments = "bash|zsh|fish",
	.about = "Prints a script that lets a shell complete commands, options, formats and "
		 "metrics.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct allo_common),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_SHELLS,
	.run = run_completion,
};
