/* spawn_allo.c - runs `allo convert` with clone() and execve(), invisible to the program. */
#include "capture/api/spawn_allo.h"
#include "base/assert.h"
#include "capture/api/last_error.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	ARGUMENTS_MAX = 64,
	VARIABLES_MAX = 1024,
	STACK_SIZE = 64 << 10, /* bytes, of the child until execve() */
	CANNOT_RUN = 127,      /* exit status, as in a shell */
};

/* Everything the child needs, in memory that it shares with its parent until execve(). */
struct job {
	int output, errors; /* its stdout and stderr; -1: inherited */
	bool is_detached;   /* the parent does not wait */
	int status;         /* wait status of `allo` */
	sigset_t mask;
	const char *arguments[ARGUMENTS_MAX + 1];
	const char *variables[VARIABLES_MAX + 1];
	char options[sizeof(allo_settings.options)];
	char program[PATH_MAX];
	char stacks[2][STACK_SIZE] __attribute__((aligned(64)));
};

/* Preparation. */

static void add(struct job *job, const char *argument)
{
	unsigned count = 0;

	while (job->arguments[count])
		count++;
	ALLO_ASSERT(count <= ARGUMENTS_MAX);
	if (count < ARGUMENTS_MAX)
		job->arguments[count] = argument;
}

/* Splits options at spaces. */
static void add_options(struct job *job, const char *options)
{
	char *at = job->options;
	size_t len = strlen(options);

	if (len >= sizeof(job->options))
		return;
	memcpy(at, options, len + 1);
	while (*at) {
		size_t word = strcspn(at, " ");

		if (word > 0)
			add(job, at);
		at += word;
		if (*at)
			*at++ = '\0';
	}
}

bool allo_spawn_trims;

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && strcmp(text + len - end_len, end) == 0;
}

/* Filters would leave out the rows of a database. */
static bool makes_database(const struct allo_spawn_request *conversion)
{
	static const char *const ends[] = { ".db", ".sqlite", ".sqlite3" };

	if (conversion->format && conversion->format[0])
		return strcmp(conversion->format, "sqlite") == 0;
	for (size_t i = 0; conversion->made && i < sizeof(ends) / sizeof(*ends); i++) {
		if (ends_with(conversion->made, ends[i]))
			return true;
	}
	return false;
}

static bool trims(const struct allo_spawn_request *conversion)
{
	return allo_spawn_trims && !(conversion->options && conversion->options[0]) &&
	       !makes_database(conversion);
}

static void write_command(struct job *job, const struct allo_spawn_request *conversion)
{
	add(job, "allo");
	add(job, "convert");
	add(job, "--quiet");
	add(job, "--force");
	if (trims(conversion))
		add(job, "--trim-allocator");
	if (conversion->is_live)
		add(job, "--live");
	if (conversion->options)
		add_options(job, conversion->options);
	if (conversion->format && conversion->format[0]) {
		add(job, "--to");
		add(job, conversion->format);
	}
	if (conversion->made) {
		add(job, "--output");
		add(job, conversion->made);
	}
	add(job, "--");
	add(job, conversion->recording);
}

/* Whether a variable is meant for this runtime: the child must be neither recorded nor
 * configured by it. */
static bool is_ours(const char *variable)
{
	return strncmp(variable, "ALLO_", 5) == 0 || strncmp(variable, "LD_PRELOAD=", 11) == 0;
}

static void write_variables(struct job *job)
{
	unsigned count = 0;

	for (char **variable = environ; variable && *variable && count < VARIABLES_MAX;
	     variable++) {
		if (!is_ours(*variable))
			job->variables[count++] = *variable;
	}
}

/* Writes FOLDER/allo to `path`, where the folder has `len` bytes; false if that cannot be run. */
static bool is_program(char *path, const char *folder, size_t len)
{
	if (len == 0 || len + sizeof("/allo") > PATH_MAX)
		return false;
	memcpy(path, folder, len);
	memcpy(path + len, "/allo", sizeof("/allo"));
	return ALLO_SYSCALL4(SYS_faccessat, AT_FDCWD, path, X_OK, 0) == 0;
}

static bool find_program(char *path)
{
	const char *given = allo_settings_variable("ALLO_PROGRAM");
	const char *folders = allo_settings_variable("PATH");

	if (given && strlen(given) < PATH_MAX) {
		memcpy(path, given, strlen(given) + 1);
		return true;
	}
	while (folders && *folders) {
		size_t len = strcspn(folders, ":");

		if (is_program(path, folders, len))
			return true;
		folders += len + (folders[len] == ':');
	}
	return false;
}

