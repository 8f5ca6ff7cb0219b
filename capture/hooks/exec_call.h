/* exec_call.h - the programs that are executed through syscall(). */
#ifndef ALLO_CAPTURE_EXEC_CALL_H
#define ALLO_CAPTURE_EXEC_CALL_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <sys/syscall.h>

static inline bool allo_is_exec_call(long number)
{
	return number == SYS_execve || number == SYS_execveat;
}

/* Hooks execve() and execveat(), given as the number and the arguments of a system call. */
ALLO_HIDDEN int allo_exec_call(long number, long a, long b, long c, long d, long e);

#endif
