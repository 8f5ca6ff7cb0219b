/*
 * hooks_namespaces.c - unshare and setns, which our thread is in the way of.
 *
 * The kernel lets only a process that has no other thread go to another user's namespace, and only
 * one that shares its folders with nobody to other mounts.
 */
#include "capture/control.h"
#include "capture/record.h"
#include "capture/system.h"

#include <errno.h>
#include <sched.h>

static int do_alone(long number, long first, long second)
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
	return do_alone(SYS_unshare, flags, 0);
}

ALLO_HOOK int setns(int fd, int kind)
{
	return do_alone(SYS_setns, fd, kind);
}
