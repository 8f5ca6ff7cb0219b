/*
 * control.h - lets other processes start, stop and inspect the recording of this process.
 *
 * Only programs whose user asks for it (ALLO_CONTROL, ALLO_DORMANT) have this.  A thread of the
 * runtime (control_thread.h) waits at a Unix socket, so the program never polls and an idle program
 * answers as well.  The socket lies in a folder that only the user can enter; its name holds the
 * pid and appears once the socket answers.  A socket that refuses connections is left over from a
 * dead process.
 */
#ifndef ALLO_CAPTURE_CONTROL_H
#define ALLO_CAPTURE_CONTROL_H

#include "capture/control/control_thread.h"

#include <limits.h>

enum allo_control_stage {
	ALLO_CONTROL_NONE,    /* no socket yet */
	ALLO_CONTROL_OPENING, /* the thread is creating the socket */
	ALLO_CONTROL_OPEN,
	ALLO_CONTROL_LEAVING, /* the thread was asked to end and has not answered yet */
	ALLO_CONTROL_OVER,    /* no socket, and there will be none */
};

/* One per process, in memory that is empty in a child after fork(). */
struct allo_control {
	uint32_t is_begun;
	uint32_t stage;     /* enum allo_control_stage */
	uint32_t process;   /* pid of the owner: a child made by vfork() sees its parent's memory */
	uint32_t exit_note; /* 256 + the last status given to exit(2) by a thread; 0: none */
	struct allo_control_thread thread;
	struct allo_control_server *server; /* memory of the thread */
	char path[PATH_MAX];                /* of the socket */
};

/* Starts the thread if the settings ask for it and it does not run yet. */
void allo_control_begin(void);

/* Starts it in a process where an earlier one may have ended. */
void allo_control_begin_again(void);

/* Removes the socket and ends the thread, which calls this itself. */
void allo_control_close(void);

/* Removes the socket: the process is about to exit. */
void allo_control_end(void);

/* Remembers the status of a program thread that calls exit(2).  If it is the last one, it is the
 * status of the process. */
void allo_control_note_exit(long status);

/* Ends the thread for a while, for system calls that need a single-threaded process or change the
 * rights of all its threads.  False if there is no thread, so there is nothing to resume; true even
 * if the thread does not end within 2 s.  The resumed thread has the rights of the caller. */
bool allo_control_pause(void);
void allo_control_resume(void);

#endif
