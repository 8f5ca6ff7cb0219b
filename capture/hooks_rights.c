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

static const uint16_t special_calls[] = {
	SYS_setuid,    SYS_setgid, SYS_setreuid, SYS_setregid, SYS_setresuid, SYS_setresgid,
	SYS_setgroups, SYS_capset, SYS_unshare,  SYS_setns,    SYS_exit, /* its status may be that
									    of the process */
};

enum { CALLS_MAX = 512 };

/* A bit for each special call; set by the constructor. */
ALLO_HIDDEN uint64_t allo_special_calls[CALLS_MAX / 64];

static bool is_special(long number)
{
	for (size_t i = 0; i < sizeof(special_calls) / sizeof(*special_calls); i++) {
		if (special_calls[i] == number)
			return true;
	}
	return false;
}

typedef long allo_system_call(long number, long a, long b, long c, long d, long e, long f);

/* Does the same as syscall(), with regard to the control thread. */
ALLO_HIDDEN allo_system_call allo_special_call;

long allo_special_call(long number, long a, long b, long c, long d, long e, long f)
{
	bool was_paused = number != SYS_exit && is_special(number) && allo_control_pause();
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

/* The real syscall(), once it is found. */
ALLO_HIDDEN allo_system_call *allo_next_syscall = allo_special_call;

__attribute__((constructor)) static void find_syscall(void)
{
	allo_process_init();
	for (size_t i = 0; i < sizeof(special_calls) / sizeof(*special_calls); i++)
		allo_special_calls[special_calls[i] / 64] |= (uint64_t)1 << special_calls[i] % 64;
	if (allo_real.syscall)
		allo_next_syscall = allo_real.syscall;
}

/* A call that is not special is a jump: a child that shares our memory (SYS_vfork, SYS_clone) must
 * not return from a frame that its parent still needs.  On x86-64 the last argument is on the
 * stack, where a compiler may store it again: callers with fewer arguments have their own variables
 * there, so this is in assembly. */
#if defined(__x86_64__)
__asm__(".pushsection .text\n"
	".globl syscall\n"
	".type syscall, @function\n"
	"syscall:\n"
	".cfi_startproc\n"
	"	endbr64\n"
	"	cmpq	$512, %rdi\n"
	"	jae	1f\n"
	"	btq	%rdi, allo_special_calls(%rip)\n"
	"	jc	allo_special_call\n"
	"1:	jmp	*allo_next_syscall(%rip)\n"
	".cfi_endproc\n"
	".size syscall, . - syscall\n"
	".popsection\n");
_Static_assert(CALLS_MAX == 512, "the assembly knows this number");
#else
ALLO_HOOK long allo_hook_syscall(long number, long a, long b, long c, long d, long e,
				 long f) __asm__("syscall");

long allo_hook_syscall(long number, long a, long b, long c, long d, long e, long f)
{
	if ((unsigned long)number < CALLS_MAX && allo_special_calls[number / 64] >> number % 64 & 1)
		return allo_special_call(number, a, b, c, d, e, f);
	return allo_next_syscall(number, a, b, c, d, e, f);
}
#endif
