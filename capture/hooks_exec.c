/*
 * hooks_exec.c - replacements for the functions that execute a program.
 *
 * The environment makes the dynamic linker preload this library into the next program, too.  Some
 * programs cannot be recorded, or would fail: those are announced, and executed without our library
 * where it does harm.  All other programs are executed as the caller wants.
 *
 * A child made by vfork() may call these functions, and so may a signal handler.  So they write to
 * the stack only.
 */
#include "capture/announce.h"
#include "capture/exec_environment.h"
#include "capture/exec_target.h"
#include "capture/process.h"
#include "capture/real.h"
#include "capture/record.h"
#include "capture/sandbox.h"
#include "capture/system.h"

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

static enum allo_skip search(const char *name, char path[PATH_MAX])
{
	const char *folders = allo_settings_variable("PATH");

	for (folders = folders ? folders : "/bin:/usr/bin";; folders++) {
		size_t len = strcspn(folders, ":");

		if (is_there(folders, len, name, path))
			return allo_exec_target_check(AT_FDCWD, path);
		folders += len;
		if (!*folders)
			return ALLO_SKIP_NONE;
	}
}

/* Announces the program if it is not recorded. */
static enum allo_skip announce(enum allo_skip skip, const char *path, const char *preload)
{
	if (skip == ALLO_SKIP_NONE)
		skip = allo_exec_environment_sanitizer(preload);
	if (skip != ALLO_SKIP_NONE)
		allo_announce_skipped(skip, path);
	return skip;
}

/* Separate, so that other calls need no room for the path. */
static __attribute__((noinline)) enum allo_skip check_searched(const char *name,
							       const char *preload)
{
	char path[PATH_MAX] = "";
	enum allo_skip skip = search(name, path);

	return announce(skip, path[0] ? path : name, preload);
}

static enum allo_skip check(const struct call *call, const char *preload)
{
	if (call->is_searched && !strchr(call->file, '/'))
		return check_searched(call->file, preload);
	if (!call->file[0])
		return announce(allo_exec_target_check_fd(call->fd), "a file without a name",
				preload);
	return announce(allo_exec_target_check(call->fd, call->file), call->file, preload);
}

/* Executing it. */

static __attribute__((noinline)) int run_without_library(const struct call *call,
							 const char *preload)
{
	struct call changed = *call;
	size_t count = allo_exec_environment_count(call->environment);
	char **environment = __builtin_alloca((count + 1) * sizeof(*environment));

	allo_exec_environment_copy(call->environment, environment,
				   __builtin_alloca(sizeof("LD_PRELOAD=") + strlen(preload)));
	changed.environment = environment;
	return changed.run(&changed);
}

static int execute(const struct call *call)
{
	const char *preload = allo_exec_environment_preload(call->environment);
	enum allo_skip skip = ALLO_SKIP_NONE;

	allo_process_init(); /* finds the real functions, if a constructor comes here first */
	/* The program would inherit the sandbox, and our library would make system calls in it. */
	if (preload && allo_is_confined) {
		allo_sandbox_count_child();
		return run_without_library(call, preload);
	}
	/* A preloaded runtime comes after the linked one, and checks the program. */
	if (preload && call->file && !allo_settings.is_for_another)
		skip = check(call, preload);
	return allo_skip_is_harmless(skip) ? call->run(call) : run_without_library(call, preload);
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

static int run_execveat(const struct call *call)
{
	return allo_real.execveat(call->fd, call->file, call->arguments, call->environment,
				  call->flags);
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
				       .file = file,
				       .is_searched = true,
				       .fd = AT_FDCWD,
				       .arguments = arguments,
				       .environment = environment,
				       .pid = pid,
				       .actions = actions,
				       .attributes = attributes });
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
