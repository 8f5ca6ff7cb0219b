/*
 * hooks_rights.c - replacements for calls by which a program changes its rights, and for syscall().
 *
 * The runtime prepares for sandboxes and for the loss of access to files first (sandbox.h).
 *
 * setuid and its relatives change all threads that libc knows, and the control thread is not one of
 * them: it would keep the rights that the program gives up.  unshare and setns fail while the
 * thread runs: the kernel lets only a single-threaded process enter another user namespace, and
 * only a process that shares its file system state with no other enter another mount namespace.
 *
 * So the thread ends before the call, and another one starts after it, with the rights of the
 * caller.  The default is no control thread.
 */
#include "capture/hooks/hooks_rights.h"
#include "capture/file/record.h"
#include "capture/hooks/exec_call.h"
#include "capture/hooks/real.h"
#include "capture/hooks/sandbox.h"
#include "capture/process.h"
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
		allo_sandbox_prepare(SYS_##name, 0, 0, 0);                                         \
		if (!real) /* called by a constructor that runs before ours */                     \
			*(void **)&real = dlsym(RTLD_NEXT, #name);                                 \
		result = real arguments;                                                           \
		if (was_paused)                                                                    \
			allo_control_resume();                                                     \
		return result;                                                                     \
	}

/* Functions of libc that are no system calls. */
#define SYS_seteuid    SYS_setreuid
#define SYS_setegid    SYS_setregid
#define SYS_initgroups SYS_setgroups

ALLO_CALL_ALONE(chroot, (const char *path), (path))
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

/* Declared under another name, since libc declares it with a variable number of arguments. */
ALLO_HOOK int control_process(int option, long a, long b, long c, long d) __asm__("prctl");
ALLO_HOOK int control_process(int option, long a, long b, long c, long d)
{
	bool is_confined = allo_sandbox_prepare(SYS_prctl, option, a, b);
	int result = allo_real.prctl(option, a, b, c, d);

	if (is_confined && result != 0)
		allo_sandbox_failed();
	return result;
}

/* The same calls, and exec, made through syscall(). */

#ifndef SYS_landlock_restrict_self
#define SYS_landlock_restrict_self 446
#endif

static const uint16_t special_calls[] = {
	SYS_setuid,
	SYS_setgid,
	SYS_setreuid,
	SYS_setregid,
	SYS_setresuid,
	SYS_setresgid,
	SYS_setgroups,
	SYS_capset,
	SYS_unshare,
	SYS_setns,
	SYS_exit, /* its status may be that
		     of the process */
	SYS_prctl,
	SYS_seccomp,
	SYS_chroot,
	SYS_pivot_root,
	SYS_setfsuid,
	SYS_setfsgid,
	SYS_landlock_restrict_self,
	SYS_execve,
	SYS_execveat,
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

/* Does the same as syscall(), with regard to the control thread and to sandboxes. */
static long change_rights(long number, long a, long b, long c, long d, long e, long f)
{
	bool is_other = number == SYS_exit || number == SYS_prctl || number == SYS_seccomp;
	bool was_paused = !is_other && is_special(number) && allo_control_pause();
	bool is_confined = number != SYS_exit && is_special(number) &&
			   allo_sandbox_prepare(number, a, b, c);
	long result;

	if (number == SYS_exit)
		allo_control_note_exit(a);
	result = allo_program_syscall(number, a, b, c, d, e, f);
	if (is_confined && result != 0)
		allo_sandbox_failed();
	if (was_paused)
		allo_control_resume();
	if (result >= 0 || result <= -4096)
		return result;
	errno = (int)-result;
	return -1;
}

ALLO_HIDDEN allo_system_call allo_special_call;

long allo_special_call(long number, long a, long b, long c, long d, long e, long f)
{
	return allo_is_exec_call(number) ? allo_exec_call(number, a, b, c, d, e)
					 : change_rights(number, a, b, c, d, e, f);
}

/* The real syscall(), once it is found. */
ALLO_HIDDEN allo_system_call *allo_next_syscall = allo_special_call;

void allo_hooks_found_syscall(void)
{
	if (allo_real.syscall)
		allo_next_syscall = allo_real.syscall;
}

__attribute__((constructor)) static void find_syscall(void)
{
	allo_process_init();
	for (size_t i = 0; i < sizeof(special_calls) / sizeof(*special_calls); i++)
		allo_special_calls[special_calls[i] / 64] |= (uint64_t)1 << special_calls[i] % 64;
	allo_hooks_found_syscall();
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
