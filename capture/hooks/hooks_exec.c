/*
 * hooks_exec.c - replacements for the functions that execute a program.
 *
 * The environment makes the dynamic linker preload this library into the next program, too.  Some
 * programs cannot be recorded, or would fail: those are announced, and executed without our library
 * where it does harm.  All other programs are executed as the caller wants.  Calls that do not come
 * through libc are left to relaunch.c.
 *
 * A child made by vfork() may call these functions, and so may a signal handler.  So they write to
 * the stack only.
 */
#include "capture/file/announce.h"
#include "capture/file/record.h"
#include "capture/hooks/exec_call.h"
#include "capture/hooks/exec_environment.h"
#include "capture/hooks/exec_target.h"
#include "capture/hooks/real.h"
#include "capture/hooks/sandbox.h"
#include "capture/process.h"
#include "capture/system.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

/* A call of one of these functions. */
struct call {
	int (*run)(const struct call *call);
	const char *file;
	bool is_searched; /* in PATH */
	bool in_child;    /* not in this process */
	int fd;           /* of the file, or of a folder; AT_FDCWD: none */
	char *const *arguments, *const *environment;
	int flags; /* of execveat() */
	pid_t *pid;
	const posix_spawn_file_actions_t *actions;
	const posix_spawnattr_t *attributes;
};

/* Finding the file, as the real functions will. */

/* Writes FOLDER/NAME; an empty folder is the current one.  False if that cannot be executed. */
static bool is_there(const char *folder, size_t len, const char *name, char path[PATH_MAX])
{
	size_t name_len = strlen(name);

	if (len + 1 + name_len >= PATH_MAX)
		return false;
	memcpy(path, folder, len);
	if (len > 0)
		path[len++] = '/';
	memcpy(path + len, name, name_len + 1);
	return ALLO_SYSCALL4(SYS_faccessat, AT_FDCWD, path, X_OK, 0) == 0;
}

static enum allo_skip search(const char *name, char path[PATH_MAX], enum allo_libc *libc)
{
	const char *folders = allo_settings_variable("PATH");

	for (folders = folders ? folders : "/bin:/usr/bin";; folders++) {
		size_t len = strcspn(folders, ":");

		if (is_there(folders, len, name, path))
			return allo_exec_target_check(AT_FDCWD, path, libc);
		folders += len;
		if (!*folders)
			return ALLO_SKIP_NONE;
	}
}

/* How a call is executed. */
struct decision {
	enum allo_skip skip;
	enum allo_libc libc; /* whose runtime to preload */
};

static __attribute__((noinline)) bool has_runtime(const char *preload, enum allo_libc libc)
{
	char path[PATH_MAX];

	return allo_exec_environment_other(preload, libc, path);
}

/* Announces a program that can be executed, and whether it is not recorded.  Callers may try each
 * folder of PATH.  `preload` is NULL if the program gets another environment. */
static void announce(const struct call *call, const char *path, const char *preload,
		     struct decision *decision)
{
	enum allo_skip skip = decision->skip;
	bool is_open = !call->file[0];
	bool can_run = is_open || ALLO_SYSCALL4(SYS_faccessat, call->fd, path, X_OK, 0) == 0;

	if (skip == ALLO_SKIP_LIBC && preload && has_runtime(preload, decision->libc))
		skip = ALLO_SKIP_NONE;
	if (skip == ALLO_SKIP_NONE && preload)
		skip = allo_exec_environment_sanitizer(preload);
	else if (skip == ALLO_SKIP_NONE && can_run)
		skip = ALLO_SKIP_PRELOAD;
	if (can_run && preload)
		allo_announce_executed(path, call->in_child);
	if (skip != ALLO_SKIP_NONE)
		allo_announce_skipped(skip, path);
	decision->skip = skip;
}

/* Separate, so that other calls need no room for the path. */
static __attribute__((noinline)) void check_searched(const struct call *call, const char *preload,
						     struct decision *decision)
{
	char path[PATH_MAX] = "";

	decision->skip = search(call->file, path, &decision->libc);
	announce(call, path[0] ? path : call->file, preload, decision);
}

