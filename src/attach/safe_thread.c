/* safe_thread.c - looks at the stacks of threads. */
#include "attach/safe_thread.h"

#include "attach/call_state.h"
#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	STACK_MAX = 1 << 20, /* bytes of a stack to look at */
	TURNS = 1000,        /* looks at all threads */
	PAUSE_MS = 1,        /* between them */
	STOP_MS = 250,       /* for one thread to stop; all others run meanwhile */
	SEARCH_S = 10,       /* some threads wait in the kernel and do not stop at all */
	BEFORE_MALLOC =
		24 << 10, /* internal functions of glibc's malloc precede the exported ones */
	AFTER_MALLOC = 4 << 10,
	INNERMOST =
		32, /* words of a stack: of the function that makes a system call, and its caller */
	AROUND_OWN = 256 << 10, /* around the functions of an allocator in the program itself */
};

struct range {
	uint64_t start, end;
};

struct ranges {
	ALLO_VEC(struct range) all;
};

struct known_code {
	struct ranges unsafe;
	struct ranges waits; /* functions that wait for other threads, without a lock */
};

static void known_code_done(struct known_code *code)
{
	allo_vec_done(&code->unsafe.all);
	allo_vec_done(&code->waits.all);
}

/* Functions of libc that hold a lock which loading a library needs: of the list of threads, of
 * handlers, of the loader. */
static const char *const locking_functions[] = { "pthread_create",
						 "fork",
						 "_Fork",
						 "vfork",
						 "posix_spawn",
						 "posix_spawnp",
						 "system",
						 "popen",
						 "exit",
						 "pthread_exit",
						 "dlopen",
						 "dlclose",
						 "dlsym",
						 "dlvsym",
						 "dlmopen",
						 "dladdr",
						 "dladdr1",
						 "dlinfo",
						 "dl_iterate_phdr",
						 "__cxa_atexit",
						 "pthread_atfork",
						 "__register_atfork",
						 "__tls_get_addr",
						 NULL };

static const char *const waiting_functions[] = {
	"pthread_cond_wait", "pthread_cond_timedwait", "pthread_cond_clockwait", "pthread_join",
	"sem_wait",          "sem_timedwait",          "sem_clockwait",          NULL
};

static const char *const allocator_functions[] = { "malloc",
						   "free",
						   "calloc",
						   "realloc",
						   "memalign",
						   "aligned_alloc",
						   "posix_memalign",
						   "valloc",
						   "pvalloc",
						   "malloc_trim",
						   "malloc_usable_size",
						   "mallinfo2",
						   "mallopt",
						   "malloc_info",
						   "malloc_stats",
						   NULL };

static void add_range(struct ranges *ranges, uint64_t start, uint64_t end, struct allo_error *err)
{
	allo_vec_add(&ranges->all, ((struct range){ start, end }), err);
}

static void add_code_of(struct ranges *ranges, const struct allo_tracee_memory *memory,
			const char *path, struct allo_error *err)
{
	for (size_t i = 0; i < memory->mappings.len; i++) {
		const struct allo_tracee_mapping *mapping = &memory->mappings.at[i];

		if (mapping->is_executable && strcmp(mapping->path, path) == 0)
			add_range(ranges, mapping->start, mapping->end, err);
	}
}

static void add_functions(struct ranges *ranges, const struct allo_tracee_memory *memory,
			  const struct allo_tracee_module *module, const char *const *names,
			  struct allo_error *err)
{
	for (; *names; names++) {
		uint64_t size = 0, at = allo_tracee_symbol(memory, module, *names, &size);

		if (at)
			add_range(ranges, at, at + size, err);
	}
}

/* The range from the first to the last function of an allocator; false if there is none. */
static bool find_allocator(const struct allo_tracee_memory *memory,
			   const struct allo_tracee_module *module, struct range *range)
{
	*range = (struct range){ UINT64_MAX, 0 };
	for (const char *const *name = allocator_functions; *name; name++) {
		uint64_t size = 0, at = allo_tracee_symbol(memory, module, *name, &size);

		if (at && at < range->start)
			range->start = at;
		if (at && at + size > range->end)
			range->end = at + size;
	}
	return range->end != 0;
}

static void add_allocator(struct ranges *ranges, const struct allo_tracee_memory *memory,
			  const struct allo_tracee_module *module, bool is_libc, bool is_program,
			  struct allo_error *err)
{
	struct range range;

	if (!find_allocator(memory, module, &range))
		return;
	if (is_libc)
		add_range(ranges, range.start - BEFORE_MALLOC, range.end + AFTER_MALLOC, err);
	else if (is_program)
		add_range(ranges, range.start - AROUND_OWN, range.end + AROUND_OWN, err);
	else
		add_code_of(ranges, memory, module->path, err);
}

static bool find_known_code(struct known_code *code, const struct allo_tracee_memory *memory,
			    const struct allo_tracee_modules *modules, struct allo_error *err)
{
	for (size_t i = 0; i < modules->all.len; i++) {
		const struct allo_tracee_module *module = &modules->all.at[i];
		bool is_libc = strcmp(module->name, "libc.so.6") == 0;

		if (strncmp(module->name, "ld-linux", 8) == 0) {
			add_code_of(&code->unsafe, memory, module->path, err);
			continue;
		}
		if (is_libc) {
			add_functions(&code->unsafe, memory, module, locking_functions, err);
			add_functions(&code->waits, memory, module, waiting_functions, err);
		}
		add_allocator(&code->unsafe, memory, module, is_libc, module->name[0] == '\0', err);
	}
	return !allo_failed(err);
}

