/* screen.c - terminal modes, and signal handlers that restore them. */
#include "report/screen.h"

#include "report/terminal.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

/* Alternate screen, no cursor, no line wrap; and back. */
static const char enter[] = "\033[?1049h\033[?25l\033[?7l\033[2J";
static const char leave[] = "\033[?7h\033[?25h\033[?1049l";

static struct termios before;
static volatile sig_atomic_t is_open, is_resized;

/* Signals that end the program; the last ones are crashes. */
static const int ending[] = { SIGHUP,  SIGINT, SIGQUIT, SIGTERM, SIGPIPE,
			      SIGSEGV, SIGBUS, SIGILL,  SIGFPE,  SIGABRT };

static void put(const char *text, size_t len)
{
	while (len > 0) {
		ssize_t done = write(STDOUT_FILENO, text, len);

		if (done < 0 && errno != EINTR)
			return;
		if (done > 0) {
			text += done;
			len -= (size_t)done;
		}
	}
}

/* Async-signal-safe. */
static void give_back(void)
{
	if (!is_open)
		return;
	is_open = 0;
	put(leave, sizeof(leave) - 1);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

static bool take(void)
{
	struct termios raw = before;

	/* Keys arrive one by one, without echo; signal keys still work. */
	raw.c_lflag &= ~(tcflag_t)(ECHO | ICANON);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &raw) != 0)
		return false;
	is_open = 1;
	put(enter, sizeof(enter) - 1);
	return true;
}

/* Restores the default action of a signal and raises it. */
static void end_by(int number)
{
	give_back();
	signal(number, SIG_DFL);
	raise(number);
}

/* Stops the process (Ctrl-Z), and takes over the terminal again when it continues. */
static void stop(int number)
{
	int error = errno;
	sigset_t only;

	give_back();
	signal(number, SIG_DFL);
	raise(number);
	sigemptyset(&only);
	sigaddset(&only, number);
	sigprocmask(SIG_UNBLOCK, &only, NULL); /* here we stop */
	signal(number, stop);
	take();
	is_resized = 1;
	errno = error;
}

static void resize(int number)
{
	(void)number;
	is_resized = 1;
}

static void handle(int number, void (*handler)(int))
{
	struct sigaction action = { .sa_handler = handler }, was;

	/* Ignored signals stay ignored: nohup. */
	if (sigaction(number, NULL, &was) == 0 && was.sa_handler != SIG_IGN)
		sigaction(number, &action, NULL);
}

bool allo_screen_open(void)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !kind || strcmp(kind, "dumb") == 0 ||
	    tcgetattr(STDIN_FILENO, &before) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		handle(ending[i], end_by);
	handle(SIGTSTP, stop);
	handle(SIGWINCH, resize);
	atexit(give_back);
	return take();
}

void allo_screen_close(void)
{
	give_back();
}

static size_t screen_rows(void)
{
	size_t rows = allo_terminal_rows();

	return rows > 0 ? rows : 24; /* the size of old terminals, which do not report it */
}

void allo_screen_draw(struct allo_text lines)
{
	size_t rows = screen_rows(), row = 0;
	struct allo_text line;

	put("\033[H", 3);
	while (row < rows && allo_text_next(&lines, '\n', &line)) {
		put(line.data, line.len);
		put("\033[K", 3);
		if (++row < rows)
			put("\r\n", 2);
	}
	if (row < rows)
		put("\033[J", 3);
}

int allo_screen_key(int patience_ms)
{
	struct pollfd polled = { .fd = STDIN_FILENO, .events = POLLIN };
	int ready = is_resized ? -1 : poll(&polled, 1, patience_ms);
	unsigned char key;

	if (is_resized) {
		is_resized = 0;
		return ALLO_KEY_RESIZED;
	}
	if (ready <= 0)
		return ALLO_KEY_NONE;
	return read(STDIN_FILENO, &key, 1) == 1 ? key : ALLO_KEY_END;
}
