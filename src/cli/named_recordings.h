/*
 * named_recordings.h - the recordings that the arguments of a command stand for.
 *
 * %NAME stands for the recordings of running processes, and no argument at all for the newest
 * recording in the working folder: after 'allo run ./app', 'allo summary' is enough.
 */
#ifndef ALLO_CLI_NAMED_RECORDINGS_H
#define ALLO_CLI_NAMED_RECORDINGS_H

#include "base/vec.h"
#include "cli/command.h"
#include "watch/claimed_file.h"

#include <limits.h>

/* All zeros is empty.  main() owns it, since errors name its paths. */
struct allo_named_recordings {
	ALLO_VEC(char *) words;
	ALLO_VEC(struct allo_recorded_processes) lists; /* own the paths and keep files open */
	char newest[NAME_MAX + 1];
};

/* Whether a word stands for processes: it begins with % and is no file. */
bool allo_is_process_word(const char *word);

/* The files that a command reads.  Commands that take any number of files get those of all
 * processes of a name.  Returns the arguments, or others that belong to `files`, or NULL on
 * failure. */
char **allo_name_recordings(struct allo_named_recordings *files, const struct allo_command *command,
			    char **arguments, const void *options, struct allo_error *err);

void allo_named_recordings_done(struct allo_named_recordings *files);

#endif
