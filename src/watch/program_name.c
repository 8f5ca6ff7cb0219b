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

static void read_file(pid_t pid, const char *file, char *text, size_t size)
{
	char path[64];
	ssize_t len = -1;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	ALLO_DEFER(allo_close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, text, size - 1);
	text[len > 0 ? len : 0] = '\0';
}

static struct allo_text without_folder(struct allo_text path)
{
	struct allo_text folder, name;

	return allo_text_cut_last(path, '/', &folder, &name) ? name : path;
}

/* Cuts a name at the first space that is not of the name, if it begins with `comm`. */
static bool cut_at_comm(struct allo_text *name, struct allo_text comm)
{
	if (comm.len == 0 || !allo_text_starts(*name, comm))
		return false;
	while (comm.len < name->len && name->data[comm.len] != ' ')
		comm.len++;
	name->len = comm.len;
	return true;
}

/* Titles have spaces and slashes ("redis-server unixsocket:/run/redis/socket"), and so have
 * folders: the kernel's name of the process, up to 15 bytes of it, tells which. */
struct allo_text allo_program_name_of(struct allo_text first, struct allo_text comm)
{
	struct allo_text whole, word, rest;
	size_t title = allo_text_find(first, ALLO_TEXT(": "));

	if (title < first.len)
		first.len = title;
	whole = without_folder(first);
	if (!allo_text_cut(first, ' ', &word, &rest))
		return whole;
	word = without_folder(word);
	if (cut_at_comm(&word, comm))
		return word;
	return cut_at_comm(&whole, comm) || comm.len == 0 ? whole : comm;
}

void allo_program_name_read(pid_t pid, char name[ALLO_PROGRAM_NAME_SIZE])
{
	char first[PATH_MAX], comm[64];
	struct allo_text found;

	read_file(pid, "cmdline", first, sizeof(first));
	read_file(pid, "comm", comm, sizeof(comm));
	found = allo_program_name_of(allo_text_of(first), allo_text_trim(allo_text_of(comm)));
	snprintf(name, ALLO_PROGRAM_NAME_SIZE, "%.*s",
		 found.len < ALLO_PROGRAM_NAME_SIZE ? (int)found.len : ALLO_PROGRAM_NAME_SIZE - 1,
		 found.data);
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
