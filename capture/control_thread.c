/* control_thread.c - see control_thread.h. */
#include "capture/control_thread.h"
#include "capture/system.h"
#include "capture/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

enum {
	GUARD_SIZE = 64 << 10, /* a page, however large pages are */
	STACK_SIZE = 64 << 10,
	STACK_END = GUARD_SIZE + STACK_SIZE,
	MARGIN = 64 << 10, /* around variables: those of this library are near each other */
	ALIGNMENT = 64,
};

/* Lies behind the stack. */
struct beginning {
	void (*run)(void *given);
	void *given;
};

/* Where a thread's variables are counted from. */
static uintptr_t thread_pointer(void)
{
	uintptr_t pointer;

#if defined(__x86_64__)
	__asm__("mov %%fs:0, %0" : "=r"(pointer));
#else
	__asm__("mrs %0, tpidr_el0" : "=r"(pointer));
#endif
	return pointer;
}

static size_t distance(const void *variable)
{
	uintptr_t here = thread_pointer(), there = (uintptr_t)variable;

	return there < here ? here - there : there - here;
}

/* How far variables may lie from there, to either side: ours, and errno. */
static size_t reach(void)
{
	size_t own = distance(&allo_self), error = distance(&errno);
	size_t far = (own > error ? own : error) + MARGIN;

	return (far + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int begin(void *given)
{
	const struct beginning *beginning = given;

	/* Without it there would be no telling whose descriptors are whose. */
	if (ALLO_SYSCALL3(SYS_close_range, 0, UINT32_MAX, CLOSE_RANGE_UNSHARE) < 0)
		return 0;
	ALLO_SYSCALL2(SYS_prctl, PR_SET_NAME, "allo");
	beginning->run(beginning->given);
	return 0;
}

/* All zeros, but for what processors and compilers count on. */
static char *make_variables(char *memory, size_t around)
{
	void **pointer = (void **)(memory + STACK_END + around);

#if defined(__x86_64__)
	pointer[0] = pointer[2] = pointer;
#endif
	return (char *)pointer;
}

/* Until it has descriptors of its own, it shares the program's, and the kernel has somebody who
 * needs a larger table meanwhile wait for milliseconds: our recording would.  So it is made larger
 * before.
 */
static void make_descriptor_room(void)
{
	long fd = ALLO_SYSCALL4(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	long high = ALLO_SYSCALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, ALLO_FD_LEAST);

	if (high >= 0)
		ALLO_SYSCALL1(SYS_close, high);
	if (fd >= 0)
		ALLO_SYSCALL1(SYS_close, fd);
}

/* Signals are blocked before, so that there is no moment in which it could get one. */
static void start(struct allo_control_thread *thread, char *variables)
{
	uint64_t all = UINT64_MAX, before;
	char *memory = thread->memory;
	int id;

	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, _NSIG / 8);
	id = clone(begin, memory + STACK_END,
		   CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			   CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |
			   CLONE_CHILD_CLEARTID,
		   memory + STACK_END, &thread->number, variables, &thread->number);
	if (id < 0)
		thread->number = 0;
	thread->id = id < 0 ? 0 : (uint32_t)id;
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, _NSIG / 8);
}

bool allo_control_thread_start(struct allo_control_thread *thread, void (*run)(void *given),
			       void *given)
{
	size_t around = reach();
	int error = errno;
	char *memory;

	thread->size = STACK_END + 2 * around;
	memory = allo_map(thread->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (!memory)
		return false;
	ALLO_SYSCALL3(SYS_madvise, memory, thread->size, MADV_DONTFORK);
	ALLO_SYSCALL3(SYS_mprotect, memory, GUARD_SIZE, PROT_NONE);
	*(struct beginning *)(memory + STACK_END) = (struct beginning){ run, given };
	thread->memory = memory;
	make_descriptor_room();
	start(thread, make_variables(memory, around));
	errno = error;
	if (thread->number == 0)
		allo_control_thread_done(thread);
	return thread->number != 0;
}

bool allo_control_thread_is_there(const struct allo_control_thread *thread)
{
	return __atomic_load_n(&thread->number, __ATOMIC_ACQUIRE) != 0 ||
	       (thread->id != 0 &&
		ALLO_SYSCALL3(SYS_tgkill, ALLO_SYSCALL1(SYS_getpid, 0), thread->id, 0) == 0);
}

void allo_control_thread_done(struct allo_control_thread *thread)
{
	if (thread->memory)
		allo_unmap(thread->memory, thread->size);
	thread->memory = NULL;
}
