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

/* A thread that is gone may still be counted for a moment. */
static long try_alone(long number, long first, long second, bool was_paused)
{
	enum { TURN_NS = 1000000, TURNS_MOST = 50 };
	long result = ALLO_SYSCALL2(number, first, second);

	for (unsigned i = 0; was_paused && result == -EINVAL && i < TURNS_MOST; i++) {
		allo_sleep_ns(TURN_NS);
		result = ALLO_SYSCALL2(number, first, second);
	}
	return result;
}

static int do_alone(long number, long first, long second)
{
	bool was_paused = allo_control_pause();
	long result = try_alone(number, first, second, was_paused);

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
