/*
 * control_thread.h - a thread that neither the program nor its C library knows of.
 *
 * It gets no signals.  Its descriptors are its own, none at first: those that it opens are not the
 * program's, who may close all that it finds, and what the program opens is not held open by it.
 * Variables that each thread has are its own as well, so that all of this library can be called; of
 * libc's functions only those that need to know nothing of the thread that they run in.
 */
#ifndef ALLO_CAPTURE_CONTROL_THREAD_H
#define ALLO_CAPTURE_CONTROL_THREAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zeros: there is none.  In memory that a child made by fork finds empty, as it has no such
 * thread. */
struct allo_control_thread {
	uint32_t number; /* the kernel's, which sets it to 0 when the thread needs no memory */
	uint32_t id;     /* the same, and stays */
	void *memory;    /* NULL: there never was one */
	size_t size;
};

/* Starts it.  False, and nothing is there, when that cannot be. */
bool allo_control_thread_start(struct allo_control_thread *thread, void (*run)(void *given),
			       void *given);

/* Whether it is there, were it only that the kernel still counts it. */
bool allo_control_thread_is_there(const struct allo_control_thread *thread);

/* Gives back what one had that is gone. */
void allo_control_thread_done(struct allo_control_thread *thread);

#endif
