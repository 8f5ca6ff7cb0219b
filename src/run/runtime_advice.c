#include "run/runtime_advice.h"

#include "profile/naming.h"
#include "report/messages.h"
#include "run/known_runtime.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A build executes few programs, each many times. */
static bool is_new(struct allo_runtime_advice *advice, int fd)
{
	struct allo_seen_program program;
	struct stat file;

	if (fstat(fd, &file) != 0)
		return false;
	for (size_t i = 0; i < advice->seen.len; i++) {
		if (advice->seen.at[i].device == file.st_dev &&
		    advice->seen.at[i].inode == file.st_ino)
			return false;
	}
	program = (struct allo_seen_program){ file.st_dev, file.st_ino };
	return allo_vec_append(&advice->seen, &program, 1);
}

static bool is_wanted(const struct allo_runtime_advice *advice,
		      const struct allo_known_runtime *runtime)
{
	const char *value = runtime->variable ? getenv(runtime->variable) : NULL;

	return (!value || !value[0]) &&
	       !(advice->tracks_mappings && strstr(runtime->advice, "--track"));
}

bool allo_runtime_advice_tell(struct allo_runtime_advice *advice, const char *path,
			      const char *name)
{
	int fd = advice->is_quiet ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	const struct allo_known_runtime *runtime;
	unsigned bit;

	if (fd < 0)
		return false;
	runtime = is_new(advice, fd) ? allo_known_runtime_find(fd) : NULL;
	close(fd);
	if (!runtime)
		return false;
	bit = 1u << (runtime - allo_known_runtimes);
	if (!(advice->told & bit) && is_wanted(advice, runtime))
		allo_say_note("%s %s: %s", name, runtime->is, runtime->advice);
	advice->told |= bit;
	return true;
}

static void tell_process(struct allo_runtime_advice *advice, pid_t pid)
{
	char path[48], program[PATH_MAX];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	len = readlink(path, program, sizeof(program) - 1);
	if (len <= 0)
		return;
	program[len] = '\0';
	allo_runtime_advice_tell(advice, path, allo_basename(allo_text_of(program)).data);
}

void allo_runtime_advice_look(struct allo_runtime_advice *advice,
			      const struct allo_recordings *recordings)
{
	for (; advice->recordings_seen < recordings->all.len; advice->recordings_seen++) {
		pid_t pid = recordings->all.at[advice->recordings_seen].pid;

		if (pid != 0 && !advice->is_quiet)
			tell_process(advice, pid);
	}
}

void allo_runtime_advice_done(struct allo_runtime_advice *advice)
{
	allo_vec_done(&advice->seen);
}
