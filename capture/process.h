/*
 * process.h - the life of the runtime in a process: start, fork and exit.
 */
#ifndef ALLO_CAPTURE_PROCESS_H
#define ALLO_CAPTURE_PROCESS_H

#include "capture/control/control.h"
#include "capture/overhead.h"
#include "capture/thread.h"
#include "capture/visibility.h"

enum { ALLO_MARKS_WAITING = 8 }; /* further ones are dropped */

/* State of the process besides its recording, in memory that a child made by fork finds zeroed. */
struct allo_process {
	struct allo_thread_state *threads; /* list of all states; it only grows */
	uint32_t beginning;     /* number of threads that may record soon but are not in the list */
	uint32_t freezer;       /* the thread that owns the safepoint; 0: none */
	uint32_t is_ending;     /* the owner of the safepoint ends the recording */
	uint32_t is_controlled; /* lock: a thread starts or stops a recording */
	uint32_t is_naming;     /* lock: a thread names a heap */
	uint64_t events, units; /* allo_event() calls and their weight, since the start */
	uint32_t marks_waiting; /* marks for the next thread that records */
	uint32_t waiting_marks[ALLO_MARKS_WAITING]; /* their texts, numbered by annotations.c */
	struct allo_control control;
	struct allo_overhead overhead;
};

ALLO_HIDDEN extern struct allo_process *allo_process;

/* True if the runtime is linked into a program or another library, not loaded as liballo.so. */
bool allo_process_is_embedded(void);

/* True if `allo attach` has loaded it into a process that was running already. */
bool allo_process_is_late(void);

/* Finds the real functions and reads the settings, once. */
void allo_process_init(void);

/* True if recording is on.  Starts the recording that the environment asks for, also in a child. */
bool allo_process_records(void);

/* Starts the recording that the settings describe.  False, with recording off, if that fails. */
bool allo_process_begin(bool has_earlier);

void allo_threads_init(void);

#endif
