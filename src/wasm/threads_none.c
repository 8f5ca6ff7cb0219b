/* threads_none.c - for platforms without threads: none starts, so nothing has to be locked. */
#include "base/threads.h"

#include <stddef.h>

unsigned allo_cpu_count(void)
{
	return 1;
}

struct allo_running_thread *allo_thread_start(void *(*run)(void *context), void *context)
{
	(void)run;
	(void)context;
	return NULL;
}

void allo_thread_join(struct allo_running_thread *thread)
{
	(void)thread;
}

void allo_thread_step_back(void)
{
}

struct allo_monitor *allo_monitor_new(void)
{
	return NULL;
}

void allo_monitor_free(struct allo_monitor *monitor)
{
	(void)monitor;
}

void allo_monitor_enter(struct allo_monitor *monitor)
{
	(void)monitor;
}

void allo_monitor_leave(struct allo_monitor *monitor)
{
	(void)monitor;
}

void allo_monitor_wait(struct allo_monitor *monitor)
{
	(void)monitor;
}

void allo_monitor_wake(struct allo_monitor *monitor)
{
	(void)monitor;
}

void allo_monitor_wake_all(struct allo_monitor *monitor)
{
	(void)monitor;
}
