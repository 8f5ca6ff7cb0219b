#include "engine/source_files.h"

#include "base/defer.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIZE_MOST = 64 << 20 }; /* larger than any source file written by hand */

void allo_source_file_done(struct allo_source_file *file)
{
	free(file->path);
	free(file->bytes);
	allo_vec_done(&file->lines);
	*file = (struct allo_source_file){ 0 };
}

bool allo_source_places_check(const struct allo_source_places *places, struct allo_error *err)
{
	for (size_t i = 0; i < places->substitutes->count; i++) {
		const char *item = places->substitutes->item[i], *equals = strchr(item, '=');

		if (!equals || equals == item)
			return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
					 "--substitute expects FROM=TO, not '%.100s'", item);
	}
	return true;
}

/* Reading. */

static bool read_all(struct allo_source_file *file, int fd, size_t size, struct allo_error *err)
{
	size_t used = 0;
	ssize_t got;

	file->bytes = malloc(size + 1);
	if (!file->bytes)
		return allo_fail_memory(err);
	while (used < size && (got = read(fd, file->bytes + used, size - used)) > 0)
		used += (size_t)got;
	for (struct allo_text rest = { file->bytes, used }, line;
	     rest.len > 0 && allo_text_next(&rest, '\n', &line);) {
		if (line.len > 0 && line.data[line.len - 1] == '\r')
			line.len--;
		if (!allo_vec_append(&file->lines, &line, 1))
			return allo_fail_memory(err);
	}
	return true;
}

/* Reads a regular file, if there is one at the path. */
static bool try_file(struct allo_source_file *file, const char *path, struct allo_error *err)
{
	/* A pipe must not block us, and a terminal must not become our controlling terminal. */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat status;
	bool ok = true;

	if (fd < 0)
		return true;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode)) {
		file->path = strdup(path);
		file->changed_ns = status.st_mtim.tv_sec * 1000000000ll + status.st_mtim.tv_nsec;
		file->is_too_large = status.st_size > SIZE_MOST;
		ok = file->path
			     ? file->is_too_large || read_all(file, fd, (size_t)status.st_size, err)
			     : allo_fail_memory(err);
	}
	close(fd);
	return ok;
}

/* Searching. */

static bool try_joined(struct allo_source_file *file, struct allo_text before, const char *between,
		       struct allo_text after, struct allo_error *err)
{
	char path[PATH_MAX];

	/* Longer paths and those with a NUL cannot be opened. */
	if (before.len + strlen(between) + after.len >= sizeof(path) ||
	    memchr(after.data, '\0', after.len))
		return true;
	snprintf(path, sizeof(path), "%.*s%s%.*s", (int)before.len, before.data, between,
		 (int)after.len, after.data);
	return try_file(file, path, err);
}

/* Whether a path has "..", which may lead out of the folder that is put before it. */
static bool climbs(struct allo_text path)
{
	struct allo_text part;

	while (allo_text_next(&path, '/', &part)) {
		if (allo_text_equal(part, ALLO_TEXT("..")))
			return true;
	}
	return false;
}

/* Tries the whole path below a folder, and then the path without its outer folders. */
static bool try_folder(struct allo_source_file *file, const struct allo_source_places *places,
		       struct allo_text folder, struct allo_text recorded, struct allo_error *err)
{
	struct allo_text rest = recorded, outer;

	while (!file->path) {
		while (allo_text_skip(&rest, ALLO_TEXT("/")))
			;
		if (rest.len == 0)
			return true;
		if (!(places->only_these && climbs(rest)) &&
		    !try_joined(file, folder, "/", rest, err))
			return false;
		if (!allo_text_cut(rest, '/', &outer, &rest))
			return true;
	}
	return true;
}

static bool try_substitutes(struct allo_source_file *file, const struct allo_source_places *places,
			    struct allo_text recorded, struct allo_error *err)
{
	for (size_t i = 0; i < places->substitutes->count && !file->path; i++) {
		struct allo_text from, to, rest = recorded;

		if (allo_text_cut(allo_text_of(places->substitutes->item[i]), '=', &from, &to) &&
		    allo_text_skip(&rest, from) && !(places->only_these && climbs(rest)) &&
		    !try_joined(file, to, "", rest, err))
			return false;
	}
	return true;
}

bool allo_source_file_find(struct allo_source_file *file, const struct allo_source_places *places,
			   struct allo_text recorded, struct allo_error *err)
{
	struct allo_text more = allo_text_of(places->more_folders ? places->more_folders : "");
	struct allo_text folder;

	if (recorded.len == 0)
		return true;
	if (!try_substitutes(file, places, recorded, err))
		return false;
	for (size_t i = 0; i < places->folders->count && !file->path; i++) {
		if (!try_folder(file, places, allo_text_of(places->folders->item[i]), recorded,
				err))
			return false;
	}
	while (!file->path && allo_text_next(&more, ':', &folder)) {
		if (folder.len > 0 && !try_folder(file, places, folder, recorded, err))
			return false;
	}
	return file->path || places->only_these ||
	       try_joined(file, (struct allo_text){ "", 0 }, "", recorded, err);
}

struct allo_text allo_source_file_line(const struct allo_source_file *file, uint64_t line,
				       bool *is_there)
{
	*is_there = line > 0 && line <= file->lines.len;
	return *is_there ? file->lines.at[line - 1] : (struct allo_text){ "", 0 };
}
