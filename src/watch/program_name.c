/* program_name.c - see program_name.h. */
#include "watch/program_name.h"

#include "base/arena.h"
#include "base/defer.h"
#include "base/text.h"
#include "base/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

void allo_program_name_read(pid_t pid, char name[ALLO_PROGRAM_NAME_SIZE])
{
	char path[64], first[PATH_MAX], *slash, *title;
	ssize_t len = -1;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	ALLO_DEFER(allo_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, first, sizeof(first) - 1);
	first[len > 0 ? len : 0] = '\0';
	title = strstr(first, ": ");
	if (title)
		*title = '\0';
	slash = strrchr(first, '/');
	snprintf(name, ALLO_PROGRAM_NAME_SIZE, "%.*s", ALLO_PROGRAM_NAME_SIZE - 1,
		 slash ? slash + 1 : first);
}

/* The different names that begin with a text, or the first of them. */
enum { MAX_CHOICES = 4 };

struct choices {
	const char *at[MAX_CHOICES];
	size_t count;
};

static void add_choice(struct choices *choices, const char *program)
{
	for (size_t i = 0; i < choices->count; i++) {
		if (strcmp(choices->at[i], program) == 0)
			return;
	}
	if (choices->count < MAX_CHOICES)
		choices->at[choices->count++] = program;
}

static bool fail_ambiguous(const struct choices *choices, const char *wanted,
			   struct allo_error *err)
{
	char names[160] = "";
	size_t len = 0;

	for (size_t i = 0; i < choices->count && len < sizeof(names) - 1; i++)
		len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%%%.32s",
					i > 0 ? ", " : "", choices->at[i]);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the names of several programs begin with '%.64s'",
		  wanted);
	return allo_hint(err, "did you mean one of %s?", names);
}

const char *allo_program_name_select(const struct allo_named_process *processes, size_t count,
				     const char *wanted, struct allo_error *err)
{
	struct choices choices = { .count = 0 };
	size_t len = strlen(wanted);

	for (size_t i = 0; i < count; i++) {
		if (strcmp(processes[i].program, wanted) == 0)
			return processes[i].program;
		if (len > 0 && strncmp(processes[i].program, wanted, len) == 0)
			add_choice(&choices, processes[i].program);
	}
	if (choices.count > 1)
		fail_ambiguous(&choices, wanted, err);
	return choices.count == 1 ? choices.at[0] : NULL;
}

bool allo_program_name_fail_several(const struct allo_named_process *processes, size_t count,
				    const char *program, struct allo_error *err)
{
	char pids[128] = "";
	size_t found = 0, len = 0;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(processes[i].program, program) != 0)
			continue;
		if (len < sizeof(pids) - 16)
			len += (size_t)snprintf(pids + len, sizeof(pids) - len, "%s%d",
						found > 0 ? ", " : "", (int)processes[i].pid);
		found++;
	}
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%zu processes are named '%s'", found, program);
	return allo_hint(err, "give the pid of one: %s", pids);
}

/* All processes. */

struct everyone {
	ALLO_VEC(struct allo_named_process) all;
	struct allo_arena arena; /* owns the names */
};

static void everyone_done(struct everyone *everyone)
{
	allo_vec_done(&everyone->all);
	allo_arena_done(&everyone->arena);
}

static bool add_process(struct everyone *everyone, pid_t pid, struct allo_error *err)
{
	char name[ALLO_PROGRAM_NAME_SIZE];
	struct allo_named_process process = { .pid = pid };

	allo_program_name_read(pid, name);
	if (name[0] == '\0' || pid == getpid())
		return true;
	process.program = allo_arena_copy(&everyone->arena, name, strlen(name));
	return (process.program && allo_vec_append(&everyone->all, &process, 1)) ||
	       allo_fail_memory(err);
}

static bool list_everyone(struct everyone *everyone, struct allo_error *err)
{
	DIR *folder = opendir("/proc");
	struct dirent *entry;

	while (folder && !allo_failed(err) && (entry = readdir(folder)) != NULL) {
		uint64_t pid;

		if (allo_text_u64(allo_text_of(entry->d_name), &pid) && pid <= INT_MAX)
			add_process(everyone, (pid_t)pid, err);
	}
	if (folder)
		closedir(folder);
	return !allo_failed(err);
}

bool allo_program_name_find(const char *wanted, pid_t *pid, struct allo_error *err)
{
	ALLO_DEFER(everyone_done) struct everyone everyone = { 0 };
	const struct allo_named_process *found = NULL;
	const char *program;
	size_t count = 0;

	if (!list_everyone(&everyone, err))
		return false;
	program = allo_program_name_select(everyone.all.at, everyone.all.len, wanted, err);
	for (size_t i = 0; program && i < everyone.all.len; i++) {
		if (strcmp(everyone.all.at[i].program, program) == 0) {
			found = &everyone.all.at[i];
			count++;
		}
	}
	if (count > 1)
		return allo_program_name_fail_several(everyone.all.at, everyone.all.len, program,
						      err);
	if (!found)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "no process is named '%s'", wanted);
	*pid = found->pid;
	return true;
}
