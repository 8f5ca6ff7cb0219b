/* main.c - finds the command, runs it, and says how it went. */
#include "base/defer.h"
#include "cli/command.h"
#include "cli/dropin.h"
#include "cli/help.h"
#include "cli/messages.h"
#include "profile/naming.h"

#include <stdlib.h>
#include <string.h>

/* What a shell gets to see. */
enum { EXIT_DONE = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_UNMET = 3 };

static int exit_status(const struct allo_error *err)
{
	switch (err->code) {
	case ALLO_OK:
		return EXIT_DONE;
	case ALLO_USAGE:
		return EXIT_USAGE;
	case ALLO_UNMET:
		return EXIT_UNMET;
	default:
		return EXIT_FAILED;
	}
}

static bool asks_for_help(char **arguments)
{
	for (; *arguments && strcmp(*arguments, "--") != 0; arguments++) {
		if (strcmp(*arguments, "--help") == 0 || strcmp(*arguments, "-h") == 0)
			return true;
	}
	return false;
}

static bool run(const struct allo_command *command, char **arguments, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) void *options = calloc(1, command->options_size + 1);

	if (!options)
		return allo_fail_memory(err);
	if (command->defaults)
		memcpy(options, command->defaults, command->options_size);
	if (asks_for_help(arguments))
		return allo_help_print(command, err);
	return allo_options_parse(command, arguments, options, err) &&
	       command->run(options, arguments, err);
}

static bool run_named(char **arguments, struct allo_error *err)
{
	const struct allo_command *command;
	const char *name = arguments[0];

	if (!name || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return allo_help_print(NULL, err);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	command = allo_command_find(name);
	return command ? run(command, arguments + 1, err) : allo_command_fail(name, err);
}

int main(int argc, char **argv)
{
	struct allo_error err = { 0 };
	struct allo_text called = argc > 0 ? allo_basename(allo_text_of(argv[0]))
					   : ALLO_TEXT("allo");

	bool is_dropin = allo_text_equal(called, ALLO_TEXT("dhat-pprof"));

	if (is_dropin)
		allo_dropin_dhat_pprof(argv + 1, &err);
	else
		run_named(argc > 0 ? argv + 1 : argv, &err);
	if (allo_failed(&err) && err.code != ALLO_UNMET)
		allo_say_error(&err);
	/* The program that we stand in for has one status for all that goes wrong. */
	return is_dropin && allo_failed(&err) ? EXIT_FAILED : exit_status(&err);
}
