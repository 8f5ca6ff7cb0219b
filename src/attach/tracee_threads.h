/*
 * tracee_threads.h - the threads of another process, under ptrace.
 *
 * If this program is killed, the kernel lets all threads go, as they are.
 */
#ifndef ALLO_ATTACH_TRACEE_THREADS_H
#define ALLO_ATTACH_TRACEE_THREADS_H

#include "base/error.h"
#include "base/vec.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct allo_tracee_thread {
	pid_t id;
	bool is_stopped;
	bool is_gone;
	int signal; /* which it receives when it goes on; 0: none */
};

/* What a thread has stopped for. */
enum allo_tracee_stop {
	ALLO_TRACEE_NO_STOP,   /* nothing happened in time */
	ALLO_TRACEE_INTERRUPT, /* the interrupt that was asked for, or a stop of the whole process
				*/
	ALLO_TRACEE_SIGNAL,    /* a signal is about to be delivered */
	ALLO_TRACEE_CALL,      /* the beginning or the end of a system call */
	ALLO_TRACEE_OTHER,     /* a new thread, the end of one, a single step */
};

/* All zeros is no thread. */
struct allo_tracee_threads {
	pid_t pid;
	ALLO_VEC(struct allo_tracee_thread) all;
	bool has_executed; /* the process executes another program now */
};

/* Attaches to all threads; they go on.  `done` lets them go. */
bool allo_tracee_threads_seize(struct allo_tracee_threads *threads, pid_t pid,
			       struct allo_error *err);
void allo_tracee_threads_done(struct allo_tracee_threads *threads);

/* False, with an error, if the process has ended or executes another program. */
bool allo_tracee_is_alive(const struct allo_tracee_threads *threads, struct allo_error *err);

/* Waits for the next stop of any thread, for at most `timeout_ms`, and stores the thread's index.
 */
enum allo_tracee_stop allo_tracee_wait(struct allo_tracee_threads *threads, int timeout_ms,
				       size_t *index);

/* Lets a stopped thread go on: freely, or until its next system call. */
void allo_tracee_continue(struct allo_tracee_threads *threads, size_t index);
void allo_tracee_continue_to_call(struct allo_tracee_threads *threads, size_t index);

/* Lets all stopped threads go on, and handles their stops for a while. */
void allo_tracee_run_all(struct allo_tracee_threads *threads, int for_ms);

/* Interrupts a thread, and waits until it has stopped outside of the delivery of a signal.  False
 * if it has ended, or does not stop in time; the others go on meanwhile. */
bool allo_tracee_interrupt(struct allo_tracee_threads *threads, size_t index, int timeout_ms);

/* Stops all threads, also new ones.  Returns 0, or the first thread that has not stopped in time:
 * one that waits in the kernel, for its vfork() or for a disk, cannot be stopped, and the others
 * stand still until `run_all`. */
pid_t allo_tracee_stop_all(struct allo_tracee_threads *threads, int timeout_ms,
			   struct allo_error *err);

/* Executes one instruction of a stopped thread. */
bool allo_tracee_step(struct allo_tracee_threads *threads, size_t index);

#endif
