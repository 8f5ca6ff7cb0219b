/*
 * threads.h - starting worker threads.
 */
#ifndef ALLO_BASE_THREADS_H
#define ALLO_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Number of cores that this process may run on. */
unsigned allo_cpu_count(void);

/* Starts a thread with all signals blocked: the calling program's threads handle them. */
bool allo_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* Lowers the calling thread's priority below the other threads of the process. */
void allo_thread_step_back(void);

#endif
