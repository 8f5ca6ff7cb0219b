#include "run/carried_runtime.h"

#include "base/defer.h"
#include "base/io/cache_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

extern const char allo_carried_glibc[], allo_carried_musl[];
extern const uint64_t allo_carried_glibc_size, allo_carried_musl_size;

struct carried {
	enum allo_libc libc;
	const char *bytes;
	const uint64_t *size;
};

static const struct carried carried[] = {
	{ ALLO_LIBC_GLIBC, allo_carried_glibc, &allo_carried_glibc_size },
	{ ALLO_LIBC_MUSL, allo_carried_musl, &allo_carried_musl_size },
};

enum { KINDS = sizeof(carried) / sizeof(*carried) };

/* FNV-1a: versions of allo do not overwrite each other's files, which processes may use. */
static uint64_t hash_of_all(void)
{
	uint64_t hash = 0xcbf29ce484222325;

	for (size_t i = 0; i < KINDS; i++) {
		for (uint64_t at = 0; at < *carried[i].size; at++)
			hash = (hash ^ (unsigned char)carried[i].bytes[at]) * 0x100000001b3;
	}
	return hash;
}

/* Whether only we, and root, can change the files of a folder. */
static bool is_ours(const char *folder)
{
	struct stat facts;

	if (lstat(folder, &facts) != 0)
		return false;
	errno = EPERM;
	return S_ISDIR(facts.st_mode) && facts.st_uid == geteuid() && !(facts.st_mode & 022);
}

/* Folders may be mounted without the right to execute. */
static bool can_execute(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	void *page;

	if (fd < 0)
		return false;
	page = mmap(NULL, 1, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	close(fd);
	return page != MAP_FAILED && munmap(page, 1) == 0;
}

static bool is_written(const char *path, const struct carried *runtime)
{
	allo_cache_bytes bytes = { 0 };
	bool is_equal;

	allo_cache_read(path, *runtime->size, &bytes);
	is_equal = bytes.len == *runtime->size && memcmp(bytes.at, runtime->bytes, bytes.len) == 0;
	allo_vec_done(&bytes);
	return is_equal;
}

/* Other users may have to read it, whatever the umask. */
static bool write_runtime(const char *path, const struct carried *runtime)
{
	return is_written(path, runtime) ||
	       (allo_cache_write(path, runtime->bytes, *runtime->size) && chmod(path, 0644) == 0);
}

/* Writes all runtimes into a folder, since a program may execute one of another C library.  The
 * path of the one for `libc`. */
static char *write_all(const char *folder, enum allo_libc libc)
{
	ALLO_DEFER(allo_free_pointer) char *found = NULL;
	char *result;

	for (size_t i = 0; i < KINDS; i++) {
		char *path;

		if (*carried[i].size == 0)
			continue;
		if (asprintf(&path, "%s/%s", folder, allo_runtime_name(carried[i].libc)) < 0)
			return NULL;
		if (!write_runtime(path, &carried[i]) || carried[i].libc != libc)
			free(path);
		else
			found = path;
	}
	if (!found || !can_execute(found))
		return NULL;
	result = found;
	found = NULL;
	return result;
}

/* The folders to try, best first; NULL: this one does not exist here. */
static char *folder_of(size_t choice, uint64_t hash)
{
	unsigned long long name = hash;
	char kind[64], *folder = NULL;
	int len = -1;

	switch (choice) {
	case 0:
		if (geteuid() == 0)
			len = asprintf(&folder, "/run/allotrope-%016llx", name);
		break;
	case 1:
		snprintf(kind, sizeof(kind), "runtime-%016llx", name);
		folder = allo_cache_path(kind, "");
		if (folder) {
			allo_cache_make_folders(folder);
			folder[strlen(folder) - 1] = '\0'; /* the slash */
		}
		return folder;
	default:
		len = asprintf(&folder, "%s/allotrope-%u-%016llx",
			       choice == 2 ? "/tmp" : "/dev/shm", (unsigned)geteuid(), name);
	}
	return len < 0 ? NULL : folder;
}

char *allo_carried_runtime(enum allo_libc libc)
{
	enum { CHOICES = 4 };
	uint64_t hash = hash_of_all();
	char *path = NULL;

	errno = ENOENT;
	for (size_t i = 0; i < KINDS; i++) {
		if (carried[i].libc == libc && *carried[i].size == 0)
			return NULL;
	}
	for (size_t i = 0; i < CHOICES && !path; i++) {
		ALLO_DEFER(allo_free_pointer) char *folder = folder_of(i, hash);

		if (folder && (mkdir(folder, 0755) == 0 || errno == EEXIST) && is_ours(folder))
			path = write_all(folder, libc);
	}
	return path;
}
