/* cache_file.c - paths, atomic writes, and trimming by age. */
#include "base/io/cache_file.h"

#include "base/defer.h"
#include "base/io/output.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *allo_cache_path(const char *kind, const char *name)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	const char *off = getenv("ALLO_NO_CACHE");
	char *path = NULL;
	int len = -1;

	if (off && off[0] != '\0')
		return NULL;
	if (cache && cache[0] == '/')
		len = asprintf(&path, "%s/allotrope/%s/%s", cache, kind, name);
	/* A home that does not exist, such as Debian's /nonexistent, is not made. */
	else if (home && home[0] == '/' && access(home, F_OK) == 0)
		len = asprintf(&path, "%s/.cache/allotrope/%s/%s", home, kind, name);
	return len < 0 ? NULL : path;
}

static void read_all(int fd, size_t size, allo_cache_bytes *bytes)
{
	ssize_t got;

	if (!allo_vec_reserve(bytes, size + 1))
		return;
	do {
		got = read(fd, bytes->at + bytes->len, size - bytes->len);
		bytes->len += got > 0 ? (size_t)got : 0;
	} while (bytes->len < size && (got > 0 || (got < 0 && errno == EINTR)));
}

void allo_cache_read(const char *path, size_t most, allo_cache_bytes *bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	struct stat facts;

	bytes->len = 0;
	if (fd < 0)
		return;
	if (fstat(fd, &facts) == 0 && S_ISREG(facts.st_mode) && (uint64_t)facts.st_size <= most)
		read_all(fd, (size_t)facts.st_size, bytes);
	close(fd);
}

void allo_cache_make_folders(const char *path)
{
	ALLO_DEFER(allo_free_pointer) char *folder = strdup(path);

	for (char *at = folder ? folder + 1 : NULL; at && *at; at++) {
		if (*at != '/')
			continue;
		*at = '\0';
		mkdir(folder, 0700);
		*at = '/';
	}
}

bool allo_cache_write(const char *path, const void *bytes, size_t len)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_output_options options = { .replace = true };
	struct allo_error ignored = { 0 };

	allo_cache_make_folders(path);
	if (!allo_output_open(&out, path, &options, &ignored))
		return false;
	allo_output_bytes(&out, bytes, len);
	return allo_output_finish(&out, &ignored);
}

/* Trimming. */

struct entry {
	struct timespec written;
	uint64_t size;
	char name[256];
};

static int compare_entries(const void *left, const void *right)
{
	const struct timespec *a = &((const struct entry *)left)->written;
	const struct timespec *b = &((const struct entry *)right)->written;

	if (a->tv_sec != b->tv_sec)
		return a->tv_sec < b->tv_sec ? -1 : 1;
	return a->tv_nsec < b->tv_nsec ? -1 : a->tv_nsec > b->tv_nsec;
}

static bool get_entry(DIR *folder, const char *name, struct entry *entry)
{
	struct stat facts;

	if (fstatat(dirfd(folder), name, &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
	    !S_ISREG(facts.st_mode))
		return false;
	entry->written = facts.st_mtim;
	entry->size = (uint64_t)facts.st_size;
	return snprintf(entry->name, sizeof(entry->name), "%s", name) < (int)sizeof(entry->name);
}

void allo_cache_trim(const char *kind, uint64_t most)
{
	ALLO_DEFER(allo_free_pointer) char *path = allo_cache_path(kind, "");
	DIR *folder = path ? opendir(path) : NULL;
	ALLO_VEC(struct entry) entries = { 0 };
	const struct dirent *found;
	uint64_t sum = 0;

	if (!folder)
		return;
	while ((found = readdir(folder)) != NULL) {
		struct entry entry;

		if (!get_entry(folder, found->d_name, &entry))
			continue;
		sum += entry.size;
		if (!allo_vec_append(&entries, &entry, 1))
			break;
	}
	if (sum > most) {
		qsort(entries.at, entries.len, sizeof(*entries.at), compare_entries);
		most -= most / 4;
	}
	for (size_t i = 0; sum > most && i < entries.len; i++) {
		if (unlinkat(dirfd(folder), entries.at[i].name, 0) == 0)
			sum -= entries.at[i].size;
	}
	allo_vec_done(&entries);
	closedir(folder);
}
