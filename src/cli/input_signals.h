/*
 * input_signals.h - signals while the input is a pipe that may never end.
 *
 * SIGHUP, SIGINT and SIGTERM end the input instead of the program, so that the data read so far
 * becomes a complete result.  The first interrupt from the terminal is different: it goes to all
 * programs of the pipeline, and a tracer such as dtrace prints its results only then.  So that one
 * is taken as "finish", and a second one ends the input.
 */
#ifndef ALLO_CLI_INPUT_SIGNALS_H
#define ALLO_CLI_INPUT_SIGNALS_H

#include "base/error.h"
#include "base/io/input.h"

#include <signal.h>

struct allo_input_signals {
	struct allo_input_watch input; /* for the reader */
	/* Set by the caller: copy the input to standard output; print no notes. */
	bool copies, is_quiet;
	bool is_stopped; /* a signal ended the input */
	int copy_error;  /* errno of a failed copy, or 0 */

	/* Private from here on. */
	bool has_waited;            /* the first interrupt has come */
	uint64_t seen, seen_before; /* bytes of this pass over the input, and of the last one */
	int fd;                     /* a signalfd; -1: signals have their usual effect */
	sigset_t mask_before;
};

/* Takes over signals if one of the files (NULL ends) is a pipe. */
bool allo_input_signals_begin(struct allo_input_signals *signals, char *const *files,
			      struct allo_error *err);

/* The file is read a second time: its copy is already complete. */
void allo_input_signals_again(struct allo_input_signals *signals);

/* Signals have their usual effect again.  All zeros with fd -1 is safe. */
void allo_input_signals_end(struct allo_input_signals *signals);

#endif
