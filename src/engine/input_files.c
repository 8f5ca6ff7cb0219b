/* input_files.c - see input_files.h. */
#include "engine/input_files.h"

#include "base/defer.h"
#include "base/text.h"
#include "base/vec.h"
#include "readers/readers.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#define RECORDING_END ".allo"
#define FOLDER_END    ".d"

struct list {
	ALLO_VEC(char *) all;
	struct allo_arena *arena;
	struct allo_error *err;
};

static void list_done(struct list *list)
{
	allo_vec_done(&list->all);
}

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

/* NULL ends the list. */
static void add(struct list *list, const char *path)
{
	char *copy = path ? allo_arena_copy(list->arena, path, strlen(path)) : NULL;

	if ((path && !copy) || !allo_vec_append(&list->all, &copy, 1))
		allo_fail_memory(list->err);
}

static bool is_file(const char *path)
{
	struct stat status;

	return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds the program's recording beside "NAME.d". */
static void add_program(struct list *list, struct allo_text folder)
{
	ALLO_DEFER(allo_free_pointer) char *path = NULL;

	if (!allo_text_ends(folder, ALLO_TEXT(FOLDER_END)))
		return;
	path = strndup(folder.data, folder.len - strlen(FOLDER_END));
	if (!path)
		allo_fail_memory(list->err);
	else if (is_file(path))
		add(list, path);
}

static void add_recordings(struct list *list, struct allo_text folder, DIR *entries)
{
	struct dirent *entry;

	while ((entry = readdir(entries)) != NULL) {
		ALLO_DEFER(allo_free_pointer) char *path = NULL;

		if (!allo_text_ends(allo_text_of(entry->d_name), ALLO_TEXT(RECORDING_END)))
			continue;
		if (asprintf(&path, "%.*s/%s", (int)folder.len, folder.data, entry->d_name) < 0) {
			path = NULL;
			allo_fail_memory(list->err);
		} else if (is_file(path)) {
			add(list, path);
		}
	}
}

/* Other directories stay in the list: their reader takes or refuses them. */
static void add_folder(struct list *list, const char *path)
{
	ALLO_DEFER(close_folder) DIR *entries = opendir(path);
	struct allo_text folder = allo_text_of(path);
	size_t before = list->all.len, others;

	while (folder.len > 1 && folder.data[folder.len - 1] == '/')
		folder.len--;
	if (entries)
		add_recordings(list, folder, entries);
	others = list->all.len - before;
	if (others == 0) {
		add(list, path);
		return;
	}
	qsort(list->all.at + before, others, sizeof(*list->all.at), compare);
	add_program(list, folder);
}

char **allo_input_files(char *const *files, struct allo_arena *arena, struct allo_error *err)
{
	ALLO_DEFER(list_done) struct list list = { .arena = arena, .err = err };
	char **copy;

	for (; *files; files++) {
		if (allo_is_directory(*files))
			add_folder(&list, *files);
		else
			add(&list, *files);
	}
	add(&list, NULL);
	if (allo_failed(err))
		return NULL;
	copy = allo_arena_alloc(arena, list.all.len, sizeof(*copy), _Alignof(char *));
	if (copy)
		memcpy(copy, list.all.at, list.all.len * sizeof(*copy));
	else
		allo_fail_memory(err);
	return copy;
}
