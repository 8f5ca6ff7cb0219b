/*
 * session.h - recordings that the program itself starts and stops, or somebody from outside.
 */
#ifndef ALLO_CAPTURE_SESSION_H
#define ALLO_CAPTURE_SESSION_H

#include <stdbool.h>
#include <stdint.h>

/* The process exits: what the program has asked for is made of the recording. */
void allo_session_exits(void);

/* Where the recording that is going on is; NULL, and why, when there is none. */
const char *allo_session_path(void);

/* Sees to it that no recording begins or ends meanwhile; false when one does just now.  Whoever
 * has it may not start or stop one. */
bool allo_session_try_hold(void);
void allo_session_let_go(void);

/* For the thread that answers those who ask from outside.  What it opens is not open in the
 * program: it never begins what the program's own threads would begin by themselves. */

struct allo_start_request;

/* Records the whole program from now on, as `allo run` does; returns as allo_start() does. */
const char *allo_session_start_whole(const struct allo_start_request *wishes);

/* Ends such a recording, and not one that the program has started; returns as allo_stop() does. */
const char *allo_session_stop_whole(void);

/* Whether anything is recorded; the second complains when it is not. */
bool allo_session_records(void);
bool allo_session_is_on(void);

enum allo_session_state {
	ALLO_SESSION_DORMANT,
	ALLO_SESSION_WAITING, /* for the first allocation, or for the end of a delay */
	ALLO_SESSION_RECORDING,
	ALLO_SESSION_ENDED, /* by itself: a limit was reached, or the disk is full */
};

struct allo_session_status {
	enum allo_session_state state;
	bool is_own;       /* the program has started it */
	const char *path;  /* NULL: there is no file */
	uint64_t start_ns; /* of the recording, on the monotonic clock */
};

struct allo_session_status allo_session_status(void);

#endif
