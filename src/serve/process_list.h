/*
 * processes.h - the processes that are process.
 *
 * Either those that were named, for good, or all that have the runtime, listed anew now and then.
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
	int pidfd; /* can be read once it has ended, whoever gets its number then */
	char program[64];
	char socket[PATH_MAX];       /* empty: it does not have the runtime */
	struct allo_snapshots shots; /* what was read of it before */
	uint64_t silent_until_ns;    /* it did not answer, and is not asked again before */
};

/* All zeros: nobody. */
struct allo_process_list {
	ALLO_VEC(struct allo_served_process *) all;
	bool is_open;       /* others may come, and who has ended goes */
	uint64_t listed_ns; /* when it was, by a clock that never stops */
};

void allo_process_list_done(struct allo_process_list *processes);

/* Adds a process by its number, the path of its socket, or %PROGRAM.  One that is named by its
 * number need not have the runtime. */
bool allo_process_list_add(struct allo_process_list *processes, const char *name,
			   struct allo_error *err);

/* Whether it has to be listed before it is looked at. */
bool allo_process_list_is_old(const struct allo_process_list *processes);

/* Listing waits for processes that do not answer: an worker, and what its output is good for. */
unsigned allo_process_list_list(const void *unused, int out, struct allo_error *err);
bool allo_process_list_update(struct allo_process_list *processes, int listed,
			      struct allo_error *err);

/* The process of this number; NULL: the only one that has the runtime.  What to answer if there is
 * none. */
unsigned allo_process_list_pick(const struct allo_process_list *processes, const char *pid,
				struct allo_served_process **process, struct allo_error *err);

bool allo_served_process_has_ended(const struct allo_served_process *process);

/* Where its files are, in `path`, if it sees others than we do: "/proc/123/root"; else NULL. */
enum { ALLO_ROOT_SIZE = 32 };
const char *allo_served_process_root(const struct allo_served_process *process,
				     char path[ALLO_ROOT_SIZE]);

#endif
