/* control_thread.c - starts a thread with clone(), without pthreads. */
#include "capture/control/control_thread.h"
#include "base/assert.h"
#include "capture/file/file_name.h"
#include "capture/system.h"
#include "capture/thread.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

enum {
	GUARD_SIZE = 64 << 10, /* bytes; the largest page size of aarch64 */
	STACK_SIZE = 64 << 10,
	STACK_END = GUARD_SIZE + STACK_SIZE,
	MARGIN = 64 << 10, /* bytes around thread-local variables: ours lie close together */
	ALIGNMENT = 64,
	STAT_SIZE = 1024, /* bytes; /proc/PID/stat is about 350 */
};

/* Arguments of the new thread; they lie just above its stack. */
struct start_arguments {
	void (*run)(void *given);
	void *given;
};

/* The address that thread-local variables are relative to. */
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

/* How far the variables that we use (ours and errno) may lie from the thread pointer, on either
 * side, in bytes. */
static size_t tls_reach(void)
{
	size_t own = distance(&allo_self), error = distance(&errno);
	size_t far = (own > error ? own : error) + MARGIN;

	return (far + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static int begin(void *given)
{
	const struct start_arguments *arguments = given;

	/* Without a private descriptor table the thread could close the program's files. */
	if (ALLO_SYSCALL3(SYS_close_range, 0, UINT32_MAX, CLOSE_RANGE_UNSHARE) < 0)
		return 0;
	ALLO_SYSCALL2(SYS_prctl, PR_SET_NAME, "allo");
	arguments->run(arguments->given);
	return 0;
}

/* Makes thread-local variables: all zeros, except the self pointers that x86-64 code relies on. */
static char *make_variables(char *memory, size_t around)
{
	void **pointer = (void **)(memory + STACK_END + around);

	ALLO_ASSERT((uintptr_t)pointer % ALIGNMENT == 0);
	ALLO_ASSERT(around > sizeof(struct start_arguments));
#if defined(__x86_64__)
	pointer[0] = pointer[2] = pointer;
#endif
	return (char *)pointer;
}

/* Grows the descriptor table up to the descriptors that the recorder uses.  While two threads share
 * a table, growing it waits for an RCU grace period, which takes milliseconds; the new thread
 * shares the program's table until it has unshared it. */
static void make_descriptor_room(void)
{
	long fd = ALLO_SYSCALL4(SYS_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	long high = ALLO_SYSCALL3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, ALLO_FD_LEAST);

	if (high >= 0)
		ALLO_SYSCALL1(SYS_close, high);
	if (fd >= 0)
		ALLO_SYSCALL1(SYS_close, fd);
}

/* Blocks signals around clone(), so the thread never runs with one unblocked. */
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
	size_t around = tls_reach();
	int error = errno;
	char *memory;

	ALLO_ASSERT(!thread->memory);
	thread->size = STACK_END + 2 * around;
	memory = allo_map(thread->size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
	if (!memory)
		return false;
	ALLO_SYSCALL3(SYS_madvise, memory, thread->size, MADV_DONTFORK);
	ALLO_SYSCALL3(SYS_mprotect, memory, GUARD_SIZE, PROT_NONE);
	*(struct start_arguments *)(memory + STACK_END) = (struct start_arguments){ run, given };
	thread->memory = memory;
	make_descriptor_room();
	start(thread, make_variables(memory, around));
	errno = error;
	if (thread->number == 0)
		allo_control_thread_done(thread);
	return thread->number != 0;
}

bool allo_control_thread_is_alive(const struct allo_control_thread *thread)
{
	return __atomic_load_n(&thread->number, __ATOMIC_ACQUIRE) != 0 ||
	       (thread->id != 0 &&
		ALLO_SYSCALL3(SYS_tgkill, ALLO_SYSCALL1(SYS_getpid, 0), thread->id, 0) == 0);
}

/* Reads a file /proc/.../stat.  Returns its length, or -errno. */
static long read_stat(int folder, const char *path, char text[STAT_SIZE])
{
	long fd = ALLO_SYSCALL4(SYS_openat, folder, path, O_RDONLY | O_CLOEXEC, 0), len;

	text[0] = '\0';
	if (fd < 0)
		return fd;
	len = ALLO_SYSCALL3(SYS_read, fd, text, STAT_SIZE - 1);
	ALLO_SYSCALL1(SYS_close, fd);
	text[len > 0 ? len : 0] = '\0';
	return len;
}

/* Whether a file /proc/.../stat is that of a live thread; true if it cannot be read. */
static bool lives(int folder, const char *path)
{
	char text[STAT_SIZE], *end;
	long len = read_stat(folder, path, text);

	if (len <= 0)
		return len != -ENOENT && len != -ESRCH; /* it has ended since it was listed */
	end = strrchr(text, ')'); /* "123 (name) S ...": the name may contain anything */
	return !end || end[1] != ' ' || (end[2] != 'Z' && end[2] != 'X');
}

/* Whether one of the listed threads lives, other than the calling one. */
static bool has_live_thread(int folder, const struct dirent64 *entries, size_t size)
{
	uint64_t own = allo_thread_number();
	char digits[24], path[64];

	digits[allo_put_decimal(digits, 0, own)] = '\0';
	for (size_t at = 0; at < size;) {
		const struct dirent64 *entry = (const void *)((const char *)entries + at);

		at += entry->d_reclen;
		if (entry->d_name[0] == '.' || strcmp(entry->d_name, digits) == 0)
			continue;
		strcpy(stpcpy(path, entry->d_name), "/stat");
		if (lives(folder, path))
			return true;
	}
	return false;
}

bool allo_control_thread_is_alone(void)
{
	_Alignas(struct dirent64) char entries[4096];
	bool is_alone = true;
	long folder, len;

	if (lives(AT_FDCWD, "/proc/self/stat"))
		return false; /* the main thread */
	folder = ALLO_SYSCALL4(SYS_openat, AT_FDCWD, "/proc/self/task",
			       O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
	if (folder < 0)
		return false;
	do {
		len = ALLO_SYSCALL3(SYS_getdents64, folder, entries, sizeof(entries));
		if (len < 0 || has_live_thread((int)folder, (void *)entries, (size_t)len))
			is_alone = false;
	} while (is_alone && len > 0);
	ALLO_SYSCALL1(SYS_close, folder);
	return is_alone;
}

/* The main thread's status is the last number of the file. */
static uint32_t main_status(void)
{
	char text[STAT_SIZE], *at;
	uint32_t status = 0;

	read_stat(AT_FDCWD, "/proc/self/stat", text);
	at = strrchr(text, ' ');
	while (at && at[1] >= '0' && at[1] <= '9')
		status = status * 10 + (uint32_t)(*++at - '0');
	return status;
}

/* The action of a signal for the kernel, which has another layout than libc's. */
struct kernel_action {
	uint64_t handler, flags, restorer, mask;
};

void allo_control_thread_end_last(uint32_t status)
{
	struct kernel_action by_default = { 0 };
	uint64_t none = 0;
	uint32_t signal;

	if (status == UINT32_MAX)
		status = main_status();
	signal = status & 0x7f;
	if (signal != 0) {
		ALLO_SYSCALL4(SYS_rt_sigaction, signal, &by_default, 0, _NSIG / 8);
		ALLO_SYSCALL3(SYS_tgkill, ALLO_SYSCALL1(SYS_getpid, 0), allo_thread_number(),
			      signal);
		ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, _NSIG / 8);
	}
	ALLO_SYSCALL1(SYS_exit, status >> 8 & 0xff);
}

void allo_control_thread_done(struct allo_control_thread *thread)
{
	if (thread->memory)
		allo_unmap(thread->memory, thread->size);
	thread->memory = NULL;
}
