/*
 * launch.h - runs a program transparently and waits for its end.
 *
 * The program gets our terminal, process group, signal dispositions, signal mask and open files.
 * The terminal's signals reach it directly; we forward signals from other processes.  If the
 * program stops, we stop too, so that the shell sees it; if we are continued, so is the program.
 *
 * A program may handle, ignore or block the signals that ask it to end.  If it does not, and is
 * still there at the second one, it is stuck: we kill it, and stop waiting if that fails.
 */
#ifndef ALLO_RUN_LAUNCH_H
#define ALLO_RUN_LAUNCH_H

#include "base/error.h"

#include <sys/types.h>

struct allo_launch {
	const char *path;
	char **arguments, **environment; /* NULL ends */
	/* Called in the new process before it executes the program, if not NULL: the environment
	 * may depend on its pid.  False, with errno, if that fails. */
	bool (*prepare)(struct allo_launch *launch);
	void *prepare_context;
	/* `look` is called again and again while the program runs, with `signal` 0, and for each
	 * signal that `takes_signal` keeps from the program.  It returns the milliseconds until the
	 * next call. */
	unsigned (*look)(void *context, int signal);
	bool (*takes_signal)(void *context, int signal);
	void *context;

	/* Set by allo_launch(). */
	pid_t pid;
	int status;        /* from waitpid() */
	bool is_abandoned; /* it did not end, even when it was killed: `status` is the last signal
			    */
	uint64_t ns;       /* run time */
	uint64_t peak_rss; /* bytes; 0: it is not known, or not above ours, which it includes */
	int exec_error;    /* errno of execve(); 0: the program was executed */
};

/* Opens /dev/null in place of missing standard files.  Otherwise a file that we open could become
 * one of them, and get our messages or be inherited.  Call it before any file is opened. */
void allo_launch_guard_files(void);

/* Runs it to its end. */
bool allo_launch(struct allo_launch *launch, struct allo_error *err);

/* Dies of the signal that killed the program, so that our parent sees the same status.  Returns if
 * the signal cannot kill us: process 1 of a container survives. */
void allo_launch_die_of(int signal);

#endif