static struct job *prepare(const struct allo_spawn_request *conversion)
{
	struct job *job = allo_settings_are_secure() ? NULL : allo_map_private(sizeof(*job));

	if (!job)
		return NULL;
	job->output = conversion->made ? -1 : conversion->output;
	job->errors = -1;
	write_command(job, conversion);
	write_variables(job);
	if (find_program(job->program))
		return job;
	allo_unmap(job, sizeof(*job));
	return NULL;
}

/* The child. */

static void move_descriptor(int fd, int to)
{
	if (fd >= 0)
		ALLO_SYSCALL3(SYS_dup3, fd, to, 0);
}

static int become_program(void *given)
{
	struct job *job = given;

	move_descriptor(job->output, 1);
	move_descriptor(job->errors, 2);
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &job->mask, NULL, _NSIG / 8);
	ALLO_SYSCALL3(SYS_execve, job->program, job->arguments, job->variables);
	ALLO_SYSCALL1(SYS_exit, CANNOT_RUN);
	return CANNOT_RUN;
}

static int wait_for(int child, int kind)
{
	int status = 0;
	long result;

	do {
		result = ALLO_SYSCALL4(SYS_wait4, child, &status, kind, NULL);
	} while (result == -EINTR);
	return result == child ? status : -1;
}

/* The intermediate process.  execve() resets a child's exit signal to SIGCHLD, which the program
 * would notice; this parent of `allo` was cloned without an exit signal and never calls execve().
 */
static int run_intermediate(void *given)
{
	struct job *job = given;
	int child = clone(become_program, job->stacks[1] + STACK_SIZE, CLONE_VM | CLONE_VFORK, job);

	if (!job->is_detached)
		job->status = child > 0 ? wait_for(child, __WALL) : -1;
	ALLO_SYSCALL1(SYS_exit, 0);
	return 0;
}

/* Starts the intermediate process.  Signals stay blocked in it: handlers belong to the program. */
static int start(struct job *job)
{
	int child, wait = job->is_detached ? CLONE_VFORK : 0;
	uint64_t all = UINT64_MAX;

	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &job->mask, _NSIG / 8);
	child = clone(run_intermediate, job->stacks[0] + STACK_SIZE, CLONE_VM | wait, job);
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &job->mask, NULL, _NSIG / 8);
	return child;
}

/* Reads the child's stderr to its end, and keeps as much as fits, without the last newline. */
static void read_errors(int fd, char *text, size_t room)
{
	size_t len = 0;
	long count;
	char rest[256];

	do {
		bool is_full = len + 1 >= room;

		count = is_full ? ALLO_SYSCALL3(SYS_read, fd, rest, sizeof(rest))
				: ALLO_SYSCALL3(SYS_read, fd, text + len, room - 1 - len);
		if (count > 0 && !is_full)
			len += (size_t)count;
	} while (count > 0 || count == -EINTR);
	while (len > 0 && text[len - 1] == '\n')
		len--;
	ALLO_ASSERT(len < room);
	text[len] = '\0';
}

bool allo_spawn_convert(const struct allo_spawn_request *conversion)
{
	struct job *job = prepare(conversion);
	char message[400] = "";
	int ends[2], child;
	bool is_done;

	if (!job && allo_settings_are_secure())
		return allo_set_error(ALLO_SECURE_ERROR);
	if (!job)
		return allo_set_error(
			"cannot find the program allo in PATH; set ALLO_PROGRAM to its path",
			"; the recording is ", conversion->recording);
	if (ALLO_SYSCALL2(SYS_pipe2, ends, O_CLOEXEC) < 0) {
		allo_unmap(job, sizeof(*job));
		return allo_set_error("cannot create a pipe");
	}
	job->errors = ends[1];
	child = start(job);
	ALLO_SYSCALL1(SYS_close, ends[1]);
	if (child > 0)
		read_errors(ends[0], message, sizeof(message));
	ALLO_SYSCALL1(SYS_close, ends[0]);
	is_done = child > 0 && wait_for(child, __WCLONE) == 0 && job->status == 0;
	if (!is_done && message[0])
		allo_set_error(message);
	else if (!is_done)
		allo_set_error("cannot run ", job->program);
	allo_unmap(job, sizeof(*job));
	return is_done;
}

void allo_spawn_convert_detached(const struct allo_spawn_request *conversion)
{
	struct job *job = prepare(conversion);
	int child;

	if (!job)
		return;
	job->is_detached = true;
	child = start(job);
	if (child > 0)
		wait_for(child, __WCLONE);
	allo_unmap(job, sizeof(*job));
}
