/* rheaper_files.c - finds and reads the files of a recording, in a directory or a tar archive. */
#include "readers/rheaper/rheaper_files.h"

#include "base/assert.h"
#include "base/defer.h"
#include "readers/rheaper/tar.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static const struct allo_text events_start = ALLO_TEXT_INIT("events/events-");
static const struct allo_text backtraces_start = ALLO_TEXT_INIT("backtraces/bt-");
static const struct allo_text recording_start = ALLO_TEXT_INIT("rip-");

static void close_directory(DIR **directory)
{
	if (*directory)
		closedir(*directory);
}

static void close_descriptor(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Lists. */

/* Sorts numbers in names by value.  Of equal names the later one comes first and wins: an archive
 * may have been appended to. */
static int compare_files(const void *a, const void *b)
{
	const struct allo_rheaper_file *x = a, *y = b;
	int order = strverscmp(x->name, y->name);

	return order ? order : (x->offset < y->offset) - (x->offset > y->offset);
}

static void sort_list(struct allo_rheaper_list *list)
{
	size_t kept = 0;

	if (list->files.len == 0)
		return;
	qsort(list->files.at, list->files.len, sizeof(*list->files.at), compare_files);
	for (size_t i = 0; i < list->files.len; i++) {
		if (i == 0 || strcmp(list->files.at[i].name, list->files.at[kept - 1].name) != 0)
			list->files.at[kept++] = list->files.at[i];
	}
	list->files.len = kept;
}

/* The list for a path within the recording, or NULL. */
static struct allo_rheaper_list *list_of(struct allo_rheaper_files *files, struct allo_text path)
{
	struct allo_text before, after;

	if (allo_text_cut_last(path, '/', &before, &after) && memchr(before.data, '/', before.len))
		return NULL;
	if (allo_text_starts(path, events_start))
		return &files->events;
	return allo_text_starts(path, backtraces_start) ? &files->backtraces : NULL;
}

static bool add_file(struct allo_rheaper_files *files, struct allo_text path,
		     struct allo_rheaper_file file, struct allo_error *err)
{
	struct allo_rheaper_list *list = list_of(files, path);

	ALLO_ASSERT(list);
	file.name = allo_arena_copy(&files->arena, path.data, path.len);
	if (!file.name || !allo_vec_append(&list->files, &file, 1))
		return allo_fail_memory(err);
	return true;
}

/* "rip-1700000000": seconds since 1970. */
static void set_start(struct allo_rheaper_files *files, struct allo_text name)
{
	uint64_t seconds;

	if (allo_text_skip(&name, recording_start) && allo_text_u64(name, &seconds) &&
	    seconds < INT64_MAX / 1000000000)
		files->start_s = (int64_t)seconds;
}

/* Sets the recording's name within the directory or archive. */
static bool set_outer(struct allo_rheaper_files *files, struct allo_text name,
		      struct allo_error *err)
{
	set_start(files, name);
	files->outer = name.len > 0 ? allo_arena_copy(&files->arena, name.data, name.len) : NULL;
	return files->outer || name.len == 0 || allo_fail_memory(err);
}

static uint64_t size_of(const struct allo_rheaper_list *list)
{
	uint64_t size = 0;

	for (size_t i = 0; i < list->files.len; i++)
		size += list->files.at[i].size;
	return size;
}

static bool check_lists(struct allo_rheaper_files *files, struct allo_error *err)
{
	sort_list(&files->events);
	sort_list(&files->backtraces);
	files->total = size_of(&files->events) + size_of(&files->backtraces);
	if (files->events.files.len > 0)
		return true;
	allo_fail(err, ALLO_FORMAT, (struct allo_pos){ .file = files->name },
		  "has no events: there is no file events/events-*");
	return allo_hint(err, "rheaper writes them while it records; 'disable_tracking()' ends it");
}

/* Directories. */

/* Opens the directory `path` relative to an open one; -1 at failure. */
static int open_inner(int directory, const char *path)
{
	return openat(directory, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static bool has_events(int directory, const char *path)
{
	char events[NAME_MAX + sizeof("/events")];
	struct stat st;

	snprintf(events, sizeof(events), "%s/events", path);
	return fstatat(directory, events, &st, 0) == 0 && S_ISDIR(st.st_mode);
}

/* Counts the recordings in a directory; sets `last` to the name of the newest. */
static size_t find_recordings(int directory, char last[NAME_MAX + 1])
{
	int fd = open_inner(directory, ".");
	ALLO_DEFER(close_directory) DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	const struct dirent *entry;
	size_t count = 0;

	last[0] = '\0';
	if (!listing && fd >= 0)
		close(fd);
	while (listing && (entry = readdir(listing))) {
		if (!allo_text_starts(allo_text_of(entry->d_name), recording_start) ||
		    !has_events(directory, entry->d_name))
			continue;
		count++;
		if (strverscmp(entry->d_name, last) > 0)
			snprintf(last, NAME_MAX + 1, "%s", entry->d_name);
	}
	return count;
}

bool allo_rheaper_is_directory(const char *path)
{
	ALLO_DEFER(close_descriptor) int directory = open_inner(AT_FDCWD, path);
	char name[NAME_MAX + 1];

	return directory >= 0 && (has_events(directory, ".") || find_recordings(directory, name));
}

static bool list_file(struct allo_rheaper_files *files, const char *path, struct allo_error *err)
{
	struct allo_rheaper_file file = { .name = path };
	struct allo_pos pos = allo_rheaper_pos(files, &file, 0, 0);
	struct stat st;

	if (fstatat(files->directory, path, &st, 0) != 0)
		return allo_fail(err, errno == ENOMEM ? ALLO_NOMEM : ALLO_IO, pos,
				 "cannot open: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return allo_fail(err, ALLO_FORMAT, pos, "is not a file");
	file.size = (uint64_t)st.st_size;
	return add_file(files, allo_text_of(path), file, err);
}

/* Lists a directory of the recording, which may be missing: check_lists() decides. */
static bool list_directory(struct allo_rheaper_files *files, const char *name,
			   struct allo_error *err)
{
	int fd = open_inner(files->directory, name);
	ALLO_DEFER(close_directory) DIR *listing = fd >= 0 ? fdopendir(fd) : NULL;
	struct allo_pos pos = allo_rheaper_pos(files, &(struct allo_rheaper_file){ name }, 0, 0);
	char path[NAME_MAX * 2];
	const struct dirent *entry;

	if (fd < 0 && errno == ENOENT)
		return true;
	if (!listing) {
		allo_fail(err, errno == ENOMEM ? ALLO_NOMEM : ALLO_IO, pos, "cannot open: %s",
			  strerror(errno));
		if (fd >= 0)
			close(fd);
		return false;
	}
	for (;;) {
		errno = 0;
		entry = readdir(listing);
		if (!entry)
			break;
		snprintf(path, sizeof(path), "%s/%s", name, entry->d_name);
		if (list_of(files, allo_text_of(path)) && !list_file(files, path, err))
			return false;
	}
	return errno == 0 || allo_fail(err, ALLO_IO, pos, "cannot read: %s", strerror(errno));
}

/* Enters the only recording in a directory, unless the directory is the recording. */
static bool enter_recording(struct allo_rheaper_files *files, struct allo_error *err)
{
	struct allo_pos pos = { .file = files->name };
	char name[NAME_MAX + 1];
	size_t count;
	int inner;

	if (has_events(files->directory, "."))
		return true;
	count = find_recordings(files->directory, name);
	if (count == 0) {
		allo_fail(err, ALLO_FORMAT, pos, "is a directory without a rheaper recording");
		return allo_hint(err,
				 "a rheaper recording is a directory rip-... that holds events/ "
				 "and backtraces/");
	}
	if (count > 1) {
		allo_fail(err, ALLO_USAGE, pos, "holds %zu recordings", count);
		return allo_hint(err, "name one of them; the newest is %.100s", name);
	}
	if (!set_outer(files, allo_text_of(name), err))
		return false;
	inner = open_inner(files->directory, name);
	if (inner < 0)
		return allo_fail_errno(err, files->name, "open the recording in it");
	close(files->directory);
	files->directory = inner;
	return true;
}

bool allo_rheaper_open_directory(struct allo_rheaper_files *files, const char *path,
				 const struct allo_progress *progress, struct allo_error *err)
{
	struct allo_text rest = allo_text_of(path), before = { 0 }, name = rest;

	*files = (struct allo_rheaper_files){ .name = path, .progress = progress, .is_open = true };
	files->directory = open_inner(AT_FDCWD, path);
	if (files->directory < 0)
		return allo_fail_errno(err, path, "open");
	while (rest.len > 0 && rest.data[rest.len - 1] == '/')
		rest.len--;
	name = rest;
	allo_text_cut_last(rest, '/', &before, &name);
	set_start(files, name);
	return enter_recording(files, err) && list_directory(files, "events", err) &&
	       list_directory(files, "backtraces", err) && check_lists(files, err);
}

/* Archives. */

/* Splits a path at the recording: "tmp/rip-1/" and "events/events-0".  False for files that are
 * neither events nor backtraces. */
static bool split_path(struct allo_text path, struct allo_text *outer, struct allo_text *inner)
{
	size_t slash = allo_text_find_last(path, ALLO_TEXT("/"));

	if (slash == (size_t)-1)
		return false;
	while (slash > 0 && path.data[slash - 1] != '/')
		slash--;
	*outer = (struct allo_text){ path.data, slash };
	*inner = allo_text_from(path, slash);
	return allo_text_starts(*inner, events_start) || allo_text_starts(*inner, backtraces_start);
}

/* Fails unless all files belong to one recording. */
static bool check_outer(struct allo_rheaper_files *files, struct allo_text outer,
			struct allo_text *first, struct allo_error *err)
{
	struct allo_text before, name = outer;

	if (!first->data) {
		first->data = allo_arena_copy(&files->arena, outer.data, outer.len);
		first->len = outer.len;
		if (!first->data)
			return allo_fail_memory(err);
		name.len -= name.len > 0;
		allo_text_cut_last(name, '/', &before, &name);
		if (!set_outer(files, name, err))
			return false;
	}
	if (allo_text_equal(outer, *first))
		return true;
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = files->name },
		  "holds several recordings: \"%.*s\" and \"%.*s\"", ALLO_TEXT_ARG(*first),
		  ALLO_TEXT_ARG(outer));
	return allo_hint(err, "unpack the archive and read one of them");
}

bool allo_rheaper_open_archive(struct allo_rheaper_files *files, struct allo_input *in,
			       struct allo_error *err)
{
	struct allo_tar tar = { .source = &files->archive };
	struct allo_text outer, inner, first = { 0 };

	*files = (struct allo_rheaper_files){
		.name = in->name, .progress = in->progress, .is_open = true, .directory = -1
	};
	if (!allo_random_access_open(&files->archive, in, err))
		return false;
	while (allo_tar_next(&tar, err)) {
		struct allo_rheaper_file file = { .offset = tar.offset,
						  .size = tar.size,
						  .is_cut = tar.is_cut };

		if (split_path(allo_text_of(tar.path), &outer, &inner) &&
		    (!check_outer(files, outer, &first, err) || !add_file(files, inner, file, err)))
			return false;
	}
	if (allo_failed(err))
		return false;
	return check_lists(files, err);
}

/* Directories and archives. */

void allo_rheaper_close(struct allo_rheaper_files *files)
{
	if (!files->is_open)
		return;
	close_descriptor(&files->directory);
	allo_random_access_close(&files->archive);
	allo_vec_done(&files->events.files);
	allo_vec_done(&files->backtraces.files);
	allo_arena_done(&files->arena);
	files->is_open = false;
}

static bool fail_shorter(const struct allo_rheaper_files *files,
			 const struct allo_rheaper_file *file, struct allo_error *err)
{
	return allo_fail(err, ALLO_IO, allo_rheaper_pos(files, file, 0, 0),
			 "became shorter while it was read");
}

static bool read_fd(int fd, uint64_t offset, char *buffer, size_t count, size_t *got)
{
	*got = 0;
	while (*got < count) {
		ssize_t done = pread(fd, buffer + *got, count - *got, (off_t)(offset + *got));

		if (done < 0 && errno == EINTR)
			continue;
		if (done <= 0)
			return done == 0;
		*got += (size_t)done;
	}
	return true;
}

static bool read_from_directory(struct allo_rheaper_files *files,
				const struct allo_rheaper_file *file, uint64_t offset, char *buffer,
				size_t count, size_t *got, struct allo_error *err)
{
	/* It was a regular file when it was listed; if that has changed, do not block on it. */
	ALLO_DEFER(close_descriptor)
	int fd = openat(files->directory, file->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	bool ok = fd >= 0 && read_fd(fd, offset, buffer, count, got);

	return ok || allo_fail(err, ALLO_IO, allo_rheaper_pos(files, file, 0, 0), "cannot %s: %s",
			       fd < 0 ? "open" : "read", strerror(errno));
}

bool allo_rheaper_read(struct allo_rheaper_files *files, const struct allo_rheaper_file *file,
		       uint64_t offset, void *buffer, size_t count, struct allo_error *err)
{
	size_t got = 0;
	bool ok = files->directory >= 0
			  ? read_from_directory(files, file, offset, buffer, count, &got, err)
			  : allo_random_access_read(&files->archive, file->offset + offset, buffer,
						    count, &got, err);

	if (!ok)
		return false;
	if (got < count)
		return fail_shorter(files, file, err);
	files->done += count;
	if (files->progress)
		files->progress->tell(files->progress->context, files->done, files->total);
	return true;
}

void allo_rheaper_start_over(struct allo_rheaper_files *files)
{
	files->done = size_of(&files->backtraces);
}

struct allo_pos allo_rheaper_pos(const struct allo_rheaper_files *files,
				 const struct allo_rheaper_file *file, uint64_t line, uint64_t byte)
{
	struct allo_pos pos = { .file = files->name, .line = line, .byte = byte };

	snprintf(pos.part, sizeof(pos.part), "%s%s%s", files->outer ? files->outer : "",
		 files->outer ? "/" : "", file->name);
	return pos;
}
