/*
 * hooks_exit.c - _exit and _Exit, by which a process ends without its destructors: shells do it,
 * and children that fork() has made.
 */
#include "capture/announce.h"
#include "capture/process.h"
#include "capture/real.h"
#include "capture/record.h"
#include "capture/system.h"

#include <stdlib.h>
#include <unistd.h>

/* Who is asked may be in a hook, which a signal handler has interrupted: then it is too late. */
static _Noreturn void leave(int status, void (*real)(int))
{
	allo_control_end();
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
