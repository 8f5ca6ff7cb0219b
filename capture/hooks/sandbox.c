/* sandbox.c - the system calls of the runtime, and preparations for doing without them. */
#include "capture/hooks/sandbox.h"
#include "capture/file/helper_process.h"
#include "capture/hooks/built_in.h"
#include "capture/hooks/seccomp_filter.h"
#include "capture/process.h"
#include "capture/settings.h"
#include "capture/stacks/modules.h"
#include "capture/system.h"
#include "capture/time/pace.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

enum {
	WINDOW_SLOTS = 1024,     /* 64 MiB of the file: some twenty million events */
	MEMORY_SIZE = 256 << 20, /* bytes; used by new threads and stacks, not touched before */
	NEW_FILE = 7,            /* a descriptor, as the calls below would use it */
	ANY = 4096,              /* a size or an address */
};

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

/* The calls of the runtime while it records, in children and before exec, too.  Filters look at
 * flags, so these are as in the code; addresses and sizes are examples. */
static const struct seccomp_data calls[] = {
	{ .nr = SYS_openat, .args = { (uint64_t)AT_FDCWD, ANY, O_RDWR | O_CLOEXEC | O_NOFOLLOW } },
	{ .nr = SYS_openat, .args = { (uint64_t)AT_FDCWD, ANY, O_RDWR | O_CLOEXEC | O_TMPFILE } },
	{ .nr = SYS_openat, .args = { (uint64_t)AT_FDCWD, ANY, O_WRONLY | O_APPEND | O_CLOEXEC } },
	{ .nr = SYS_openat, .args = { (uint64_t)AT_FDCWD, ANY, O_RDONLY | O_CLOEXEC } },
	{ .nr = SYS_close, .args = { NEW_FILE } },
	{ .nr = SYS_fstat, .args = { NEW_FILE, ANY } },
	{ .nr = SYS_read, .args = { NEW_FILE, ANY, ANY } },
	{ .nr = SYS_write, .args = { NEW_FILE, ANY, ANY } },
	{ .nr = SYS_pwrite64, .args = { NEW_FILE, ANY, ANY, ANY } },
	{ .nr = SYS_fallocate, .args = { NEW_FILE, 0, ANY, ANY } },
	{ .nr = SYS_ftruncate, .args = { NEW_FILE, ANY } },
	{ .nr = SYS_linkat,
	  .args = { (uint64_t)AT_FDCWD, ANY, (uint64_t)AT_FDCWD, ANY, AT_SYMLINK_FOLLOW } },
	{ .nr = SYS_symlinkat, .args = { ANY, (uint64_t)AT_FDCWD, ANY } },
	{ .nr = SYS_readlinkat, .args = { (uint64_t)AT_FDCWD, ANY, ANY, ANY } },
	{ .nr = SYS_pread64, .args = { NEW_FILE, ANY, ANY, ANY } },
	{ .nr = SYS_fgetxattr, .args = { NEW_FILE, ANY } },
	{ .nr = SYS_fstatfs, .args = { NEW_FILE, ANY } },
	{ .nr = SYS_newfstatat, .args = { (uint64_t)AT_FDCWD, ANY, ANY } },
	{ .nr = SYS_getuid },
	{ .nr = SYS_getgid },
	{ .nr = SYS_faccessat, .args = { (uint64_t)AT_FDCWD, ANY } },
	{ .nr = SYS_getcwd, .args = { ANY, ANY } },
	{ .nr = SYS_uname, .args = { ANY } },
	{ .nr = SYS_mmap,
	  .args = { 0, ANY, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, NEW_FILE, ANY } },
	{ .nr = SYS_mmap,
	  .args = { 0, ANY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
		    (uint64_t)-1, 0 } },
	{ .nr = SYS_munmap, .args = { ANY, ANY } },
	{ .nr = SYS_mremap, .args = { ANY, ANY, ANY, MREMAP_MAYMOVE } },
	{ .nr = SYS_madvise, .args = { ANY, ANY, MADV_DONTFORK } },
	{ .nr = SYS_madvise, .args = { ANY, ANY, MADV_WIPEONFORK } },
	{ .nr = SYS_madvise, .args = { ANY, ANY, MADV_POPULATE_WRITE } },
	{ .nr = SYS_madvise, .args = { ANY, ANY, MADV_DONTNEED } },
	{ .nr = SYS_rt_sigprocmask, .args = { SIG_SETMASK, ANY, ANY, _NSIG / 8 } },
	{ .nr = SYS_prlimit64, .args = { 0, RLIMIT_FSIZE, 0, ANY } },
	{ .nr = SYS_prctl, .args = { PR_GET_NAME, ANY } },
	{ .nr = SYS_prctl, .args = { PR_GET_NO_NEW_PRIVS } },
	{ .nr = SYS_gettid },
	{ .nr = SYS_getpid },
	{ .nr = SYS_getppid },
	{ .nr = SYS_tgkill, .args = { ANY, ANY, 0 } },
	{ .nr = SYS_sched_yield },
	{ .nr = SYS_nanosleep, .args = { ANY } },
	{ .nr = SYS_membarrier },
	{ .nr = SYS_clock_gettime, .args = { CLOCK_MONOTONIC, ANY } },
	{ .nr = SYS_clock_gettime, .args = { CLOCK_REALTIME, ANY } },
	{ .nr = SYS_clone, .args = { CLONE_VM | CLONE_VFORK, ANY } },
	{ .nr = SYS_wait4, .args = { ANY, 0, __WCLONE } },
};

