/* process_list.c - lists processes with the runtime, and picks one for a request. */
#include "serve/process_list.h"

#include "base/assert.h"
#include "base/defer.h"
#include "serve/worker.h"
#include "telemetry/monotonic_clock.h"
#include "watch/recorded_process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/pidfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* A new process appears after at most this time. */
#define FRESH_NS (2 * (uint64_t)ALLO_SECOND_NS)

/* A process that the worker found, as it is written to its output. */
struct found {
	pid_t pid;
	bool has_runtime;
	char program[64];
	char socket[PATH_MAX];
};

static void served_done(struct allo_served_process *process)
{
	if (process)
		allo_close_fd(&process->pidfd);
	free(process);
}

void allo_process_list_done(struct allo_process_list *processes)
{
	for (size_t i = 0; i < processes->all.len; i++)
		served_done(processes->all.at[i]);
	allo_vec_done(&processes->all);
}

bool allo_served_process_has_ended(const struct allo_served_process *process)
{
	struct pollfd polled = { .fd = process->pidfd, .events = POLLIN };

	return poll(&polled, 1, 0) > 0;
}

const char *allo_served_process_root(const struct allo_served_process *process,
				     char path[ALLO_ROOT_SIZE])
{
	struct stat ours, its;

	snprintf(path, ALLO_ROOT_SIZE, "/proc/%d/root", (int)process->pid);
	if (stat("/", &ours) < 0 || stat(path, &its) < 0 ||
	    (ours.st_dev == its.st_dev && ours.st_ino == its.st_ino))
		return NULL;
	return path;
}

/* The name of a process without the runtime, from /proc. */
static void read_name(pid_t pid, char *name, size_t room)
{
	char path[64];
	ssize_t len = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		len = read(fd, name, room - 1);
	allo_close_fd(&fd);
	name[len > 0 ? len - 1 : 0] = '\0';
}

static bool add(struct allo_process_list *processes, const struct found *found,
		struct allo_error *err)
{
	struct allo_served_process *process;

	if (processes->all.len == ALLO_PROCESS_LIST_MAX)
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
				 "cannot serve more than %d processes", ALLO_PROCESS_LIST_MAX);
	process = calloc(1, sizeof(*process));
	if (!process || !allo_vec_reserve(&processes->all, 1)) {
		free(process);
		return allo_fail_memory(err);
	}
	process->pid = found->pid;
	process->number = ++processes->last_number;
	process->pidfd = pidfd_open(found->pid, 0);
	if (process->pidfd < 0) {
		free(process);
		return allo_fail(err, ALLO_IO, ALLO_NOWHERE, "process %d: %s", (int)found->pid,
				 strerror(errno));
	}
	process->has_runtime = found->has_runtime;
	memcpy(process->program, found->program, sizeof(process->program));
	memcpy(process->socket, found->socket, sizeof(process->socket));
	if (!process->program[0])
		read_name(process->pid, process->program, sizeof(process->program));
	allo_snapshots_init(&process->history, "", (uint64_t)process->pid);
	processes->all.at[processes->all.len++] = process;
	return true;
}

static struct found found_from(const struct allo_recorded_process *watched)
{
	struct found found = { .pid = watched->pid, .has_runtime = true };

	snprintf(found.program, sizeof(found.program), "%s", watched->program);
	snprintf(found.socket, sizeof(found.socket), "%s", watched->socket);
	return found;
}

static struct allo_served_process *find(const struct allo_process_list *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->all.len; i++) {
		if (processes->all.at[i]->pid == pid)
			return processes->all.at[i];
	}
	return NULL;
}

static bool add_once(struct allo_process_list *processes, const struct found *found,
		     struct allo_error *err)
{
	return find(processes, found->pid) || add(processes, found, err);
}

bool allo_process_list_add(struct allo_process_list *processes, const char *name,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };
	struct allo_error unknown = { 0 };
	uint64_t pid;

	if (!allo_recorded_processes_find(&list, name, &unknown)) {
		if (unknown.code == ALLO_USAGE && allo_text_u64(allo_text_of(name), &pid) &&
		    pid > 0 && pid <= INT_MAX)
			return add_once(processes, &(struct found){ .pid = (pid_t)pid }, err);
		*err = unknown;
		return false;
	}
	for (size_t i = 0; i < list.all.len; i++) {
		struct found found = found_from(&list.all.at[i]);

		if (!add_once(processes, &found, err))
			return false;
	}
	return true;
}