static void check(const struct call *call, const char *preload, struct decision *decision)
{
	const char *path = call->file;

	if (call->is_searched && !strchr(call->file, '/')) {
		check_searched(call, preload, decision);
		return;
	}
	if (call->file[0]) {
		decision->skip = allo_exec_target_check(call->fd, path, &decision->libc);
	} else {
		decision->skip = allo_exec_target_check_fd(call->fd, &decision->libc);
		path = "a file without a name";
	}
	announce(call, path, preload, decision);
}

/* Executing it. */

/* Executes the program with another library than ours; "": none. */
static __attribute__((noinline)) int run_with(const struct call *call, const char *preload,
					      const char *other)
{
	struct call changed = *call;
	size_t count = allo_exec_environment_count(call->environment);
	char **environment = __builtin_alloca((count + 1) * sizeof(*environment));

	allo_exec_environment_copy(
		call->environment, environment, other,
		__builtin_alloca(sizeof("LD_PRELOAD=") + strlen(preload) + strlen(other)));
	changed.environment = environment;
	return changed.run(&changed);
}

static __attribute__((noinline)) int run_with_runtime(const struct call *call, const char *preload,
						      enum allo_libc libc)
{
	char other[PATH_MAX];

	return run_with(call, preload,
			allo_exec_environment_other(preload, libc, other) ? other : "");
}

/* Whether `allo run` expects a recording of each program that is executed. */
static bool are_children_expected(void)
{
	return allo_settings.list[0] && !allo_settings.no_follow && !allo_is_confined;
}

static int execute(const struct call *call)
{
	struct decision decision = { ALLO_SKIP_NONE, ALLO_LIBC_OWN };
	const char *preload;

	allo_process_init(); /* finds the real functions, if a constructor comes here first */
	preload = allo_exec_environment_preload(call->environment);
	/* The program would inherit the sandbox, and our library would make system calls in it. */
	if (preload && allo_is_confined) {
		allo_sandbox_count_child();
		return run_with(call, preload, "");
	}
	/* A preloaded runtime comes after the linked one, and checks the program. */
	if ((preload || are_children_expected()) && call->file && !allo_settings.is_for_another)
		check(call, preload, &decision);
	if (!preload)
		return call->run(call);
	if (!allo_skip_is_harmless(decision.skip))
		return run_with(call, preload, "");
	return decision.libc == ALLO_LIBC_OWN ? call->run(call)
					      : run_with_runtime(call, preload, decision.libc);
}

static int run_execve(const struct call *call)
{
	return allo_real.execve(call->file, call->arguments, call->environment);
}

static int run_execvpe(const struct call *call)
{
	return allo_real.execvpe(call->file, call->arguments, call->environment);
}

static int run_fexecve(const struct call *call)
{
	return allo_real.fexecve(call->fd, call->arguments, call->environment);
}

static int failed(long result)
{
	errno = (int)-result;
	return -1;
}

/* Not through libc: the function there may be another library's, which calls syscall(). */
static int run_execve_call(const struct call *call)
{
	return failed(allo_program_syscall(SYS_execve, (long)call->file, (long)call->arguments,
					   (long)call->environment, 0, 0, 0));
}

static int run_execveat_call(const struct call *call)
{
	return failed(allo_program_syscall(SYS_execveat, call->fd, (long)call->file,
					   (long)call->arguments, (long)call->environment,
					   call->flags, 0));
}

static int run_execveat(const struct call *call)
{
	/* glibc has it since 2.34. */
	return allo_real.execveat ? allo_real.execveat(call->fd, call->file, call->arguments,
						       call->environment, call->flags)
				  : run_execveat_call(call);
}

static int run_spawn(const struct call *call)
{
	return allo_real.posix_spawn(call->pid, call->file, call->actions, call->attributes,
				     call->arguments, call->environment);
}

static int run_spawnp(const struct call *call)
{
	return allo_real.posix_spawnp(call->pid, call->file, call->actions, call->attributes,
				      call->arguments, call->environment);
}

/* The hooks. */

static int exec_path(const char *path, char *const *arguments, char *const *environment)
{
	return execute(&(struct call){ .run = run_execve,
				       .file = path,
				       .fd = AT_FDCWD,
				       .arguments = arguments,
				       .environment = environment });
}

