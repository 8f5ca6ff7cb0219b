/*
 * process.h - the runtime in a process: when it starts, in children as well, and when it ends.
 */
#ifndef ALLO_CAPTURE_PROCESS_H
#define ALLO_CAPTURE_PROCESS_H

#include "capture/control.h"
#include "capture/thread.h"
#include "capture/visibility.h"

enum { ALLO_MARKS_WAITING = 8 }; /* more are not kept */

/* What a process has besides its recording; in memory that a child made by fork finds empty. */
struct allo_process {
	struct allo_thread_state *threads; /* all states that there are */
	uint32_t beginning;     /* threads that may be about to record and are not in the list */
	uint32_t freezer;       /* the thread that has the gate; 0: nobody */
	uint32_t is_ending;     /* whoever has it ends the recording */
	uint32_t is_controlled; /* somebody starts or stops a recording */
	uint32_t is_naming;     /* somebody gives a heap its name */
	uint64_t events, units; /* of the program's own, since the start */
	uint32_t marks_waiting; /* for a thread that could say them */
	uint32_t waiting_marks[ALLO_MARKS_WAITING]; /* their texts, as annotations.c knows them */
	struct allo_control control;
};

ALLO_HIDDEN extern struct allo_process *allo_process;

/* Finds the real functions and reads the configuration, once. */
void allo_process_init(void);

/* Whether what happens now is to be recorded; begins the recording if need be, of a child, or where
 * the environment asks for one from the start. */
bool allo_process_records(void);

/* Makes the recording that the settings ask for.  False when it cannot be: it is off then. */
bool allo_process_begin(bool has_earlier);

void allo_threads_init(void);

#endif
