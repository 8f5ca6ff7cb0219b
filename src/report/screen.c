/* screen.c - terminal modes, and signal handlers that restore them. */
#include "report/screen.h"

#include "base/defer.h"
#include "base/io/output.h"
#include "base/utf8.h"
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
static sigset_t while_waiting; /* the signals that are blocked otherwise are not in it */

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

/* The process continues after SIGSTOP, which cannot be handled: the shell has changed the terminal.
 */
static void resume(int number)
{
	int error = errno;

	(void)number;
	if (is_open)
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

/* These signals draw the screen again.  They are handled while the program waits for a key: no
 * change is missed, and no line is torn. */
static void handle_while_waiting(void)
{
	sigset_t drawing;

	sigemptyset(&drawing);
	sigaddset(&drawing, SIGTSTP);
	sigaddset(&drawing, SIGCONT);
	sigaddset(&drawing, SIGWINCH);
	sigprocmask(SIG_BLOCK, &drawing, &while_waiting);
	handle(SIGTSTP, stop);
	handle(SIGCONT, resume);
	handle(SIGWINCH, resize);
}

bool allo_screen_open(void)
{
	const char *kind = getenv("TERM");

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) || !kind || strcmp(kind, "dumb") == 0 ||
	    tcgetattr(STDIN_FILENO, &before) != 0)
		return false;
	for (size_t i = 0; i < sizeof(ending) / sizeof(*ending); i++)
		handle(ending[i], end_by);
	handle_while_waiting();
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

/* Inverts a whole line: spaces first, then the text over them.  Its own styles end with a reset,
 * which ends the inversion, too. */
static void put_highlighted(struct allo_output *out, struct allo_text line)
{
	static const char reset[] = "\033[0m", inverse[] = "\033[7m";
	size_t at;

	allo_output_printf(out, "%s%*s\r", inverse, (int)allo_terminal_columns(), "");
	while ((at = allo_text_find(line, ALLO_TEXT(reset))) != (size_t)-1) {
		allo_output_bytes(out, line.data, at);
		allo_output_string(out, reset);
		allo_output_string(out, inverse);
		line = allo_text_from(line, at + sizeof(reset) - 1);
	}
	allo_output_text(out, line);
	allo_output_string(out, reset);
}

void allo_screen_draw(struct allo_text lines, size_t highlighted)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	size_t rows = screen_rows(), row = 0;
	struct allo_error err = { 0 };
	struct allo_text line;

	if (!allo_output_open_fd(&out, STDOUT_FILENO, "the terminal",
				 &(struct allo_output_options){ 0 }, &err))
		return;
	allo_output_string(&out, "\033[H");
	for (; row < rows && allo_text_next(&lines, '\n', &line); row++) {
		/* Erasing comes first: after a full line it would erase the last character. */
		allo_output_string(&out, row > 0 ? "\r\n\033[K" : "\033[K");
		if (row == highlighted)
			put_highlighted(&out, line);
		else
			allo_output_text(&out, line);
	}
	if (row < rows)
		allo_output_string(&out, "\r\n\033[J");
	allo_output_finish(&out, &err);
}

/* Keys. */

static char pending[64]; /* bytes that are not decoded yet */
static size_t pending_len;

static void drop_pending(struct allo_text rest)
{
	memmove(pending, rest.data, rest.len);
	pending_len = rest.len;
}

/* False after the time, or at a signal. */
static bool wait_for_bytes(int patience_ms)
{
	struct pollfd polled = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec patience = { patience_ms / 1000, patience_ms % 1000 * 1000000L };

	return ppoll(&polled, 1, patience_ms < 0 ? NULL : &patience, &while_waiting) > 0;
}

/* False if the terminal is gone. */
static bool read_bytes(void)
{
	ssize_t len = read(STDIN_FILENO, pending + pending_len, sizeof(pending) - pending_len);

	pending_len += len > 0 ? (size_t)len : 0;
	return len > 0 || (len < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Decodes a key.  If the rest of its bytes does not follow at once, its first byte is a key. */
static int decode(void)
{
	enum { TOGETHER_MS = 50 }; /* bytes of one key come together, even from far away */
	struct allo_text bytes = { pending, pending_len };
	int key;

	while (!allo_key_take(&bytes, &key)) {
		if (pending_len < sizeof(pending) && wait_for_bytes(TOGETHER_MS) && read_bytes()) {
			bytes.len = pending_len;
			continue;
		}
		key = (unsigned char)pending[0];
		bytes = allo_text_from(bytes, 1);
		break;
	}
	drop_pending(bytes);
	return key;
}

int allo_screen_key(int patience_ms)
{
	if (pending_len == 0 && !is_resized && wait_for_bytes(patience_ms) && !read_bytes())
		return ALLO_KEY_GONE;
	if (is_resized) {
		is_resized = 0;
		return ALLO_KEY_RESIZED;
	}
	return pending_len > 0 ? decode() : ALLO_KEY_NONE;
}
