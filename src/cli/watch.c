/* watch.c - see watch.h. */
#include "cli/watch.h"

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

/* Those that somebody wants us to ignore stay ignored. */
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

/* Whether the input goes on although there was a signal. */
static bool goes_on(struct allo_watch *watch)
{
	struct signalfd_siginfo info;

	if (read(watch->fd, &info, sizeof(info)) != sizeof(info))
		return true;
	if (info.ssi_signo == SIGINT && info.ssi_code == SI_KERNEL && !watch->has_waited) {
		watch->has_waited = true;
		if (!watch->is_quiet)
			allo_say_note(
				"the input is read to its end; another interrupt ends it here");
		return true;
	}
	watch->is_stopped = true;
	return false;
}

static bool wait_for(void *context, int fd)
{
	struct allo_watch *watch = context;
	struct pollfd files[] = { { .fd = fd, .events = POLLIN },
				  { .fd = watch->fd, .events = POLLIN } };

	while (watch->fd >= 0) {
		if (poll(files, 2, -1) < 0) {
			if (errno == EINTR)
				continue;
			return true; /* reading says what is wrong */
		}
		if (files[1].revents && !goes_on(watch))
			return false;
		if (files[0].revents)
			return true;
	}
	return true;
}

/* Who reads the copy may leave: what we make of the input is not for them. */
static void copy(void *context, const void *data, size_t len)
{
	struct allo_watch *watch = context;
	const char *from = data;
	uint64_t old = watch->seen < watch->seen_before ? watch->seen_before - watch->seen : 0;

	watch->seen += len;
	if (old >= len)
		return;
	from += old;
	len -= (size_t)old;
	while (watch->copies && watch->copy_error == 0 && len > 0) {
		ssize_t written = write(STDOUT_FILENO, from, len);

		if (written < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = STDOUT_FILENO, .events = POLLOUT }, 1, -1);
		else if (written < 0 && errno != EINTR)
			watch->copy_error = errno;
		if (written > 0) {
			from += written;
			len -= (size_t)written;
		}
	}
}

bool allo_watch_begin(struct allo_watch *watch, char *const *files, struct allo_error *err)
{
	bool has_pipe = false;
	sigset_t set = stopping_set();

	watch->fd = -1;
	watch->input = (struct allo_input_watch){ wait_for, copy, watch };
	if (watch->copies)
		signal(SIGPIPE, SIG_IGN);
	for (; *files; files++)
		has_pipe |= is_pipe(*files);
	if (!has_pipe)
		return true;
	sigprocmask(SIG_BLOCK, &set, &watch->mask_before);
	watch->fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (watch->fd >= 0)
		return true;
	sigprocmask(SIG_SETMASK, &watch->mask_before, NULL);
	return allo_fail_errno(err, NULL, "wait for signals");
}

void allo_watch_again(struct allo_watch *watch)
{
	watch->seen_before = watch->seen;
	watch->seen = 0;
}

void allo_watch_end(struct allo_watch *watch)
{
	if (watch->fd < 0)
		return;
	close(watch->fd);
	watch->fd = -1;
	sigprocmask(SIG_SETMASK, &watch->mask_before, NULL);
}
