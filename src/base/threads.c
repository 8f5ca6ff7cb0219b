/* threads.c - see threads.h. */
#include "base/threads.h"

#include <sched.h>
#include <signal.h>

unsigned allo_cpu_count(void)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) != 0)
		return 1;
	return (unsigned)CPU_COUNT(&set);
}

bool allo_thread_start(pthread_t *thread, void *(*run)(void *context), void *context)
{
	sigset_t all, before;
	bool ok;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	ok = pthread_create(thread, NULL, run, context) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return ok;
}
