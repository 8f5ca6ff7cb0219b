/* claimed_file.c - see claimed_file.h. */
#include "watch/claimed_file.h"

#include "base/assert.h"
#include "base/defer.h"
#include "watch/mapped_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Whether a process has mapped a file to write to it, so that it may write it. */
static bool has_mapped(pid_t pid, int fd)
{
	char path[64], permissions[8], *line = NULL;
	struct allo_mapped_file file;
	bool is_found = false;
	size_t room = 0;
	FILE *maps;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = pid > 0 ? fopen(path, "re") : NULL;
	while (maps && !is_found && getline(&line, &room, maps) > 0)
		is_found = sscanf(line, "%*s %7s", permissions) == 1 &&
			   strcmp(permissions, "rw-s") == 0 &&
			   allo_mapped_file_parse(line, &file) && allo_mapped_file_is(&file, fd);
	free(line);
	if (maps)
		fclose(maps);
	return is_found;
}

/* Root can read all files anyway. */
static bool is_acceptable(int fd, pid_t pid, uid_t uid)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
	       (status.st_uid == uid || uid == 0 || has_mapped(pid, fd));
}

int allo_claimed_file_open(const char *path, pid_t pid, uid_t uid)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd < 0) {
		/* A link, or a socket. */
		if (errno == ELOOP || errno == ENXIO)
			errno = EPERM;
		return -1;
	}
	if (is_acceptable(fd, pid, uid))
		return fd;
	close(fd);
	errno = EPERM;
	return -1;
}

bool allo_claimed_file_size(const char *path, pid_t pid, uid_t uid, uint64_t *bytes)
{
	ALLO_DEFER(allo_close_fd) int fd = allo_claimed_file_open(path, pid, uid);
	struct stat status;

	if (fd < 0 || fstat(fd, &status) != 0)
		return false;
	*bytes = (uint64_t)status.st_size;
	/* The runtime may have extended the file by a hole. */
	if (*bytes > (uint64_t)status.st_blocks * 512)
		*bytes = (uint64_t)status.st_blocks * 512;
	return true;
}

static bool fail_claim(const struct allo_recorded_process *process, const char *file,
		       struct allo_error *err)
{
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	if (errno != EPERM)
		return allo_fail_errno(err, file, "open");
	return allo_fail(err, ALLO_IO, (struct allo_pos){ .file = file },
			 "%s names it as its recording, but it is not a regular file of its user",
			 allo_recorded_process_name(process, name));
}

/* A path to an open file. */
static const char *keep_open(struct allo_recorded_processes *list, int fd, struct allo_error *err)
{
	char path[64];
	const char *kept;

	ALLO_ASSERT(fd >= 0);
	if (!allo_vec_append(&list->files, &fd, 1)) {
		close(fd);
		allo_fail_memory(err);
		return NULL;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	kept = allo_arena_copy(&list->arena, path, strlen(path));
	if (!kept)
		allo_fail_memory(err);
	return kept;
}

const char *allo_claimed_recording(struct allo_recorded_processes *list,
				   const struct allo_recorded_process *process,
				   struct allo_error *err)
{
	const char *file = allo_recorded_process_file(list, process);
	int fd;

	if (!file) {
		allo_fail_memory(err);
		return NULL;
	}
	fd = allo_claimed_file_open(file, process->pid, process->uid);
	if (fd < 0) {
		fail_claim(process, file, err);
		return NULL;
	}
	if (process->uid != geteuid())
		return keep_open(list, fd, err);
	close(fd);
	return file;
}
