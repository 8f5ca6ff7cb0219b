/*
 * launch.h - runs a program as if we were not there.
 *
 * It has our terminal, process group, signal dispositions and mask, and the files that we were
 * given; we wait beside it.  What the terminal sends reaches it by itself; what a process sends to
 * us is handed on.  When it is stopped, so are we, and the shell notices; when we are continued, so
 * is it.
 */
#ifndef ALLO_RUN_LAUNCH_H
#define ALLO_RUN_LAUNCH_H

#include "base/error.h"

#include <sys/types.h>

struct allo_launch {
	const char *path;
	char **arguments, **environment; /* NULL ends */
	/* What to do while it runs: called so often, or not at all if that is 0, and for a signal
	 * that it wants to have instead of the program.  `signal` is 0 where none has come. */
	unsigned look_ms;
	void (*look)(void *context, int signal);
	bool (*takes_signal)(void *context, int signal);
	void *context;

	/* Set by allo_launch(). */
	pid_t pid;
	int status;     /* as waitpid() tells it */
	uint64_t ns;    /* how long it ran */
	int exec_error; /* errno of a program that could not be executed; 0: it could */
};

/* Keeps what we open from standing in for a standard file that we were started without, so that
 * neither our messages end up in it nor the program sees it.  To be called before anything is
 * opened. */
void allo_launch_guard_files(void);

/* Runs it to its end. */
bool allo_launch(struct allo_launch *launch, struct allo_error *err);

/* Dies of a signal as the program did, so that whoever waits for us sees the same.  Returns where
 * that cannot be: process 1 of a container does not die so. */
void allo_launch_die_of(int signal);

#endif
