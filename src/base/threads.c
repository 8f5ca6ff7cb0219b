#include "base/threads.h"

#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

/* Niceness 10 is about a tenth of the normal scheduler weight: it yields, but does not starve. */
enum { NICE_BEHIND = 10 };

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

void allo_thread_step_back(void)
{
	id_t self = (id_t)gettid();

	setpriority(PRIO_PROCESS, self, getpriority(PRIO_PROCESS, self) + NICE_BEHIND);
}
