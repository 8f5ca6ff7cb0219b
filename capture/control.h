/*
 * control.h - answers those who ask the process to record, to stop, or how it is doing.
 *
 * A thread of our own (control_thread.h) waits at a socket (control_socket.h), so that nothing in
 * the program has to look whether somebody is there, and that an idle program answers as well.
 */
#ifndef ALLO_CAPTURE_CONTROL_H
#define ALLO_CAPTURE_CONTROL_H

#include "capture/control_thread.h"

#include <limits.h>

enum allo_control_stage {
	ALLO_CONTROL_NONE,    /* there is no socket yet */
	ALLO_CONTROL_OPENING, /* and no saying whether there is one */
	ALLO_CONTROL_OPEN,
	ALLO_CONTROL_LEAVING, /* the thread is asked to go, and has not heard it yet */
	ALLO_CONTROL_OVER,    /* there is none, or there is none any more */
};

/* Of a process; in memory that a child made by fork finds empty. */
struct allo_control {
	uint32_t is_begun;
	uint32_t stage;   /* enum allo_control_stage */
	uint32_t process; /* a child made by vfork finds its parent's */
	struct allo_control_thread thread;
	struct allo_control_server *server; /* what the thread works with */
	char path[PATH_MAX];                /* of the socket */
};

/* Begins, unless it has begun already or is not wanted. */
void allo_control_begin(void);

/* The process is about to exit: the socket goes. */
void allo_control_end(void);

/* The thread goes, for what the kernel lets only a process do that has no other, and comes back.
 * False when there is none, and nothing is to come back; true also when it does not go in time. */
bool allo_control_pause(void);
void allo_control_resume(void);

#endif
