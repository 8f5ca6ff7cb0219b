/* main.c - finds the command, runs it, prints its error and returns its exit status. */
#include "base/defer.h"
#include "cli/command.h"
#include "cli/dropin.h"
#include "cli/help.h"
#include "cli/named_recordings.h"
#include "profile/naming.h"
#include "replay/events/event_stream.h"
#include "report/messages.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Larger arrays have mappings of their own, which the system gets back when they are freed.  glibc
 * would raise the limit to 32 MiB as arrays grow, and keep twice as much of free memory. */
enum { MAPPED_LEAST = 512 << 10, KEPT_MOST = 8 << 20 };

/* Exit statuses. */
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

/* Commands. */

/* These return the exit status. */
static int print_help(const struct allo_command *command, struct allo_error *err)
{
	allo_help_print(command, err);
	return exit_status(err);
}

static int run(const struct allo_command *command, char **arguments,
	       struct allo_named_recordings *files, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) void *options = calloc(1, command->options_size + 1);

	if (allo_options_ask_for_help(command, arguments))
		return print_help(command, err);
	if (!options)
		allo_fail_memory(err);
	else if (command->defaults)
		memcpy(options, command->defaults, command->options_size);
	if (options && allo_options_parse(command, arguments, options, err) &&
	    (arguments = allo_name_recordings(files, command, arguments, options, err)) != NULL)
		command->run(options, arguments, err);
	return command->status ? *command->status : exit_status(err);
}

/* Whether a word in place of a command is a file: 'allo FILE' is 'allo summary FILE'. */
static bool is_file(const char *word)
{
	return strcmp(word, "-") == 0 ||
	       (word[0] != '-' &&
		(strpbrk(word, "/.") || access(word, F_OK) == 0 || allo_is_process_word(word)));
}

static int run_named(char **arguments, struct allo_named_recordings *files, struct allo_error *err)
{
	const struct allo_command *command;
	const char *name = arguments[0];

	if (!name || strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0)
		return print_help(NULL, err);
	if (strcmp(name, "--version") == 0 || strcmp(name, "-V") == 0)
		name = "version";
	command = allo_command_find(name);
	if (command)
		return run(command, arguments + 1, files, err);
	if (is_file(name)) {
		int status = run(allo_command_find("summary"), arguments, files, err);

		if (err->code == ALLO_IO && access(name, F_OK) != 0)
			allo_hint(err,
				  "'%.80s' is neither a file nor a command: 'allo help' lists "
				  "the commands",
				  name);
		return status;
	}
	allo_command_fail(name, err);
	return exit_status(err);
}

/* The programs that we replace have one status for all failures. */
static int run_dropin(const struct allo_dropin *dropin, char **arguments, struct allo_error *err)
{
	return dropin->run(arguments, err) ? EXIT_DONE : EXIT_FAILED;
}

/* ALLO_COUNT_EVENTS=1 shows the work that the caches did not save. */
static void say_count(void)
{
	const char *wanted = getenv("ALLO_COUNT_EVENTS");

	if (wanted && strcmp(wanted, "1") == 0)
		allo_say("note: read %llu events", (unsigned long long)allo_events_seen());
}

int main(int argc, char **argv)
{
	ALLO_DEFER(allo_named_recordings_done) struct allo_named_recordings files = { 0 };
	struct allo_error err = { 0 };
	struct allo_text called = argc > 0 ? allo_basename(allo_text_of(argv[0]))
					   : ALLO_TEXT("allo");
	char **arguments = argc > 0 ? argv + 1 : argv;
	const struct allo_dropin *dropin = allo_dropin_find(called);
	int status;

	mallopt(M_MMAP_THRESHOLD, MAPPED_LEAST);
	mallopt(M_TRIM_THRESHOLD, KEPT_MOST); /* 128 KiB otherwise: too many calls */
	status = dropin ? run_dropin(dropin, arguments, &err) : run_named(arguments, &files, &err);
	if (allo_failed(&err) && err.code != ALLO_UNMET)
		allo_say_error(&err);
	say_count();
	return status;
}
