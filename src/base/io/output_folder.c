/* output_folder.c - see output_folder.h. */
#include "base/io/output_folder.h"

#include "base/assert.h"
#include "base/defer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void close_folder(DIR **folder)
{
	if (*folder)
		closedir(*folder);
}

static bool is_known(const char *name, const char *const *names)
{
	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return true;
	for (; *names; names++) {
		if (strcmp(name, *names) == 0)
			return true;
	}
	return false;
}

static struct allo_pos place_of(const struct allo_output_folder *folder)
{
	return (struct allo_pos){ .file = folder->name };
}

/* An existing folder is replaced only if an earlier run made it. */
static bool check_contents(const struct allo_output_folder *folder, struct allo_error *err)
{
	ALLO_DEFER(close_folder) DIR *found = opendir(folder->target);
	const struct dirent *entry;

	if (!found)
		return allo_fail_errno(err, folder->name, "read the folder");
	while ((entry = readdir(found))) {
		if (is_known(entry->d_name, folder->names))
			continue;
		allo_fail(err, ALLO_USAGE, place_of(folder),
			  "is not replaced: it contains %.100s, which allo did not write",
			  entry->d_name);
		return allo_hint(err, "remove the folder, or choose another name with -o");
	}
	return true;
}

static bool check_existing(struct allo_output_folder *folder, const struct stat *st,
			   struct allo_error *err)
{
	char *real;

	if (!S_ISDIR(st->st_mode)) {
		allo_fail(err, ALLO_USAGE, place_of(folder),
			  "exists and is not a folder, which this format needs");
		return allo_hint(err, "choose another name with -o");
	}
	if (!folder->may_replace) {
		allo_fail(err, ALLO_USAGE, place_of(folder), "exists and was not overwritten");
		return allo_hint(err, "add -f, or choose another name with -o");
	}
	real = realpath(folder->target, NULL); /* replaces the target of a link, not the link */
	if (!real)
		return allo_fail_errno(err, folder->name, "open");
	free(folder->target);
	folder->target = real;
	return check_contents(folder, err);
}

bool allo_output_folder_open(struct allo_output_folder *folder, const char *path,
			     const struct allo_output_options *options, const char *const *names,
			     struct allo_error *err)
{
	size_t len = strlen(path);
	struct stat st;

	while (len > 1 && path[len - 1] == '/')
		len--;
	*folder = (struct allo_output_folder){ .name = path,
					       .target = strndup(path, len),
					       .may_replace = options->replace,
					       .names = names,
					       .mode = allo_output_mode(options->sources) };
	if (!folder->target ||
	    asprintf(&folder->temporary, "%s.%ld.tmp", folder->target, (long)getpid()) < 0) {
		folder->temporary = NULL;
		return allo_fail_memory(err);
	}
	if (stat(folder->target, &st) == 0)
		return check_existing(folder, &st, err);
	if (lstat(folder->target, &st) == 0) {
		allo_fail(err, ALLO_IO, place_of(folder),
			  "is a link to a folder that does not exist");
		return allo_hint(err, "remove the link, or choose another name with -o");
	}
	return true;
}

/* Files. */

static char *path_in(const char *folder, const char *name, char path[PATH_MAX])
{
	return snprintf(path, PATH_MAX, "%s/%s", folder, name) < PATH_MAX ? path : NULL;
}

static int open_unnamed(const struct allo_output_folder *folder)
{
	char parent[PATH_MAX];
	char *slash;

	if (strlen(folder->target) >= sizeof(parent) || access("/proc/self/fd", X_OK) != 0)
		return -1;
	strcpy(parent, folder->target);
	slash = strrchr(parent, '/');
	if (slash)
		slash[slash == parent ? 1 : 0] = '\0';
	return open(slash ? parent : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, folder->mode);
}

static void remove_folder(const char *folder, const char *const *names)
{
	char path[PATH_MAX];

	for (; *names; names++) {
		if (path_in(folder, *names, path))
			unlink(path);
	}
	rmdir(folder);
}

