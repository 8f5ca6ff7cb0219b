/* input_signals.c - waits for input and signals together; see input_signals.h. */
#include "cli/input_signals.h"

#include "base/text.h"
#include "report/messages.h"

#include <errno.h>
#include <poll.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const int stopping[] = { SIGHUP, SIGINT, SIGTERM };

static bool is_pipe(const char *file)
{
	struct stat st;

	if ((strcmp(file, "-") == 0 ? fstat(STDIN_FILENO, &st) : stat(file, &st)) != 0)
		return false;
	return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode);
}

/* Signals that were ignored when we started stay ignored. */
static sigset_t stopping_set(void)
{
	struct sigaction now;
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < sizeof(stopping) / sizeof(*stopping); i++) {
		if (sigaction(stopping[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			sigaddset(&set, stopping[i]);
	}
	return set;
}

/* Whether reading continues after a signal. */
static bool goes_on(struct allo_input_signals *signals)
{
	struct signalfd_siginfo info;

	if (read(signals->fd, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL && !signals->has_waited) {
		signals->has_waited = true;
		if (!signals->is_quiet)
			allo_say_note(
				"reading to the end of the input; interrupt again to stop here");
		return true;
	}
	signals->is_stopped = true;
	return false;
}

static bool wait_for(void *context, int fd)
{
	struct allo_input_signals *signals = context;
	struct pollfd files[] = { { .fd = fd, .events = POLLIN },
				  { .fd = signals->fd, .events = POLLIN } };

	while (signals->fd >= 0) {
		if (poll(files, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return true; /* read() will report the error */
		}
		if (files[1].revents && !goes_on(signals))
			return false;
		if (files[0].revents)
			return true;
	}
	return true;
}

/* The reader of the copy may close it; our own result does not depend on that. */
static void copy(void *context, const void *data, size_t len)
{
	struct allo_input_signals *signals = context;
	const char *from = data;
	uint64_t old = signals->seen < signals->seen_before ? signals->seen_before - signals->seen
							    : 0;

	signals->seen += len;
	if (old >= len)
		return;
	from += old;
	len -= (size_t)old;
	while (signals->copies && signals->copy_error == 0 && len > 0) {
		ssize_t written = write(STDOUT_FILENO, from, len);

		if (written < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
		else if (written < 0 && errno != EINTR)
			signals->copy_error = errno;
		if (written > 0) {
			from += written;
			len -= (size_t)written;
		}
	}
}

bool allo_input_signals_begin(struct allo_input_signals *signals, char *const *files,
			      struct allo_error *err)
{
	bool has_pipe = false;
	sigset_t set = stopping_set();

	signals->fd = -1;
	signals->input = (struct allo_input_watch){ wait_for, copy, signals };
	if (signals->copies)
		signal(SIGPIPE, SIG_IGN);
	for (; *files; files++)
		has_pipe |= is_pipe(*files);
	if (!has_pipe)
		return true;
	sigprocmask(SIG_BLOCK, &set, &signals->mask_before);
	signals->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (signals->fd >= 0)
		return true;
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
	return allo_fail_errno(err, NULL, "wait for signals");
}

void allo_input_signals_again(struct allo_input_signals *signals)
{
	signals->seen_before = signals->seen;
	signals->seen = 0;
}

void allo_input_signals_end(struct allo_input_signals *signals)
{
	if (signals->fd < 0)
		return;
	close(signals->fd);
	signals->fd = -1;
	sigprocmask(SIG_SETMASK, &signals->mask_before, NULL);
}
