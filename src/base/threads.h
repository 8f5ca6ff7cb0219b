/*
 * threads.h - cores to run on, and threads of ours on them.
 */
#ifndef ALLO_BASE_THREADS_H
#define ALLO_BASE_THREADS_H

#include <pthread.h>
#include <stdbool.h>

/* Cores that this process may run on. */
unsigned allo_cpu_count(void);

/* A thread that no signal comes to: they belong to those of the program that called us. */
bool allo_thread_start(pthread_t *thread, void *(*run)(void *context), void *context);

/* What the calling thread does is to wait where others of this process want the same core. */
void allo_thread_step_back(void);

#endif
