/*
 * watch.h - what happens while input comes from a pipe that may never end.
 *
 * Signals that would end us end the input instead, so that what was read until then becomes a
 * complete file.  An interrupt from the terminal is for all programs of the pipe: the one that
 * writes into it may have its most important things to say now, as dtrace has, so that one is
 * waited for, until the second interrupt.
 */
#ifndef ALLO_CLI_WATCH_H
#define ALLO_CLI_WATCH_H

#include "base/error.h"
#include "base/input.h"

#include <signal.h>

struct allo_watch {
	struct allo_input_watch input; /* to hand to a reader */
	/* To be set by the caller: the input is copied to standard output; nothing is said. */
	bool copies, is_quiet;
	bool is_stopped; /* by a signal */
	int copy_error;  /* errno of what has ended the copy; 0: nothing has */

	/* Private from here on. */
	bool has_waited;            /* an interrupt was taken as one for all */
	uint64_t seen, seen_before; /* bytes of this reading, and of the one before */
	int fd;                     /* of the signals; -1: they are obeyed */
	sigset_t mask_before;
};

/* Begins to watch if one of the files (NULL ends) is a pipe; otherwise signals are obeyed as ever.
 */
bool allo_watch_begin(struct allo_watch *watch, char *const *files, struct allo_error *err);

/* The file is read once more: what was copied is not copied again. */
void allo_watch_again(struct allo_watch *watch);

/* From now on signals are obeyed again.  All zeros with fd -1 is safe. */
void allo_watch_end(struct allo_watch *watch);

#endif
