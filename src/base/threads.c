/* threads.c - POSIX threads. */
#include "base/threads.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

/* Niceness 10 is about a tenth of the normal scheduler weight: it yields, but does not starve. */
enum { NICE_BEHIND = 10 };

struct allo_running_thread {
	pthread_t id;
};

struct allo_monitor {
	pthread_mutex_t lock;
	pthread_cond_t changed;
};

unsigned allo_cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

struct allo_running_thread *allo_thread_start(void *(*run)(void *context), void *context)
{
	struct allo_running_thread *thread = malloc(sizeof(*thread));
	sigset_t all, before;
	bool ok;

	if (!thread)
		return NULL;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(&thread->id, NULL, run, context) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (ok)
		return thread;
	free(thread);
	return NULL;
}

void allo_thread_join(struct allo_running_thread *thread)
{
	pthread_join(thread->id, NULL);
	free(thread);
}

void allo_thread_step_back(void)
{
	id_t self = (id_t)gettid();

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICE_BEHIND);
}

struct allo_monitor *allo_monitor_new(void)
{
	struct allo_monitor *monitor = malloc(sizeof(*monitor));

	if (!monitor)
		return NULL;
	pthread_mutex_init(&monitor->lock, NULL);
	pthread_cond_init(&monitor->changed, NULL);
	return monitor;
}

void allo_monitor_free(struct allo_monitor *monitor)
{
	if (!monitor)
		return;
	pthread_cond_destroy(&monitor->changed);
	pthread_mutex_destroy(&monitor->lock);
	free(monitor);
}

void allo_monitor_enter(struct allo_monitor *monitor)
{
	if (monitor)
		pthread_mutex_lock(&monitor->lock);
}

void allo_monitor_leave(struct allo_monitor *monitor)
{
	if (monitor)
		pthread_mutex_unlock(&monitor->lock);
}

void allo_monitor_wait(struct allo_monitor *monitor)
{
	if (monitor)
		pthread_cond_wait(&monitor->changed, &monitor->lock);
}

void allo_monitor_wake(struct allo_monitor *monitor)
{
	if (monitor)
		pthread_cond_signal(&monitor->changed);
}

void allo_monitor_wake_all(struct allo_monitor *monitor)
{
	if (monitor)
		pthread_cond_broadcast(&monitor->changed);
}