static bool make_folder(struct allo_output_folder *folder, struct allo_error *err)
{
	/* Who may read a folder may search it. */
	unsigned mode = folder->mode | (folder->mode & 0444) >> 2;
	bool has_no_parent;

	if (folder->is_made)
		return true;
	remove_folder(folder->temporary, folder->names); /* of a killed process with the same pid */
	folder->is_made = mkdir(folder->temporary, mode) == 0;
	if (folder->is_made)
		return true;
	has_no_parent = errno == ENOENT;
	allo_fail_errno(err, folder->name, "create");
	return has_no_parent && allo_hint(err, "create its folder first");
}

static int open_named(struct allo_output_folder *folder, const char *name, struct allo_error *err)
{
	char path[PATH_MAX];
	int fd;

	if (!make_folder(folder, err))
		return -1;
	if (!path_in(folder->temporary, name, path)) {
		allo_fail(err, ALLO_USAGE, place_of(folder), "is too long a name");
		return -1;
	}
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, folder->mode);
	if (fd < 0)
		allo_fail_errno(err, folder->name, "create a file");
	return fd;
}

bool allo_output_folder_add(struct allo_output_folder *folder, struct allo_output *out,
			    const char *name, struct allo_error *err)
{
	const struct allo_output_options plain = { 0 };
	struct allo_output_part part = { .fd = open_unnamed(folder), .name = name };

	if (part.fd < 0)
		part.fd = open_named(folder, name, err);
	if (part.fd < 0)
		return false;
	if (!allo_vec_append(&folder->parts, &part, 1)) {
		close(part.fd);
		return allo_fail_memory(err);
	}
	return allo_output_open_fd(out, part.fd, folder->name, &plain, err);
}

/* The end. */

/* Gives a file its name in the temporary folder, unless it has it. */
static bool name_part(const struct allo_output_folder *folder, const struct allo_output_part *part,
		      struct allo_error *err)
{
	char self[64], path[PATH_MAX];
	struct stat st;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", part->fd);
	if (fstat(part->fd, &st) == 0 && st.st_nlink > 0)
		return true;
	return (path_in(folder->temporary, part->name, path) &&
		linkat(AT_FDCWD, self, AT_FDCWD, path, AT_SYMLINK_FOLLOW) == 0) ||
	       allo_fail_errno(err, folder->name, "create a file");
}

static bool name_parts(struct allo_output_folder *folder, struct allo_error *err)
{
	for (size_t i = 0; i < folder->parts.len; i++) {
		struct allo_output_part *part = &folder->parts.at[i];
		struct stat st;

		if (!name_part(folder, part, err))
			return false;
		if (fstat(part->fd, &st) == 0)
			folder->size += (uint64_t)st.st_size;
		if (close(part->fd) != 0) {
			part->fd = -1;
			return allo_fail_errno(err, folder->name, "write");
		}
		part->fd = -1;
	}
	return true;
}

/* The old folder gets the temporary name, and is removed with it. */
static bool replace(struct allo_output_folder *folder)
{
	if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->target, RENAME_EXCHANGE) ==
	    0) {
		remove_folder(folder->temporary, folder->names);
		return true;
	}
	/* Some file systems cannot exchange names. */
	if (errno != EINVAL && errno != ENOENT)
		return false;
	remove_folder(folder->target, folder->names);
	return rename(folder->temporary, folder->target) == 0;
}

static bool take_name(struct allo_output_folder *folder)
{
	if (renameat2(AT_FDCWD, folder->temporary, AT_FDCWD, folder->target, RENAME_NOREPLACE) == 0)
		return true;
	if (errno == EEXIST)
		return folder->may_replace && replace(folder);
	/* Some file systems lack RENAME_NOREPLACE. */
	return errno == EINVAL && rename(folder->temporary, folder->target) == 0;
}

bool allo_output_folder_finish(struct allo_output_folder *folder, struct allo_error *err)
{
	if (!make_folder(folder, err) || !name_parts(folder, err))
		return false;
	if (!take_name(folder))
		return allo_fail_errno(err, folder->name, "create");
	folder->is_made = false;
	return true;
}

void allo_output_folder_drop(struct allo_output_folder *folder)
{
	for (size_t i = 0; i < folder->parts.len; i++) {
		if (folder->parts.at[i].fd >= 0)
			close(folder->parts.at[i].fd);
	}
	if (folder->is_made)
		remove_folder(folder->temporary, folder->names);
	allo_vec_done(&folder->parts);
	free(folder->target);
	free(folder->temporary);
	*folder = (struct allo_output_folder){ 0 };
}
