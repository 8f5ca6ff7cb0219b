/*
 * hooks_rights.c - replacements for calls that the control thread must not miss or prevent.
 *
 * setuid and its relatives change all threads that libc knows, and the control thread is not one of
 * them: it would keep the rights that the program gives up.  unshare and setns fail while the
 * thread runs: the kernel lets only a single-threaded process enter another user namespace, and
 * only a process that shares its file system state with no other enter another mount namespace.
 *
 * So the thread ends before the call, and another one starts after it, with the rights of the
 * caller.  Without a control thread, which is the default, the calls go straight to libc.
 */
#include "capture/process.h"
#include "capture/real.h"
#include "capture/record.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <dlfcn.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <unistd.h>

/* Defines a replacement that calls the real function while the process has no control thread. */
#define ALLO_CALL_ALONE(name, parameters, arguments)                                               \
	ALLO_HOOK int name parameters                                                              \
	{                                                                                          \
		__typeof__(allo_real.name) real = allo_real.name;                                  \
		bool was_paused = allo_control_pause();                                            \
		int result;                                                                        \
                                                                                                   \
		if (!real) /* called by a constructor that runs before ours */                     \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		result = real arguments;                                                           \
		if (was_paused)                                                                    \
			allo_control_resume();                                                     \
		return result;                                                                     \
	}

ALLO_CALL_ALONE(setuid, (uid_t user), (user))
ALLO_CALL_ALONE(setgid, (gid_t group), (group))
ALLO_CALL_ALONE(seteuid, (uid_t user), (user))
ALLO_CALL_ALONE(setegid, (gid_t group), (group))
ALLO_CALL_ALONE(setreuid, (uid_t user, uid_t effective), (user, effective))
ALLO_CALL_ALONE(setregid, (gid_t group, gid_t effective), (group, effective))
ALLO_CALL_ALONE(setresuid, (uid_t user, uid_t effective, uid_t saved), (user, effective, saved))
ALLO_CALL_ALONE(setresgid, (gid_t group, gid_t effective, gid_t saved), (group, effective, saved))
ALLO_CALL_ALONE(setgroups, (size_t count, const gid_t *groups), (count, groups))
ALLO_CALL_ALONE(initgroups, (const char *user, gid_t group), (user, group))
ALLO_CALL_ALONE(unshare, (int flags), (flags))
ALLO_CALL_ALONE(setns, (int fd, int kind), (fd, kind))

/* libc declares it without a header. */
int capset(cap_user_header_t header, const cap_user_data_t data);
ALLO_CALL_ALONE(capset, (cap_user_header_t header, const cap_user_data_t data), (header, data))

/* The same calls, made through syscall(). */
static bool changes_rights(long number)
{
	switch (number) {
	case SYS_setuid:
	case SYS_setgid:
	case SYS_setreuid:
	case SYS_setregid:
	case SYS_setresuid:
	case SYS_setresgid:
	case SYS_setgroups:
	case SYS_capset:
	case SYS_unshare:
	case SYS_setns:
		return true;
	default:
		return false;
	}
}

/* Calls the kernel like syscall(), with regard to the control thread. */
static __attribute__((noinline)) long call_kernel(long number, long a, long b, long c, long d,
						  long e, long f)
{
	bool was_paused = changes_rights(number) && allo_control_pause();
	long result;

	if (number == SYS_exit)
		allo_control_note_exit(a);
	result = allo_syscall(number, a, b, c, d, e, f);
	if (was_paused)
		allo_control_resume();
	if (result >= 0 || result <= -4096)
		return result;
	errno = (int)-result;
	return -1;
}

/* syscall() has variable arguments, all of which a register or the stack holds like these.  The
 * compiler makes the last call a jump: a child that shares the memory but not the stack (SYS_clone)
 * must find nothing of ours on the stack. */
ALLO_HOOK long allo_hook_syscall(long number, long a, long b, long c, long d, long e,
				 long f) __asm__("syscall");

long allo_hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if (__builtin_expect(!allo_real.syscall, 0) ||
	    (__builtin_expect(allo_settings.has_control, 0) &&
	     (number == SYS_exit || changes_rights(number))))
		return call_kernel(number, a, b, c, d, e, f);
	return allo_real.syscall(number, a, b, c, d, e, f);
}
