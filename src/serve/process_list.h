/*
 * process_list.h - the processes that the server answers for.
 *
 * Either the processes named on the command line, or every process with the runtime, listed again
 * every two seconds.
 */
#ifndef ALLO_SERVE_PROCESS_LIST_H
#define ALLO_SERVE_PROCESS_LIST_H

#include "base/error.h"
#include "base/vec.h"
#include "telemetry/snapshots.h"

#include <limits.h>
#include <sys/types.h>

enum { ALLO_PROCESS_LIST_MAX = 256 };

struct allo_served_process {
	pid_t pid;
	int pidfd;       /* readable once the process has ended, even if its pid is reused */
	uint64_t number; /* unique in the server, unlike pids */
	char program[64];
	bool has_runtime;
	char socket[PATH_MAX];         /* of the runtime; empty: it has none */
	struct allo_snapshots history; /* earlier readings of its memory */
	uint64_t silent_until_ns;      /* it did not answer, and is not asked again before */
};

/* All zeros is empty. */
struct allo_process_list {
	ALLO_VEC(struct allo_served_process *) all;
	bool is_open;       /* new processes are added, and ended ones dropped */
	uint64_t listed_ns; /* time of the last listing, monotonic clock; 0: never */
	uint64_t last_number;
};

void allo_process_list_done(struct allo_process_list *processes);

/* Adds a process by pid or path of its socket, or all processes of %PROGRAM.  A process named by
 * pid need not have the runtime. */
bool allo_process_list_add(struct allo_process_list *processes, const char *name,
			   struct allo_error *err);

/* Whether the list has to be refreshed before use. */
bool allo_process_list_is_old(const struct allo_process_list *processes);

/* Listing waits for processes that do not answer, so a worker does it (see worker.h); `update`
 * reads its output. */
unsigned allo_process_list_find(const void *unused, int out, struct allo_error *err);
bool allo_process_list_update(struct allo_process_list *processes, int found_fd,
			      struct allo_error *err);

/* The process with this pid; NULL: the only one that has the runtime.  Returns the status for the
 * reply. */
unsigned allo_process_list_pick(const struct allo_process_list *processes, const char *pid,
				struct allo_served_process **process, struct allo_error *err);

bool allo_served_process_has_ended(const struct allo_served_process *process);

/* The root of the process's file system in `path`, "/proc/123/root", if it differs from ours; else
 * NULL. */
enum { ALLO_ROOT_SIZE = 32 };
const char *allo_served_process_root(const struct allo_served_process *process,
				     char path[ALLO_ROOT_SIZE]);

#endif
