/*
 * hooks_signal.c - replacements for the functions that set the action of a signal.
 *
 * Only SIGBUS matters: see truncation.h.
 */
#include "capture/file/record.h"
#include "capture/file/truncation.h"
#include "capture/hooks/real.h"
#include "capture/process.h"

#include <errno.h>

ALLO_HOOK int sigaction(int signal, const struct sigaction *action, struct sigaction *before)
{
	allo_process_init();
	if (signal == SIGBUS)
		return allo_truncation_set(action, before);
	return allo_real.sigaction(signal, action, before);
}

typedef void handler(int signal);

/* signal() for SIGBUS, with these flags. */
static handler *set(handler *wanted, int flags)
{
	struct sigaction action = { .sa_handler = wanted, .sa_flags = flags }, before;

	if (wanted == SIG_ERR) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (flags == SA_RESTART)
		sigaddset(&action.sa_mask, SIGBUS); /* as libc does */
	return allo_truncation_set(&action, &before) == 0 ? before.sa_handler : SIG_ERR;
}

ALLO_HOOK handler *signal(int number, handler *wanted)
{
	allo_process_init();
	return number == SIGBUS ? set(wanted, SA_RESTART) : allo_real.signal(number, wanted);
}

/* signal() of programs that are compiled as System V or strict ISO C. */
ALLO_HOOK handler *__sysv_signal(int number, handler *wanted)
{
	allo_process_init();
	return number == SIGBUS ? set(wanted, (int)(SA_RESETHAND | SA_NODEFER))
				: allo_real.__sysv_signal(number, wanted);
}
