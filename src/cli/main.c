/* main.c - finds the command, runs it, prints its error and returns its exit status. */
#include "base/defer.h"
#include "cli/command.h"
#include "cli/dropin.h"
#include "cli/help.h"
#include "profile/naming.h"
#include "replay/events/event_stream.h"
#include "report/messages.h"
#include "watch/claimed_file.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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

/* %NAME in place of a file: the recordings of running processes. */

/* All zeros is empty.  main() owns it, since errors name its paths. */
struct named_recordings {
	ALLO_VEC(char *) words;
	ALLO_VEC(struct allo_recorded_processes) lists; /* own the paths and keep files open */
};

static void named_recordings_done(struct named_recordings *files)
{
	for (size_t i = 0; i < files->lists.len; i++)
		allo_recorded_processes_done(&files->lists.at[i]);
	allo_vec_done(&files->lists);
	allo_vec_done(&files->words);
}

/* Whether a word stands for processes: it begins with % and is no file. */
static bool is_process_word(const char *word)
{
	return word[0] == '%' && word[1] != '\0' && access(word, F_OK) != 0;
}

static bool find_processes(struct allo_recorded_processes *list, const char *word, bool is_one,
			   struct allo_error *err)
{
	struct allo_recorded_process process;

	if (!is_one)
		return allo_recorded_processes_find(list, word, err);
	if (!allo_recorded_process_find(list, word, &process, err))
		return false;
	list->all.len = 0;
	return allo_vec_add(&list->all, process, err);
}

static bool add_recordings(struct named_recordings *files, const char *word, bool is_one,
			   struct allo_error *err)
{
	struct allo_recorded_processes *list = allo_vec_push(&files->lists);

	if (!list)
		return allo_fail_memory(err);
	*list = (struct allo_recorded_processes){ 0 };
	if (!find_processes(list, word, is_one, err))
		return false;
	for (size_t i = 0; i < list->all.len; i++) {
		char *path;

		if (!allo_recorded_process_has_file(&list->all.at[i], err))
			return false;
		path = (char *)allo_claimed_recording(list, &list->all.at[i], err);
		if (!path || !allo_vec_add(&files->words, path, err))
			return false;
	}
	return true;
}

/*
 * Replaces such words among the arguments of a command that reads files by the paths of recordings.
 * Commands that take any number of files get those of all processes of a name.  Returns the
 * arguments, which belong to `files`, or NULL on failure.
 */
static char **name_recordings(struct named_recordings *files, const struct allo_command *command,
			      char **arguments, struct allo_error *err)
{
	bool reads_files = command->completes == ALLO_COMPLETE_FILES && !command->takes_processes;
	bool is_one = command->files_most != (size_t)-1, is_any = false;
	char *end = NULL;

	for (size_t i = 0; reads_files && arguments[i]; i++)
		is_any |= is_process_word(arguments[i]);
	if (!is_any)
		return arguments;
	for (; *arguments; arguments++) {
		if (!is_process_word(*arguments))
			allo_vec_add(&files->words, *arguments, err);
		else if (!add_recordings(files, *arguments, is_one, err))
			return NULL;
	}
	return allo_vec_add(&files->words, end, err) ? files->words.at : NULL;
}

/* Commands. */

/* These return the exit status. */
static int print_help(const struct allo_command *command, struct allo_error *err)
{
	allo_help_print(command, err);
	return exit_status(err);
}

static int run(const struct allo_command *command, char **arguments, struct named_recordings *files,
	       struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) void *options = calloc(1, command->options_size + 1);

	if (allo_options_ask_for_help(command, arguments))
		return print_help(command, err);
	if (!options)
		allo_fail_memory(err);
	else if (command->defaults)
		memcpy(options, command->defaults, command->options_size);
	if (options && allo_options_parse(command, arguments, options, err) &&
	    (arguments = name_recordings(files, command, arguments, err)) != NULL)
		command->run(options, arguments, err);
	return command->status ? *command->status : exit_status(err);
}

/* Whether a word in place of a command is a file: 'allo FILE' is 'allo summary FILE'. */
static bool is_file(const char *word)
{
	return strcmp(word, "-") == 0 ||
	       (word[0] != '-' &&
		(strpbrk(word, "/.") || access(word, F_OK) == 0 || is_process_word(word)));
}

static int run_named(char **arguments, struct named_recordings *files, struct allo_error *err)
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
	ALLO_DEFER(named_recordings_done) struct named_recordings files = { 0 };
	struct allo_error err = { 0 };
	struct allo_text called = argc > 0 ? allo_basename(allo_text_of(argv[0]))
					   : ALLO_TEXT("allo");
	char **arguments = argc > 0 ? argv + 1 : argv;
	const struct allo_dropin *dropin = allo_dropin_find(called);
	int status = dropin ? run_dropin(dropin, arguments, &err)
			    : run_named(arguments, &files, &err);

	if (allo_failed(&err) && err.code != ALLO_UNMET)
		allo_say_error(&err);
	say_count();
	return status;
}
