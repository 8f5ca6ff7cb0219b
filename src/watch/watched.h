/*
 * watched.h - processes that have the runtime: where they are, and what they say of themselves.
 */
#ifndef ALLO_WATCH_WATCHED_H
#define ALLO_WATCH_WATCHED_H

#include "base/arena.h"
#include "base/error.h"
#include "base/vec.h"

#include <sys/types.h>

struct allo_watched {
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
struct allo_watched_list {
	ALLO_VEC(struct allo_watched) all; /* by number */
	struct allo_arena arena;
};

/* All processes of this user; of all users, for root.  Sockets of those that are gone are removed.
 */
bool allo_watched_list_all(struct allo_watched_list *list, struct allo_error *err);

void allo_watched_list_done(struct allo_watched_list *list);

/* The one that somebody names: by its number, by the path of its socket, or by %PROGRAM, if only
 * one is called so.  Texts are in the list's arena. */
bool allo_watched_find(struct allo_watched_list *list, const char *name,
		       struct allo_watched *watched, struct allo_error *err);

/* Whether it says that it records into a file; false, with what to do about it, when it does not.
 */
bool allo_watched_has_file(const struct allo_watched *watched, struct allo_error *err);

/* The file as it can be opened here: a process may see other folders.  NULL when memory is short.
 */
const char *allo_watched_file(struct allo_watched_list *list, const struct allo_watched *watched);

/* Gives this moment of its recording a name. */
bool allo_watched_mark(const struct allo_watched *watched, const char *name,
		       struct allo_error *err);

/* "redis-server (4711)" */
enum { ALLO_WATCHED_NAME_SIZE = 96 };
const char *allo_watched_name(const struct allo_watched *watched, char out[ALLO_WATCHED_NAME_SIZE]);

#endif
