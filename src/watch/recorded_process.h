/*
 * recorded_process.h - processes that have the runtime, and their state.
 *
 * A process with a control socket is asked.  A process without one is found by its recording, which
 * it maps (mapped_recording.h), or by the sign of a forked process that has not allocated yet.
 */
#ifndef ALLO_WATCH_RECORDED_PROCESS_H
#define ALLO_WATCH_RECORDED_PROCESS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <limits.h>
#include <sys/types.h>

/* The state of a process, from its reply or its recording.  Texts are never NULL, except `place`.
 */
struct allo_recorded_process {
	pid_t pid; /* in our namespace; in that of the process, if it is not visible here */
	uid_t uid;
	const char *socket;  /* empty: the process has no control socket */
	bool is_silent;      /* it did not reply: all fields below are empty */
	const char *program; /* its name */
	const char *version; /* of the runtime; empty without a socket */
	const char *state; /* "dormant", "waiting", "recording" or "ended": see capture/session.h */
	const char *
		mode; /* "exact", "sampled", ...; this and the rest are empty without a recording */
	const char *file;  /* path of the recording; empty without one */
	const char *place; /* the verified path of `file` in our file system; NULL: not verified */
	uint64_t rate;     /* sampling interval; 0: everything is recorded */
	uint64_t start_ns; /* of the recording, monotonic clock; 0: unknown */
	bool is_own;       /* the program started the recording through the API */
	bool has_stats;    /* it counts blocks */
};

/* All zeros is empty. */
struct allo_recorded_processes {
	ALLO_VEC(struct allo_recorded_process) all; /* sorted by pid */
	struct allo_arena arena;                    /* owns the texts */
	ALLO_VEC(int) files; /* descriptors of claimed recordings: see claimed_file.h */
};

/* Lists the processes of this user; of all users, for root.  Removes stale sockets. */
bool allo_recorded_processes_list(struct allo_recorded_processes *list, struct allo_error *err);

/* Why processes of this user cannot make control sockets in their usual folder, whose path is
 * stored; NULL if they can. */
const char *allo_control_folder_obstacle(char path[PATH_MAX]);

void allo_recorded_processes_done(struct allo_recorded_processes *list);

/* Lists the processes that a name stands for: a pid, the path of a socket, or %PROGRAM, which may
 * stand for several (program_name.h).  The list is empty before. */
bool allo_recorded_processes_find(struct allo_recorded_processes *list, const char *name,
				  struct allo_error *err);

/* Finds the only process that a name stands for.  The list owns the texts. */
bool allo_recorded_process_find(struct allo_recorded_processes *list, const char *name,
				struct allo_recorded_process *process, struct allo_error *err);

/* Finds a process again, whose state may have changed. */
bool allo_recorded_process_find_again(struct allo_recorded_processes *list,
				      const struct allo_recorded_process *before,
				      struct allo_recorded_process *process,
				      struct allo_error *err);

/* Whether the process has a control socket; if not, the error names the next step. */
bool allo_recorded_process_has_socket(const struct allo_recorded_process *process,
				      struct allo_error *err);

/* Whether the process records into a file; if not, the error names the next step. */
bool allo_recorded_process_has_file(const struct allo_recorded_process *process,
				    struct allo_error *err);

/* The path of that file in our file system: the process may be in a container.  NULL when memory is
 * short. */
const char *allo_recorded_process_file(struct allo_recorded_processes *list,
				       const struct allo_recorded_process *process);

/* Ends the recording of a process without a control socket.  The process notices it at one of its
 * next allocations. */
bool allo_recorded_process_stop(const struct allo_recorded_process *process,
				struct allo_error *err);

/* Adds a mark to the recording, at the current time. */
bool allo_recorded_process_mark(const struct allo_recorded_process *process, const char *name,
				struct allo_error *err);

/* "redis-server (4711)" */
enum { ALLO_RECORDED_PROCESS_NAME_SIZE = 96 };
const char *allo_recorded_process_name(const struct allo_recorded_process *process,
				       char out[ALLO_RECORDED_PROCESS_NAME_SIZE]);

#endif
