/*
 * recording_switch.h - begins and ends the recording of a process that is process.
 */
#ifndef ALLO_SERVE_RECORDING_SWITCH_H
#define ALLO_SERVE_RECORDING_SWITCH_H

#include "serve/process_list.h"

struct allo_switch_wish {
	const struct allo_served_process *process;
	bool is_on;
};

/* An worker: the process may take its time to answer. */
unsigned allo_recording_switch(const void *wish, int out, struct allo_error *err);

#endif
