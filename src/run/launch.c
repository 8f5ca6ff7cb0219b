/* launch.c - see launch.h. */
#include "run/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Signals that we wait for instead of obeying them. */
static const int awaited[] = { SIGHUP,  SIGINT,  SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2,
			       SIGTSTP, SIGTTIN, SIGTTOU, SIGCONT, SIGCHLD };

/* How we were found, and what the program gets to see. */
struct before {
	sigset_t mask;
	struct sigaction on_child;
};

struct child {
	struct allo_launch *launch;
	bool is_stopped, has_ended;
};

void allo_launch_guard_files(void)
{
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
		/* The lowest free number is the one that is missing. */
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

/* The rest of the child's way: all is as it was before, then the program takes over. */
static void become(const struct allo_launch *launch, const struct before *before, int tell)
{
	int error;

	sigaction(SIGCHLD, &before->on_child, NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	execvpe(launch->path, launch->arguments, launch->environment);
	error = errno;
	(void)!write(tell, &error, sizeof(error));
	_exit(127);
}

/* No handler is ever installed, so that between fork and exec none can swallow a signal that is
 * meant for the program. */
static bool start(struct allo_launch *launch, const struct before *before, struct allo_error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return allo_fail_errno(err, NULL, "make a pipe");
	launch->pid = fork();
	if (launch->pid == 0)
		become(launch, before, ends[1]);
	close(ends[1]);
	if (launch->pid < 0) {
		close(ends[0]);
		return allo_fail_errno(err, NULL, "start a process");
	}
	/* It is closed without a word when the program is executed. */
	while (read(ends[0], &launch->exec_error, sizeof(launch->exec_error)) < 0 && errno == EINTR)
		;
	close(ends[0]);
	return true;
}

/* Whether a shell may be watching us, which wants to know when its job has stopped. */
static bool has_terminal(void)
{
	int fd = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

/* Stops us by the signal that has stopped the program, until somebody continues us. */
static void stop_likewise(int signal)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL }, before;
	sigset_t only;

	if (signal == SIGSTOP) {
		/* It was meant for the program alone, or we would not be here.  Without a shell
		 * that continues both, we might stay so when the program goes on. */
		if (has_terminal())
			raise(SIGSTOP);
		return;
	}
	sigemptyset(&only);
	sigaddset(&only, signal);
	sigaction(signal, &by_default, &before);
	raise(signal);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* here we stop */
	sigprocmask(SIG_BLOCK, &only, NULL);
	sigaction(signal, &before, NULL);
}

/* What has become of the program since we last looked. */
static void look(struct child *child)
{
	int status;

	while (!child->has_ended &&
	       waitpid(child->launch->pid, &status, WNOHANG | WUNTRACED | WCONTINUED) > 0) {
		if (WIFSTOPPED(status)) {
			child->is_stopped = true;
			stop_likewise(WSTOPSIG(status));
		} else if (WIFCONTINUED(status)) {
			child->is_stopped = false;
		} else {
			child->has_ended = true;
			child->launch->status = status;
		}
	}
}

static bool is_taken(const struct allo_launch *launch, int signal)
{
	return launch->look_ms > 0 && launch->takes_signal(launch->context, signal);
}

static void obey(struct child *child, const siginfo_t *info)
{
	bool is_from_process = info->si_code <= 0;

	look(child);
	if (child->has_ended || info->si_signo == SIGCHLD)
		return;
	if (info->si_signo == SIGCONT) {
		/* A shell continues the whole group: then this is not needed. */
		if (child->is_stopped)
			kill(child->launch->pid, SIGCONT);
		return;
	}
	/* The terminal's signals go to the whole group, the program included. */
	if (!is_from_process)
		return;
	if (is_taken(child->launch, info->si_signo))
		child->launch->look(child->launch->context, info->si_signo);
	else
		kill(child->launch->pid, info->si_signo);
}

/* Waits for a signal; false when it is time to look at what else there is. */
static bool wait_for_signal(const struct allo_launch *launch, const sigset_t *set, siginfo_t *info,
			    uint64_t *next_ns)
{
	uint64_t now = monotonic_ns(), left;
	struct timespec wait;

	if (launch->look_ms == 0)
		return sigwaitinfo(set, info) > 0;
	left = *next_ns > now ? *next_ns - now : 0;
	wait = (struct timespec){ (time_t)(left / 1000000000), (long)(left % 1000000000) };
	if (sigtimedwait(set, info, &wait) > 0)
		return true;
	if (errno == EAGAIN) {
		launch->look(launch->context, 0);
		*next_ns = monotonic_ns() + (uint64_t)launch->look_ms * 1000000;
	}
	return false;
}

static void wait_for_end(struct child *child, const sigset_t *set)
{
	struct timespec at_once = { 0 };
	uint64_t next_ns = 0;
	siginfo_t info;

	look(child);
	while (!child->has_ended) {
		if (wait_for_signal(child->launch, set, &info, &next_ns))
			obey(child, &info);
	}
	/* What has killed the program was sent to us, too, and has had its effect. */
	while (sigtimedwait(set, &info, &at_once) > 0)
		;
}

bool allo_launch(struct allo_launch *launch, struct allo_error *err)
{
	struct sigaction by_default = { .sa_handler = SIG_DFL };
	struct child child = { .launch = launch };
	sigset_t set = awaited_set();
	struct before before;
	uint64_t started;
	bool ok;

	/* Where it is ignored, ended children leave no status behind. */
	sigaction(SIGCHLD, &by_default, &before.on_child);
	sigprocmask(SIG_BLOCK, &set, &before.mask);
	launch->exec_error = 0;
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

	/* The core that matters is the program's own. */
	setrlimit(RLIMIT_CORE, &none);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	sigaction(signal, &by_default, NULL);
	sigemptyset(&only);
	sigaddset(&only, signal);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
	raise(signal);
}
