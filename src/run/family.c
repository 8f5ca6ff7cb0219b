/* family.c - see family.h. */
#include "run/family.h"

#include "base/defer.h"
#include "base/text.h"
#include "profile/naming.h"
#include "replay/recording/recording.h"
#include "run/name_pattern.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The directory of an absolute path, to be freed. */
static char *folder_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash > path ? strndup(path, (size_t)(slash - path)) : strdup("/");
}

bool allo_family_has(const char *family, const char *path)
{
	size_t len = strlen(family);

	return strncmp(path, family, len) == 0 && path[len] == '/' && !strchr(path + len + 1, '/');
}

static bool is_family(const char *folder, const char *output)
{
	struct allo_text rest = allo_text_of(folder);
	ALLO_DEFER(allo_free_pointer) char *here = output ? NULL : getcwd(NULL, 0);

	if (!allo_text_ends(rest, ALLO_TEXT(ALLO_FAMILY_END)))
		return false;
	rest.len -= strlen(ALLO_FAMILY_END);
	return output ? allo_text_equal(rest, allo_text_of(output))
		      : here && allo_family_has(strcmp(here, "/") == 0 ? "" : here, folder);
}

char *allo_family_find(const struct allo_recordings *recordings, const char *output)
{
	for (size_t i = 0; i < recordings->all.len; i++) {
		const char *path = recordings->all.at[i].path;
		char *folder = path ? folder_of(path) : NULL;

		if (folder && is_family(folder, output))
			return folder;
		free(folder);
	}
	return NULL;
}

enum { MAX_NUMBERS = 99 }; /* of recordings with one name and pid */

static bool rename_to(struct allo_recordings *recordings, struct allo_recorded *recorded,
		      const char *path)
{
	const char *kept = allo_arena_copy(&recordings->arena, path, strlen(path));

	if (!kept || renameat2(AT_FDCWD, recorded->path, AT_FDCWD, kept, RENAME_NOREPLACE) != 0)
		return false;
	recorded->path = kept;
	return true;
}

/* Renames a recording to "FOLDER/PROGRAM.PID.allo" or, if the process has executed a program of the
 * same name, to "FOLDER/PROGRAM.PID.2.allo". */
static void rename_in(struct allo_recordings *recordings, struct allo_recorded *recorded,
		      const char *folder)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };
	bool is_done = !allo_recording_open_file(&recording, recorded->path, NULL, &err);

	for (int i = 1; i <= MAX_NUMBERS && !is_done; i++) {
		ALLO_DEFER(allo_free_pointer) char *path = NULL;
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof(number), ".%d", i);
		if (asprintf(&path, "%s/%.*s.%u%s.allo", folder,
			     ALLO_TEXT_ARG(allo_recording_program_name(&recording)),
			     recording.head.pid, number) < 0)
			path = NULL;
		is_done = !path || rename_to(recordings, recorded, path) || errno != EEXIST;
	}
}

/* Whether the recording was stopped, rather than ended by exec. */
static bool was_stopped(const struct allo_recorded *recorded)
{
	ALLO_DEFER(allo_recording_close) struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };

	return allo_recording_open_file(&recording, recorded->path, NULL, &err) &&
	       recording.head.end == ALLO_END_STOPPED;
}

void allo_family_claim(struct allo_recordings *recordings, struct allo_recorded *own,
		       const char *output)
{
	ALLO_DEFER(allo_free_pointer) char *folder = folder_of(own->path);
	struct allo_recorded *first = recordings->all.at;
	const char *path = own->path;

	if (own->is_running || !first->path || strcmp(first->path, output) != 0 ||
	    first->pid != own->pid || first == own || was_stopped(first) ||
	    renameat2(AT_FDCWD, first->path, AT_FDCWD, own->path, RENAME_EXCHANGE) != 0)
		return;
	own->path = first->path;
	first->path = path;
	if (folder && is_family(folder, output))
		rename_in(recordings, first, folder);
}

void allo_family_gather(struct allo_recordings *recordings, const char *family)
{
	for (size_t i = 0; i < recordings->all.len; i++) {
		struct allo_recorded *recorded = &recordings->all.at[i];

		if (recorded->path && !recorded->is_running &&
		    !allo_family_has(family, recorded->path))
			rename_in(recordings, recorded, family);
	}
}

void allo_family_remove(const char *family)
{
	DIR *entries = opendir(family);
	struct dirent *entry;

	while (entries && (entry = readdir(entries)) != NULL) {
		if (allo_text_ends(allo_text_of(entry->d_name), ALLO_TEXT(".allo")))
			unlinkat(dirfd(entries), entry->d_name, 0);
	}
	if (entries)
		closedir(entries);
	rmdir(family);
}
