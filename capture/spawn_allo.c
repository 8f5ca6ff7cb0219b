/* spawn_allo.c - see spawn_allo.h. */
#include "capture/spawn_allo.h"
#include "capture/last_error.h"
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
	STACK_SIZE = 64 << 10, /* of the child, until it is another program */
	CANNOT_RUN = 127,
};

/* All that the child needs; it lies in memory that it shares with its parent until it is another
 * program. */
struct asking {
	int output, complaints; /* -1: as they are */
	bool is_later;
	int status; /* how it ended */
	sigset_t mask;
	const char *arguments[ARGUMENTS_MAX + 1];
	const char *variables[VARIABLES_MAX + 1];
	char options[sizeof(allo_settings.options)];
	char program[PATH_MAX];
	char stacks[2][STACK_SIZE] __attribute__((aligned(64)));
};

/* Before. */

static void add(struct asking *asking, const char *argument)
{
	unsigned count = 0;

	while (asking->arguments[count])
		count++;
	if (count < ARGUMENTS_MAX)
		asking->arguments[count] = argument;
}

static void add_options(struct asking *asking, const char *options)
{
	char *at = asking->options;
	size_t len = strlen(options);

	if (len >= sizeof(asking->options))
		return;
	memcpy(at, options, len + 1);
	while (*at) {
		size_t word = strcspn(at, " ");

		if (word > 0)
			add(asking, at);
		at += word;
		if (*at)
			*at++ = '\0';
	}
}

static void write_command(struct asking *asking, const struct allo_conversion *request)
{
	add(asking, "allo");
	add(asking, "convert");
	add(asking, "--quiet");
	add(asking, "--force");
	if (request->options)
		add_options(asking, request->options);
	if (request->format && request->format[0]) {
		add(asking, "--to");
		add(asking, request->format);
	}
	if (request->made) {
		add(asking, "--output");
		add(asking, request->made);
	}
	add(asking, "--");
	add(asking, request->recording);
}

/* It is not to be recorded, and not to be told what we are. */
static bool is_ours(const char *variable)
{
	return strncmp(variable, "ALLO_", 5) == 0 || strncmp(variable, "LD_PRELOAD=", 11) == 0;
}

static void write_variables(struct asking *asking)
{
	unsigned count = 0;

	for (char **variable = environ; variable && *variable && count < VARIABLES_MAX;
	     variable++) {
		if (!is_ours(*variable))
			asking->variables[count++] = *variable;
	}
}

/* Joins a folder of PATH, up to `len`, and the program's name. */
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

static struct asking *prepare(const struct allo_conversion *request)
{
	struct asking *asking = allo_map_private(sizeof(*asking));

	if (!asking)
		return NULL;
	asking->output = request->made ? -1 : request->output;
	asking->complaints = -1;
	write_command(asking, request);
	write_variables(asking);
	if (find_program(asking->program))
		return asking;
	allo_unmap(asking, sizeof(*asking));
	return NULL;
}

/* The child. */

static void move(int fd, int to)
{
	if (fd >= 0)
		ALLO_SYSCALL3(SYS_dup3, fd, to, 0);
}

static int become_program(void *given)
{
	struct asking *asking = given;

	move(asking->output, 1);
	move(asking->complaints, 2);
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &asking->mask, NULL, _NSIG / 8);
	ALLO_SYSCALL3(SYS_execve, asking->program, asking->arguments, asking->variables);
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

/* Between us and the program: what becomes another program ends with a signal for its parent, who
 * may wait for any child of its own.  This one does neither. */
static int stand_between(void *given)
{
	struct asking *asking = given;
	int child = clone(become_program, asking->stacks[1] + STACK_SIZE, CLONE_VM | CLONE_VFORK,
			  asking);

	if (!asking->is_later)
		asking->status = child > 0 ? wait_for(child, __WALL) : -1;
	ALLO_SYSCALL1(SYS_exit, 0);
	return 0;
}

/* Signals are for us alone. */
static int begin(struct asking *asking)
{
	int child, wait = asking->is_later ? CLONE_VFORK : 0;
	uint64_t all = UINT64_MAX;

	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &asking->mask, _NSIG / 8);
	child = clone(stand_between, asking->stacks[0] + STACK_SIZE, CLONE_VM | wait, asking);
	ALLO_SYSCALL4(SYS_rt_sigprocmask, SIG_SETMASK, &asking->mask, NULL, _NSIG / 8);
	return child;
}

/* What it says on its standard error, as one line. */
static void hear(int fd, char *text, size_t room)
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
	text[len] = '\0';
}

bool allo_spawn_convert(const struct allo_conversion *request)
{
	struct asking *asking = prepare(request);
	char complaint[400] = "";
	int ends[2], child;
	bool is_done;

	if (!asking)
		return allo_set_error("the program allo is not in PATH; ALLO_PROGRAM can name it",
				      "; what was recorded is in ", request->recording);
	if (ALLO_SYSCALL2(SYS_pipe2, ends, O_CLOEXEC) < 0) {
		allo_unmap(asking, sizeof(*asking));
		return allo_set_error("there is no pipe to be had");
	}
	asking->complaints = ends[1];
	child = begin(asking);
	ALLO_SYSCALL1(SYS_close, ends[1]);
	if (child > 0)
		hear(ends[0], complaint, sizeof(complaint));
	ALLO_SYSCALL1(SYS_close, ends[0]);
	is_done = child > 0 && wait_for(child, __WCLONE) == 0 && asking->status == 0;
	if (!is_done && complaint[0])
		allo_set_error(complaint);
	else if (!is_done)
		allo_set_error("cannot run ", asking->program);
	allo_unmap(asking, sizeof(*asking));
	return is_done;
}

void allo_spawn_convert_detached(const struct allo_conversion *request)
{
	struct asking *asking = prepare(request);
	int child;

	if (!asking)
		return;
	asking->is_later = true;
	child = begin(asking);
	if (child > 0)
		wait_for(child, __WCLONE);
	allo_unmap(asking, sizeof(*asking));
}
