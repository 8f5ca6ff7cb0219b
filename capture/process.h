/*
 * process.h - the runtime in a process: when it starts, in children as well, and when it ends.
 */
#ifndef ALLO_CAPTURE_PROCESS_H
#define ALLO_CAPTURE_PROCESS_H

#include "capture/thread.h"

/* All states that there are; empty in a child made by fork. */
struct allo_threads {
	struct allo_thread *first;
};

extern struct allo_threads *allo_threads;

/* Finds the real functions and reads the configuration, once. */
void allo_process_init(void);

/* Whether what happens now is to be recorded; begins the recording if need be. */
bool allo_process_records(void);

void allo_threads_init(void);

#endif
