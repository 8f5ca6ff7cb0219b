/*
 * threads.h - worker threads, and locks that they can wait at.
 *
 * Code that uses threads also works without: wasm/threads_none.c is for platforms that have none.
 */
#ifndef ALLO_BASE_THREADS_H
#define ALLO_BASE_THREADS_H

#include <stdbool.h>

/* Number of cores that this process may run on. */
unsigned allo_cpu_count(void);

/* A running thread. */
struct allo_running_thread;

/* Starts a thread with all signals blocked: the calling program's threads handle them.  NULL if it
 * cannot be started. */
struct allo_running_thread *allo_thread_start(void *(*run)(void *context), void *context);

/* Waits for the end of the thread. */
void allo_thread_join(struct allo_running_thread *thread);

/* Lowers the calling thread's priority below the other threads of the process. */
void allo_thread_step_back(void);

/* A lock, and threads that sleep until a change of the data behind it. */
struct allo_monitor;

/* NULL when out of memory, and on platforms without threads: then use a single thread. */
struct allo_monitor *allo_monitor_new(void);

/* The rest does nothing for NULL, where a single thread has everything to itself. */
void allo_monitor_free(struct allo_monitor *monitor);
void allo_monitor_enter(struct allo_monitor *monitor);
void allo_monitor_leave(struct allo_monitor *monitor);

/* Leaves the monitor while the thread sleeps; may return without a change. */
void allo_monitor_wait(struct allo_monitor *monitor);

/* Wakes one waiting thread, or all. */
void allo_monitor_wake(struct allo_monitor *monitor);
void allo_monitor_wake_all(struct allo_monitor *monitor);

#endif
