/* named_recordings.c - see named_recordings.h. */
#include "cli/named_recordings.h"

#include "base/defer.h"
#include "base/text.h"
#include "report/messages.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

void allo_named_recordings_done(struct allo_named_recordings *files)
{
	for (size_t i = 0; i < files->lists.len; i++)
		allo_recorded_processes_done(&files->lists.at[i]);
	allo_vec_done(&files->lists);
	allo_vec_done(&files->words);
}

/* Processes. */

bool allo_is_process_word(const char *word)
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

static bool add_recordings(struct allo_named_recordings *files, const char *word, bool is_one,
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

/* Replaces the words for processes among the arguments. */
static char **name_processes(struct allo_named_recordings *files,
			     const struct allo_command *command, char **arguments,
			     struct allo_error *err)
{
	bool reads_files = command->completes == ALLO_COMPLETE_FILES && !command->takes_processes;
	bool is_one = command->files_most != (size_t)-1, is_any = false;
	char *end = NULL;

	for (size_t i = 0; reads_files && arguments[i]; i++)
		is_any |= allo_is_process_word(arguments[i]);
	if (!is_any)
		return arguments;
	for (; *arguments; arguments++) {
		if (!allo_is_process_word(*arguments))
			allo_vec_add(&files->words, *arguments, err);
		else if (!add_recordings(files, *arguments, is_one, err))
			return NULL;
	}
	return allo_vec_add(&files->words, end, err) ? files->words.at : NULL;
}

/* The newest recording. */

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static bool is_later(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec != b->tv_sec ? a->tv_sec > b->tv_sec : a->tv_nsec > b->tv_nsec;
}

/* A directory NAME.allo.d stands for NAME.allo, too. */
static bool is_recording(const char *name, struct stat *st)
{
	struct allo_text text = allo_text_of(name);
	char directory[NAME_MAX + 3];

	if (stat(name, st) != 0)
		return false;
	if (allo_text_ends(text, ALLO_TEXT(".allo.d")))
		return S_ISDIR(st->st_mode);
	snprintf(directory, sizeof(directory), "%s.d", name);
	return allo_text_ends(text, ALLO_TEXT(".allo")) && S_ISREG(st->st_mode) &&
	       access(directory, F_OK) != 0;
}

/* The one in the working folder that was written last. */
static bool find_newest(char newest[NAME_MAX + 1])
{
	ALLO_DEFER(close_folder) DIR *folder = opendir(".");
	struct timespec latest = { 0 };
	const struct dirent *entry;
	struct stat st;

	newest[0] = '\0';
	while (folder && (entry = readdir(folder))) {
		if (!is_recording(entry->d_name, &st) ||
		    (newest[0] && !is_later(&st.st_mtim, &latest)))
			continue;
		snprintf(newest, NAME_MAX + 1, "%s", entry->d_name);
		latest = st.st_mtim;
	}
	return newest[0] != '\0';
}

static bool add_newest(struct allo_named_recordings *files, const struct allo_command *command,
		       struct allo_error *err)
{
	char *name = files->newest;

	if (find_newest(files->newest))
		return allo_vec_add(&files->words, name, err);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "'allo %s' without FILE reads the newest recording here, and there is no *.allo "
		  "in this folder",
		  command->name);
	return allo_hint(err, "record a program first: 'allo run ./program'");
}

char **allo_name_recordings(struct allo_named_recordings *files, const struct allo_command *command,
			    char **arguments, const void *options, struct allo_error *err)
{
	char *end = NULL;

	if (arguments[0] || !command->finds_newest)
		return name_processes(files, command, arguments, err);
	if (!add_newest(files, command, err) || !allo_vec_add(&files->words, end, err))
		return NULL;
	if (!allo_options_flag(command, options, 'q'))
		allo_say("showing %s, the newest recording here", files->newest);
	return files->words.at;
}
