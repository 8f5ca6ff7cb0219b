/*
 * process.h - processes that have the runtime: where they are, and what they say of themselves.
 */
#ifndef ALLO_WATCH_RECORDED_PROCESS_H
#define ALLO_WATCH_RECORDED_PROCESS_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <sys/types.h>

struct allo_recorded_process {
	pid_t pid; /* as it is known here; as it knows itself, where it is not */
	uid_t uid;
	const char *socket;
	bool is_silent;      /* it has not answered: all that follows is empty */
	const char *program; /* as it was called; texts are never NULL */
	const char *version; /* of the runtime */
	const char *state;   /* "dormant", "waiting", "recording" or "ended"; see session.h there */
	const char *mode;    /* "exact", "sampled", ...; empty while nothing is recorded, as are: */
	const char *file;    /* a path; empty: there is none */
	uint64_t rate;       /* 0: all is recorded */
	uint64_t start_ns;   /* of the recording, on the monotonic clock; 0: not known */
	bool is_own;         /* the program itself has started it */
	bool has_stats;
};

/* All zeros: nothing to give back. */
struct allo_recorded_processes {
	ALLO_VEC(struct allo_recorded_process) all; /* by number */
	struct allo_arena arena;
};

/* All processes of this user; of all users, for root.  Sockets of those that are gone are removed.
 */
bool allo_recorded_processes_list(struct allo_recorded_processes *list, struct allo_error *err);

void allo_recorded_processes_done(struct allo_recorded_processes *list);

/* The one that somebody names: by its number, by the path of its socket, or by %PROGRAM, if only
 * one is called so.  Texts are in the list's arena. */
bool allo_recorded_process_find(struct allo_recorded_processes *list, const char *name,
				struct allo_recorded_process *process, struct allo_error *err);

/* Whether it says that it records into a file; false, with what to do about it, when it does not.
 */
bool allo_recorded_process_has_file(const struct allo_recorded_process *process,
				    struct allo_error *err);

/* The file as it can be opened here: a process may see other folders.  NULL when memory is short.
 */
const char *allo_recorded_process_file(struct allo_recorded_processes *list,
				       const struct allo_recorded_process *process);

/* Gives this moment of its recording a name. */
bool allo_recorded_process_mark(const struct allo_recorded_process *process, const char *name,
				struct allo_error *err);

/* "redis-server (4711)" */
enum { ALLO_RECORDED_PROCESS_NAME_SIZE = 96 };
const char *allo_recorded_process_name(const struct allo_recorded_process *process,
				       char out[ALLO_RECORDED_PROCESS_NAME_SIZE]);

#endif
