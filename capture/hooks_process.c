/*
 * hooks_process.c - replacements for _exit, _Exit, unshare and setns.
 *
 * _exit and _Exit end a process without its destructors; shells and forked children use them.
 *
 * unshare and setns fail while the control thread runs: the kernel lets only a single-threaded
 * process enter another user namespace, and only a process that shares its file system state with
 * no other enter another mount namespace.
 */
#include "capture/announce.h"
#include "capture/process.h"
#include "capture/real.h"
#include "capture/record.h"
#include "capture/system.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

static _Noreturn void leave(int status, void (*real)(int))
{
	allo_control_end();
	/* Not inside of a hook that a signal handler has interrupted: its counters are in use. */
	if (!allo_self || allo_self->phase != ALLO_THREAD_BUSY)
		allo_announce_counts();
	if (real)
		real(status);
	for (;;)
		ALLO_SYSCALL1(SYS_exit_group, status);
}

ALLO_HOOK void _exit(int status)
{
	leave(status, allo_real._exit);
}

ALLO_HOOK void _Exit(int status)
{
	leave(status, allo_real._Exit);
}

static int call_alone(long number, long first, long second)
{
	bool was_paused = allo_control_pause();
	long result = ALLO_SYSCALL2(number, first, second);

	if (was_paused)
		allo_control_resume();
	if (result == 0)
		return 0;
	errno = (int)-result;
	return -1;
}

ALLO_HOOK int unshare(int flags)
{
	return call_alone(SYS_unshare, flags, 0);
}

ALLO_HOOK int setns(int fd, int kind)
{
	return call_alone(SYS_setns, fd, kind);
}