bool allo_process_list_is_old(const struct allo_process_list *processes)
{
	return processes->is_open &&
	       (processes->listed_ns == 0 || allo_clock_ns() - processes->listed_ns > FRESH_NS);
}

unsigned allo_process_list_find(const void *unused, int out, struct allo_error *err)
{
	ALLO_DEFER(allo_recorded_processes_done) struct allo_recorded_processes list = { 0 };

	(void)unused;
	if (!allo_recorded_processes_list(&list, err))
		return ALLO_BROKEN;
	for (size_t i = 0; i < list.all.len && i < ALLO_PROCESS_LIST_MAX; i++) {
		struct found found = found_from(&list.all.at[i]);

		if (write(out, &found, sizeof(found)) != sizeof(found)) {
			allo_fail_errno(err, NULL, "list processes");
			return ALLO_BROKEN;
		}
	}
	return ALLO_DONE;
}

static void drop_ended(struct allo_process_list *processes)
{
	size_t kept = 0;

	ALLO_ASSERT(processes->is_open);
	for (size_t i = 0; i < processes->all.len; i++) {
		if (allo_served_process_has_ended(processes->all.at[i]))
			served_done(processes->all.at[i]);
		else
			processes->all.at[kept++] = processes->all.at[i];
	}
	processes->all.len = kept;
}

bool allo_process_list_update(struct allo_process_list *processes, int found_fd,
			      struct allo_error *err)
{
	struct found found;

	drop_ended(processes);
	processes->listed_ns = allo_clock_ns();
	for (off_t at = 0; pread(found_fd, &found, sizeof(found), at) == sizeof(found);
	     at += (off_t)sizeof(found)) {
		struct allo_error gone = { 0 };

		/* A process may have ended since it was found. */
		if (!find(processes, found.pid) && processes->all.len < ALLO_PROCESS_LIST_MAX &&
		    !add(processes, &found, &gone) && gone.code == ALLO_NOMEM)
			return allo_fail_memory(err);
	}
	return true;
}

/* The only process with the runtime; NULL if no process has it, or several do. */
static struct allo_served_process *only_one(const struct allo_process_list *processes)
{
	struct allo_served_process *only = NULL;

	if (processes->all.len == 1)
		return processes->all.at[0];
	for (size_t i = 0; i < processes->all.len; i++) {
		if (!processes->all.at[i]->has_runtime)
			continue;
		if (only)
			return NULL;
		only = processes->all.at[i];
	}
	return only;
}

static unsigned fail_unnamed(const struct allo_process_list *processes, struct allo_error *err)
{
	char numbers[128] = "";
	size_t len = 0;

	if (processes->all.len == 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "no process has the runtime");
		return ALLO_NOT_FOUND;
	}
	for (size_t i = 0; i < processes->all.len && len < sizeof(numbers) - 16; i++)
		len += (size_t)snprintf(numbers + len, sizeof(numbers) - len, "%s%d",
					i > 0 ? ", " : "", (int)processes->all.at[i]->pid);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "%zu processes are served: add ?pid= with one of %s", processes->all.len,
		  numbers);
	return ALLO_BAD_REQUEST;
}

unsigned allo_process_list_pick(const struct allo_process_list *processes, const char *pid,
				struct allo_served_process **process, struct allo_error *err)
{
	uint64_t number;

	if (!pid) {
		*process = only_one(processes);
		if (!*process)
			return fail_unnamed(processes, err);
	} else {
		*process = allo_text_u64(allo_text_of(pid), &number) && number <= INT_MAX
				   ? find(processes, (pid_t)number)
				   : NULL;
		if (!*process) {
			allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				  "no process '%.20s' is served here", pid);
			return ALLO_NOT_FOUND;
		}
	}
	if (!allo_served_process_has_ended(*process))
		return ALLO_DONE;
	allo_fail(err, ALLO_IO, ALLO_NOWHERE, "%s (%d) has ended", (*process)->program,
		  (int)(*process)->pid);
	return ALLO_GONE;
}
