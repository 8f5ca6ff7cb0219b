/*
 * session.h - starting and stopping recordings, by the program (allo_start) or from outside (allo
 * start).
 */
#ifndef ALLO_CAPTURE_SESSION_H
#define ALLO_CAPTURE_SESSION_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* At exit: converts the recording if the program asked for another format. */
void allo_session_exits(void);

/* Copies the absolute path of the current recording; false, with an error message, if nothing
 * records. */
bool allo_session_path(char path[PATH_MAX]);

/* How long a process that exits waits.  A thread that stops the recording does what is left to do;
 * other holders let go within microseconds, or when they get a processor again. */
enum { ALLO_SESSION_EXIT_MS = 100 };

/* Keeps recordings from starting or ending until allo_session_let_go.  False if one is starting
 * or ending right now; the second waits for it.  The caller must not start or stop one. */
bool allo_session_try_hold(void);
bool allo_session_hold_within(unsigned ms);
void allo_session_let_go(void);

/* For the control thread. */

struct allo_start_request;

/* Starts a recording of the whole program, as `allo run` does; returns like allo_start(). */
const char *allo_session_start_whole(const struct allo_start_request *request);

/* Stops such a recording, but not one that the program started; returns like allo_stop(). */
const char *allo_session_stop_whole(void);

/* True if recording is on; the second sets an error message if it is not. */
bool allo_session_records(void);
bool allo_session_is_on(void);

enum allo_session_state {
	ALLO_SESSION_DORMANT,
	ALLO_SESSION_WAITING, /* for the first allocation, or for the end of a delay */
	ALLO_SESSION_RECORDING,
	ALLO_SESSION_ENDED, /* a limit was reached, or the disk is full */
};

struct allo_session_status {
	enum allo_session_state state;
	bool is_own;       /* started by the program */
	const char *path;  /* NULL: no file */
	uint64_t start_ns; /* of the recording, on the monotonic clock */
};

struct allo_session_status allo_session_status(void);

#endif
