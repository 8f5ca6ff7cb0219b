/* helper_process.c - clone() like vfork(), with blocked signals. */
#include "capture/file/helper_process.h"
#include "capture/system.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

enum {
	STACK_SIZE = 64 << 10,
	CLOSED = 16, /* more than one operation opens at a time */
};

struct job {
	allo_helper_work *work;
	void *context;
	long result;
};

/* Limits belong to the process, so the program keeps its own. */
static void make_room(void)
{
	struct rlimit limit;

	if (ALLO_SYSCALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, 0, &limit) == 0 &&
	    limit.rlim_cur < limit.rlim_max) {
		limit.rlim_cur = limit.rlim_max;
		ALLO_SYSCALL4(SYS_prlimit64, 0, RLIMIT_NOFILE, &limit, 0);
	}
	for (int fd = 0; fd < CLOSED; fd++)
		ALLO_SYSCALL1(SYS_close, fd);
}

static int run(void *given)
{
	struct job *job = given;

	make_room();
	job->result = job->work(job->context);
	return 0;
}

/* Signals are blocked: a handler of the program must not run in the helper. */
static long clone_blocked(struct job *job, char *stack)
{
	uint64_t all = UINT64_MAX, before;
	int error = errno;
	long id;

	allo_helped_process = allo_process_number();
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, _NSIG / 8);
	id = clone(run, stack + STACK_SIZE, CLONE_VM | CLONE_VFORK, job);
	if (id < 0)
		id = -errno;
	else /* It sends no SIGCHLD, and waitpid() of the program does not see it. */
		ALLO_SYSCALL4(SYS_wait4, id, 0, __WCLONE, 0);
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
	allo_helped_process = 0;
	errno = error;
	return id;
}

long allo_helper_run(allo_helper_work *work, void *context)
{
	struct job job = { work, context, -ECANCELED };
	char *stack = allo_map(STACK_SIZE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	long id;

	if (!stack)
		return -ENOMEM;
	id = clone_blocked(&job, stack);
	allo_unmap(stack, STACK_SIZE);
	return id < 0 ? id : job.result;
}