static int exec_search(const char *file, char *const *arguments, char *const *environment)
{
	return execute(&(struct call){ .run = run_execvpe,
				       .file = file,
				       .is_searched = true,
				       .fd = AT_FDCWD,
				       .arguments = arguments,
				       .environment = environment });
}

ALLO_HOOK int execve(const char *path, char *const arguments[], char *const environment[])
{
	return exec_path(path, arguments, environment);
}

ALLO_HOOK int execv(const char *path, char *const arguments[])
{
	return exec_path(path, arguments, environ);
}

ALLO_HOOK int execvp(const char *file, char *const arguments[])
{
	return exec_search(file, arguments, environ);
}

ALLO_HOOK int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return exec_search(file, arguments, environment);
}

ALLO_HOOK int fexecve(int fd, char *const arguments[], char *const environment[])
{
	return execute(&(struct call){ .run = run_fexecve,
				       .file = "",
				       .fd = fd,
				       .arguments = arguments,
				       .environment = environment });
}

ALLO_HOOK int execveat(int fd, const char *path, char *const arguments[], char *const environment[],
		       int flags)
{
	return execute(&(struct call){ .run = run_execveat,
				       .file = path,
				       .fd = fd,
				       .arguments = arguments,
				       .environment = environment,
				       .flags = flags });
}

ALLO_HOOK int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
			  const posix_spawnattr_t *attributes, char *const arguments[],
			  char *const environment[])
{
	return execute(&(struct call){ .run = run_spawn,
				       .in_child = true,
				       .file = path,
				       .fd = AT_FDCWD,
				       .arguments = arguments,
				       .environment = environment,
				       .pid = pid,
				       .actions = actions,
				       .attributes = attributes });
}

ALLO_HOOK int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			   const posix_spawnattr_t *attributes, char *const arguments[],
			   char *const environment[])
{
	return execute(&(struct call){ .run = run_spawnp,
				       .in_child = true,
				       .file = file,
				       .is_searched = true,
				       .fd = AT_FDCWD,
				       .arguments = arguments,
				       .environment = environment,
				       .pid = pid,
				       .actions = actions,
				       .attributes = attributes });
}

int allo_exec_call(long number, long a, long b, long c, long d, long e)
{
	if (number == SYS_execve)
		return execute(&(struct call){ .run = run_execve_call,
					       .file = (const char *)a,
					       .fd = AT_FDCWD,
					       .arguments = (char *const *)b,
					       .environment = (char *const *)c });
	return execute(&(struct call){ .run = run_execveat_call,
				       .file = (const char *)b,
				       .fd = (int)a,
				       .arguments = (char *const *)c,
				       .environment = (char *const *)d,
				       .flags = (int)e });
}

/* Arguments that end with NULL: the bytes of an array of them, and the array itself. */
static size_t arguments_size(const char *first, va_list *more)
{
	size_t count = 1;
	va_list rest;

	va_copy(rest, *more);
	for (; first; first = va_arg(rest, const char *))
		count++;
	va_end(rest);
	return count * sizeof(char *);
}

static char **copy_arguments(const char *first, va_list *more, void *room)
{
	char **arguments = room;
	size_t count = 0;

	for (; first; first = va_arg(*more, const char *))
		arguments[count++] = (char *)first;
	arguments[count] = NULL;
	return arguments;
}

ALLO_HOOK int execl(const char *path, const char *first, ...)
{
	char **arguments;
	va_list more;

	va_start(more, first);
	arguments = copy_arguments(first, &more, __builtin_alloca(arguments_size(first, &more)));
	va_end(more);
	return exec_path(path, arguments, environ);
}

ALLO_HOOK int execlp(const char *file, const char *first, ...)
{
	char **arguments;
	va_list more;

	va_start(more, first);
	arguments = copy_arguments(first, &more, __builtin_alloca(arguments_size(first, &more)));
	va_end(more);
	return exec_search(file, arguments, environ);
}

ALLO_HOOK int execle(const char *path, const char *first, ...)
{
	char **arguments, *const *environment;
	va_list more;

	va_start(more, first);
	arguments = copy_arguments(first, &more, __builtin_alloca(arguments_size(first, &more)));
	environment = va_arg(more, char *const *);
	va_end(more);
	return exec_path(path, arguments, environment);
}