static bool is_in(const struct ranges *ranges, uint64_t address)
{
	for (size_t i = 0; i < ranges->all.len; i++) {
		if (address >= ranges->all.at[i].start && address < ranges->all.at[i].end)
			return true;
	}
	return false;
}

/* Whether a descriptor of a process is neither a file nor a folder. */
static bool is_stream(pid_t pid, uint64_t fd)
{
	char path[64], target[8];
	ssize_t len;

	snprintf(path, sizeof(path), "/proc/%d/fd/%llu", (int)pid, (unsigned long long)fd);
	len = readlink(path, target, sizeof(target));
	return len > 0 && (target[0] != '/' || (len > 5 && strncmp(target, "/dev/", 5) == 0));
}

/* Whether a thread waits in a system call that neither an allocator nor the dynamic linker makes:
 * they read files only. */
static bool is_waiting(pid_t pid, const struct user_regs_struct *registers)
{
	static const long calls[] = {
		SYS_poll,         SYS_ppoll,       SYS_select,    SYS_pselect6,
		SYS_epoll_wait,   SYS_epoll_pwait, SYS_nanosleep, SYS_clock_nanosleep,
		SYS_pause,        SYS_accept,      SYS_accept4,   SYS_recvfrom,
		SYS_recvmsg,      SYS_wait4,       SYS_waitid,    SYS_rt_sigtimedwait,
		SYS_rt_sigsuspend
	};

	for (size_t i = 0; i < sizeof(calls) / sizeof(*calls); i++) {
		if (registers->orig_rax == (uint64_t)calls[i])
			return true;
	}
	return registers->orig_rax == SYS_read && is_stream(pid, registers->rdi);
}

/* What the words of a stack point to. */
struct stack_look {
	bool has_unsafe, has_handler;
	bool is_in_wait; /* the innermost ones: a function that waits for other threads */
};

static bool look_at_stack(const struct known_code *code, struct allo_tracee_memory *memory,
			  uint64_t sp, struct stack_look *look)
{
	const struct allo_tracee_mapping *mapping = allo_tracee_mapping_of(memory, sp);
	ALLO_DEFER(allo_free_pointer) uint64_t *words = NULL;
	struct allo_error ignored = { 0 };
	size_t size;

	/* The stack of a thread that was just made. */
	if (!mapping && allo_tracee_memory_list(memory, &ignored))
		mapping = allo_tracee_mapping_of(memory, sp);
	if (!mapping)
		return false;
	sp &= ~(uint64_t)7;
	size = mapping->end - sp < STACK_MAX ? mapping->end - sp : STACK_MAX;
	words = malloc(size);
	if (!words)
		return false;
	size = allo_tracee_read_some(memory, sp, words, size);
	for (size_t i = 0; i < size / sizeof(*words); i++) {
		look->has_unsafe |= is_in(&code->unsafe, words[i]);
		look->is_in_wait |= i < INNERMOST && is_in(&code->waits, words[i]);
		look->has_handler |= allo_call_are_segments(words[i]);
	}
	return size > 0;
}

/* A handler may wait while the function that it has interrupted holds a lock. */
static bool is_safe(const struct known_code *code, struct allo_tracee_memory *memory, pid_t thread)
{
	struct user_regs_struct registers;
	struct stack_look look = { 0 };

	if (!allo_registers_read(thread, &registers) || is_in(&code->unsafe, registers.rip) ||
	    !look_at_stack(code, memory, registers.rsp, &look))
		return false;
	/* The stack of a thread that waits may have old return addresses which never go away. */
	if (is_waiting(memory->pid, &registers) ||
	    (registers.orig_rax == SYS_futex && look.is_in_wait))
		return !look.has_unsafe || !look.has_handler;
	return !look.has_unsafe && !look.has_handler;
}

/* Looks at each thread once. */
static bool look_around(struct allo_tracee_threads *threads, struct allo_tracee_memory *memory,
			const struct known_code *code, size_t *index)
{
	for (size_t i = 0; i < threads->all.len; i++) {
		if (threads->all.at[i].is_gone || !allo_tracee_interrupt(threads, i, STOP_MS))
			continue;
		if (is_safe(code, memory, threads->all.at[i].id)) {
			*index = i;
			return true;
		}
		allo_tracee_continue(threads, i);
	}
	return false;
}

static time_t now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

bool allo_safe_thread_find(struct allo_tracee_threads *threads, struct allo_tracee_memory *memory,
			   const struct allo_tracee_modules *modules, size_t *index,
			   struct allo_error *err)
{
	ALLO_DEFER(known_code_done) struct known_code code = { 0 };
	time_t start = now_s();

	if (!find_known_code(&code, memory, modules, err))
		return false;
	for (unsigned turn = 0; turn < TURNS && now_s() - start < SEARCH_S; turn++) {
		if (look_around(threads, memory, &code, index))
			return true;
		if (!allo_tracee_is_alive(threads, err))
			return false;
		allo_tracee_run_all(threads, PAUSE_MS);
	}
	allo_fail(err, ALLO_IO, ALLO_NOWHERE,
		  "all threads of process %d stay in the allocator, the dynamic linker, signal "
		  "handlers, or the kernel",
		  (int)threads->pid);
	return allo_hint(err, "try again later");
}