/* Without these, some gaps are unsure, and the sampling interval stays as it is. */
static const struct seccomp_data usage_calls[] = {
	{ .nr = SYS_clock_gettime, .args = { CLOCK_THREAD_CPUTIME_ID, ANY } },
	{ .nr = SYS_getrusage, .args = { RUSAGE_THREAD, ANY } },
	{ .nr = SYS_clock_gettime, .args = { CLOCK_PROCESS_CPUTIME_ID, ANY } },
};

/* Without these, allocators of libraries that are loaded later stay as they are. */
static const struct seccomp_data patch_calls[] = {
	{ .nr = SYS_openat,
	  .args = { (uint64_t)AT_FDCWD, ANY, O_RDONLY | O_DIRECTORY | O_CLOEXEC } },
	{ .nr = SYS_getdents64, .args = { NEW_FILE, ANY, ANY } },
	{ .nr = SYS_mmap,
	  .args = { ANY, ANY, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, (uint64_t)-1, 0 } },
	{ .nr = SYS_mprotect, .args = { ANY, ANY, PROT_READ | PROT_EXEC } },
	{ .nr = SYS_mprotect, .args = { ANY, ANY, PROT_READ | PROT_WRITE | PROT_EXEC } },
};

/* Without this, the headers of modules are read in place. */
static const struct seccomp_data copy_calls[] = {
	{ .nr = SYS_process_vm_readv, .args = { ANY, ANY, 1, ANY, 1 } },
};

#define ALLOWS_EACH(filter, calls) allows_each(filter, calls, sizeof(calls) / sizeof(*(calls)))

static bool allows(const struct sock_fprog *filter, struct seccomp_data call)
{
	call.arch = ARCH;
	call.instruction_pointer = (uint64_t)allows; /* a filter may look at the module */
	return allo_seccomp_allows(filter, &call);
}

static bool allows_each(const struct sock_fprog *filter, const struct seccomp_data *each,
			size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!allows(filter, each[i]))
			return false;
	}
	return true;
}

/* Another mapping of the recording's head, which children share. */
static struct allo_wire_head *shared_head;

static void share_head(void)
{
	long copy = ALLO_SYSCALL4(SYS_mremap, allo_recorder->head, 0, ALLO_SLOT_SIZE,
				  MREMAP_MAYMOVE);

	if (shared_head || (copy < 0 && copy > -4096))
		return;
	ALLO_SYSCALL3(SYS_madvise, copy, ALLO_SLOT_SIZE, MADV_DOFORK);
	shared_head = (struct allo_wire_head *)copy;
}

/* A dormant program must not start to record here. */
static bool is_recording(void)
{
	return allo_safepoint_state() != ALLO_SAFEPOINT_SHUT && allo_process_records();
}

static void prepare(void)
{
	if (!is_recording() || !allo_settings.has_file)
		return;
	allo_recorder_map_window(WINDOW_SLOTS);
	share_head();
	allo_recorder_update_clock();
}

/* Ends the recording: no hook does anything from here on. */
static void stop(void)
{
	if (!is_recording() || !allo_safepoint_freeze_to_end())
		return;
	allo_recorder_update_clock();
	allo_recorder_stop(ALLO_END_SANDBOX);
	allo_safepoint_shut();
}

/* NULL is the strict mode, which forbids nearly all calls. */
static bool enter(const struct sock_fprog *filter)
{
	/* The filter may be for all threads, and forbid the calls of the control thread.  It would
	 * also keep the process alive after a filter has killed the last thread. */
	allo_control_pause();
	if (!filter || !ALLOWS_EACH(filter, usage_calls))
		allo_pace_avoid_system_calls();
	if (allo_built_in_forbid && (!filter || !ALLOWS_EACH(filter, patch_calls)))
		allo_built_in_forbid();
	if (allo_is_confined)
		return false;
	if (filter && ALLOWS_EACH(filter, calls)) {
		if (!ALLOWS_EACH(filter, copy_calls))
			allo_modules_avoid_copies();
		return false;
	}
	allo_modules_complete();
	allo_confined_memory_prepare(MEMORY_SIZE);
	prepare();
	/* The strict mode forbids to read the processor's counter.  If that is not a clock, every
	 * event would read the clock with a system call. */
	if (!filter || !allo_recorder->is_steady)
		stop();
	__atomic_store_n(&allo_is_confined, true, __ATOMIC_RELEASE);
	return true;
}

/* The kernel refuses a filter mode without a filter. */
static bool enter_mode(bool is_filter, long filter)
{
	return (!is_filter || filter) && enter(is_filter ? (const void *)filter : NULL);
}

static bool prepare_prctl(long option, long mode, long filter)
{
	if (option == PR_SET_TSC && mode == PR_TSC_SIGSEGV)
		stop();
	return option == PR_SET_SECCOMP && enter_mode(mode == SECCOMP_MODE_FILTER, filter);
}

static bool prepare_seccomp(long operation, long filter)
{
	return (operation == SECCOMP_SET_MODE_STRICT || operation == SECCOMP_SET_MODE_FILTER) &&
	       enter_mode(operation == SECCOMP_SET_MODE_FILTER, filter);
}

bool allo_sandbox_prepare(long number, long a, long b, long c)
{
	allo_process_init();
	if (!allo_process || !allo_recorder)
		return false;
	if (number == SYS_prctl)
		return prepare_prctl(a, b, c);
	if (number == SYS_seccomp)
		return prepare_seccomp(a, c);
	if (is_recording())
		allo_recorder_extend();
	return false;
}

void allo_sandbox_failed(void)
{
	__atomic_store_n(&allo_is_confined, false, __ATOMIC_RELEASE);
}

void allo_sandbox_count_child(void)
{
	if (shared_head)
		allo_count(&shared_head->losses.children, 1);
}
