/* launch.c - fork, the terminal, job control, signals, and the status at the end. */
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { PATIENCE_NS = 1000000000 }; /* for a killed program to end */

/* Signals that we wait for; they do not end or stop us. */
static const int awaited[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
			       SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD };

/* The signal state that we were started with, which the program inherits. */
struct before {
	sigset_t mask;
	struct sigaction on_child;
};

struct child {
	struct allo_launch *launch;
	bool is_stopped, has_ended;
	unsigned unheeded;  /* signals that should have ended the program */
	uint64_t next_ns;   /* of launch->look */
	uint64_t own_rss;   /* our largest resident memory when we forked */
	uint64_t killed_ns; /* when we killed it; 0: we did not */
};

void allo_launch_guard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* open() returns the lowest free number: the missing one. */
		if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
			(void)!open("/dev/null", O_RDWR | O_CLOEXEC);
	}
}

static uint64_t monotonic_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static sigset_t awaited_set(void)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(awaited) / sizeof(*awaited); i++)
		sigaddset(&set, awaited[i]);
	return set;
}

/* In the child: restores the signal state and executes the program. */
static void execute(struct allo_launch *launch, const struct before *before, int error_pipe)
{
	int error;

	launch->pid = getpid();
	sigaction(SIGCHLD, &before->on_child, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	if (!launch->prepare || launch->prepare(launch))
		execvpe(launch->path, launch->arguments, launch->environment);
	error = errno;
	(void)!write(error_pipe, &error, sizeof(error));
	_exit(127);
}

/* We install no handlers: between fork and exec, one could swallow a signal for the program. */
static bool start(struct allo_launch *launch, const struct before *before, struct allo_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return allo_fail_errno(err, NULL, "make a pipe");
	launch->pid = fork();
	if (launch->pid == 0)
		execute(launch, before, ends[1]);
	close(ends[1]);
	if (launch->pid < 0) {
		close(ends[0]);
		return allo_fail_errno(err, NULL, "start a process");
	}
	/* A successful exec closes the pipe without writing to it. */
	while (read(ends[0], &launch->exec_error, sizeof(launch->exec_error)) < 0 && errno == EINTR)
		;
	close(ends[0]);
	return true;
}

/* Whether a shell may control us as a job, and needs to see that it has stopped. */
static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Stops us with the signal that stopped the program, until SIGCONT. */
static void stop_ourselves(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	sigset_t only;

	if (signal == SIGSTOP) {
		/* It was sent to the program alone, or we would be stopped already.  Without a
		 * shell that continues both, we could stay stopped when the program continues. */
		if (has_terminal())
			raise(SIGSTOP);
		return;
	}
	sigemptyset(&only);
	sigaddset(&only, signal);
	sigaction(signal, &by_default, &before);
	raise(signal);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* stops here */
	sigprocmask(SIG_BLOCK, &only, NULL);
	sigaction(signal, &before, NULL);
}

/* Before exec the child has our memory, and the kernel keeps that peak. */
static uint64_t peak_above(const struct rusage *usage, uint64_t own_rss)
{
	uint64_t peak = (uint64_t)usage->ru_maxrss * 1024;

	return peak > own_rss ? peak : 0;
}

/* Reads the changes of the program's state. */
static void read_state(struct child *child)
{
	struct rusage usage;
	int status;

	while (!child->has_ended &&
	       wait4(child->launch->pid, &status, WNOHANG | WUNTRACED | WCONTINUED, &usage) > 0) {
		if (WIFSTOPPED(status)) {
			child->is_stopped = true;
			stop_ourselves(WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			child->is_stopped = false;
		} else {
			child->has_ended = true;
			child->launch->status = status;
			child->launch->peak_rss = peak_above(&usage, child->own_rss);
		}
	}
}

static void look(struct child *child, int signal)
{
	struct allo_launch *launch = child->launch;

	child->next_ns = monotonic_ns() + (uint64_t)launch->look(launch->context, signal) * 1000000;
}

/* Stuck programs. */

/* A number of /proc/PID/status; 0 if it is missing. */
static uint64_t status_number(const char *status, const char *name, int base)
{
	const char *at = strstr(status, name);

	return at ? strtoull(at + strlen(name), NULL, base) : 0;
}

static size_t read_status(pid_t pid, char *status, size_t room)
{
	char path[64];
	size_t len = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	file = fopen(path, "re");
	if (file) {
		len = fread(status, 1, room - 1, file);
		fclose(file);
	}
	status[len] = '\0';
	return len;
}

/* Whether a signal must end the program: by default it does, and the program has not said
 * otherwise.  A program that writes a core file is ending, and a debugger decides for its program.
 */
static bool must_end_of(pid_t pid, int signal)
{
	char status[4096];
	uint64_t others;

	if (signal != SIGHUP && signal != SIGINT && signal != SIGQUIT && signal != SIGTERM)
		return false;
	if (read_status(pid, status, sizeof(status)) == 0 ||
	    status_number(status, "\nCoreDumping:", 10) != 0 ||
	    status_number(status, "\nTracerPid:", 10) != 0)
		return false;
	others = status_number(status, "\nSigBlk:", 16) | status_number(status, "\nSigIgn:", 16) |
		 status_number(status, "\nSigCgt:", 16);
	return (others >> (signal - 1) & 1) == 0;
}

/* Takes care that the user can end us.  The second signal that the program does not heed kills it.
 * A process that waits in the kernel, for a broken device, may stay even then. */
static void note_signal(struct child *child, int signal)
{
	struct allo_launch *launch = child->launch;

	if (child->is_stopped || !must_end_of(launch->pid, signal))
		return;
	if (++child->unheeded < 2)
		return;
	if (child->killed_ns == 0) {
		kill(launch->pid, SIGKILL);
		child->killed_ns = monotonic_ns();
	} else if (monotonic_ns() - child->killed_ns > PATIENCE_NS) {
		launch->is_abandoned = child->has_ended = true;
		launch->status = signal;
	}
}

static void handle_signal(struct child *child, const siginfo_t *info)
{
	bool is_from_process = info->si_code <= 0;

	read_state(child);
	if (child->has_ended || info->si_signo == SIGCHLD)
		return;
	if (info->si_signo == SIGCONT) {
		/* A shell continues the whole group; other senders do not. */
		if (child->is_stopped)
			kill(child->launch->pid, SIGCONT);
		return;
	}
	/* The terminal's signals go to the whole group, the program included. */
	if (!is_from_process) {
		note_signal(child, info->si_signo);
		return;
	}
	if (child->launch->takes_signal(child->launch->context, info->si_signo)) {
		look(child, info->si_signo);
		return;
	}
	kill(child->launch->pid, info->si_signo);
	note_signal(child, info->si_signo);
}

/* Waits for a signal; false after a call of launch->look. */
static bool wait_for_signal(struct child *child, const sigset_t *set, siginfo_t *info)
{
	uint64_t now = monotonic_ns(), left = child->next_ns > now ? child->next_ns - now : 0;
	struct timespec wait = { (time_t)(left / 1000000000), (long)(left % 1000000000) };

	if (sigtimedwait(set, info, &wait) > 0)
		return true;
	if (errno == EAGAIN)
		look(child, 0);
	return false;
}

static void wait_for_end(struct child *child, const sigset_t *set)
{
	struct timespec at_once = { 0 };
	siginfo_t info;

	read_state(child);
	while (!child->has_ended) {
		if (wait_for_signal(child, set, &info))
			handle_signal(child, &info);
	}
	/* Drop pending signals: the one that killed the program may have been sent to us as well.
	 */
	while (sigtimedwait(set, &info, &at_once) > 0)
		;
}

/* Not ru_maxrss, which exec keeps: it may be the peak of the program that started us. */
static uint64_t own_peak(void)
{
	FILE *file = fopen("/proc/self/status", "re");
	uint64_t kib = 0;
	char line[256];

	while (file && kib == 0 && fgets(line, sizeof(line), file))
		sscanf(line, "VmHWM: %" SCNu64, &kib);
	if (file)
		fclose(file);
	return kib * 1024;
}

bool allo_launch(struct allo_launch *launch, struct allo_error *err)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct child child = { .launch = launch };
	sigset_t set = awaited_set();
	struct before before;
	uint64_t started;
	bool ok;

	/* If SIGCHLD is ignored, children leave no status. */
	sigaction(SIGCHLD, &by_default, &before.on_child);
	sigprocmask(SIG_BLOCK, &set, &before.mask);
	launch->exec_error = 0;
	child.own_rss = own_peak();
	started = monotonic_ns();
	ok = start(launch, &before, err);
	if (ok)
		wait_for_end(&child, &set);
	launch->ns = monotonic_ns() - started;
	sigprocmask(SIG_SETMASK, &before.mask, NULL);
	sigaction(SIGCHLD, &before.on_child, NULL);
	return ok;
}

void allo_launch_die_of(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct rlimit none = { 0, 0 };
	sigset_t only;

	/* Only the program may dump core. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigaction(signal, &by_default, NULL);
	sigemptyset(&only);
	sigaddset(&only, signal);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	raise(signal);
}
