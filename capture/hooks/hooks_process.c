/*
 * hooks_process.c - replacements for _exit and _Exit.
 *
 * They end a process without its destructors; shells and forked children use them.
 */
#include "capture/file/announce.h"
#include "capture/file/own_resident.h"
#include "capture/file/record.h"
#include "capture/hooks/real.h"
#include "capture/process.h"
#include "capture/session.h"
#include "capture/system.h"

#include <stdlib.h>
#include <unistd.h>

static _Noreturn void leave(int status, void (*real)(int))
{
	allo_control_end();
	if (allo_session_hold_within(ALLO_SESSION_EXIT_MS)) {
		allo_resident_end();
		/* Not inside of a hook that a signal handler has interrupted: its counters are in
		 * use. */
		if (!allo_self || (allo_self->phase != ALLO_THREAD_BUSY &&
				   allo_self->phase != ALLO_THREAD_PASSING))
			allo_announce_counts();
		allo_session_let_go();
	}
	if (real)
		real(status);
	for (;;)
		allo_program_syscall(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

ALLO_HOOK void _exit(int status)
{
	leave(status, allo_real._exit);
}

ALLO_HOOK void _Exit(int status)
{
	leave(status, allo_real._Exit);
}
