/*
 * control_thread.h - a thread that neither the program nor its C library knows about.
 *
 * It blocks all signals.  It has a private descriptor table, empty at first: the program cannot
 * close its descriptors, and it does not keep the program's open.  It has its own thread-local
 * variables, so it can call all of this library; of libc it may only call functions that
 * do not use the thread they run in.
 */
#ifndef ALLO_CAPTURE_CONTROL_THREAD_H
#define ALLO_CAPTURE_CONTROL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros means no thread.  It lies in memory that is empty in a child after fork(), because the
 * child has no such thread. */
struct allo_control_thread {
	uint32_t number; /* thread id; the kernel sets it to 0 when the thread's memory is free */
	uint32_t id;     /* thread id; stays */
	void *memory;    /* stack and thread-local variables; NULL: never started */
	size_t size;     /* of `memory`, bytes */
};

/* Starts a thread that calls run(given).  False on failure; nothing is left behind then. */
bool allo_control_thread_start(struct allo_control_thread *thread, void (*run)(void *given),
			       void *given);

/* Whether the thread runs, or the kernel still counts it as a thread of the process. */
bool allo_control_thread_is_alive(const struct allo_control_thread *thread);

/* Whether the calling thread is the only one of the process that lives.  Then it must end: a
 * program whose last thread ends by exit(2) or is killed by a seccomp filter would never end. */
bool allo_control_thread_is_alone(void);

/* Ends the calling thread, which is the last one, so that the process gets this status (as
 * waitpid() returns it); UINT32_MAX: that of the main thread.  Newer kernels use the last thread's.
 */
void allo_control_thread_end_last(uint32_t status);

/* Frees the memory of a thread that has ended. */
void allo_control_thread_done(struct allo_control_thread *thread);

#endif
