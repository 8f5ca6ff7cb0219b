/* pager.c - measures the output and runs the pager. */
#include "report/pager.h"

#include "base/defer.h"
#include "base/utf8.h"
#include "report/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The pager; NULL: none. */
static const char *pager_command(void)
{
	const char *pager = getenv("PAGER"), *term = getenv("TERM");

	if (!pager)
		pager = "less -FRX";
	if (pager[0] == '\0' || strcmp(pager, "cat") == 0 || (term && strcmp(term, "dumb") == 0))
		return NULL;
	return pager;
}

bool allo_pager_open(struct allo_output *out, bool is_wanted, struct allo_error *err)
{
	struct allo_output_options plain = { 0 };

	if (is_wanted && pager_command() && allo_terminal_is_output() && allo_terminal_rows() > 0)
		return allo_output_open_memory(out, &plain, err);
	return allo_output_open(out, "-", &plain, err);
}

/* Bytes of the escape sequence at the front of a text, which takes no columns, or 0. */
static size_t escape_at(struct allo_text text)
{
	size_t len = 2;

	if (text.len < 2 || text.data[0] != '\033' || text.data[1] != '[')
		return 0;
	while (len < text.len && !(text.data[len] >= '@' && text.data[len] <= '~'))
		len++;
	return len < text.len ? len + 1 : len;
}

static size_t line_columns(struct allo_text line)
{
	size_t columns = 0;

	while (line.len > 0) {
		size_t escape = escape_at(line), plain = 1;

		if (escape > 0) {
			line = allo_text_from(line, escape);
			continue;
		}
		while (plain < line.len && line.data[plain] != '\033')
			plain++;
		columns += allo_utf8_columns((struct allo_text){ line.data, plain });
		line = allo_text_from(line, plain);
	}
	return columns;
}

/* Whether a text fits, with a row to spare for the prompt. */
static bool fits_screen(struct allo_text text)
{
	size_t rows = allo_terminal_rows(), columns = allo_terminal_columns(), used = 1;
	struct allo_text line;

	while (text.len > 0 && used <= rows && allo_text_next(&text, '\n', &line)) {
		size_t width = line_columns(line);

		used += width == 0 ? 1 : (width + columns - 1) / columns;
	}
	return used <= rows;
}

static bool write_all(int fd, struct allo_text text)
{
	while (text.len > 0) {
		ssize_t wrote = write(fd, text.data, text.len);

		if (wrote < 0)
			return false;
		text = allo_text_from(text, (size_t)wrote);
	}
	return true;
}

/* Starts a command that reads from *to. */
static bool start(const char *command, pid_t *child, int *to)
{
	char shell[] = "sh", option[] = "-c", *words = strdup(command);
	char *arguments[] = { shell, option, words, NULL };
	posix_spawn_file_actions_t actions;
	bool ok = false;
	int ends[2];

	if (!words || pipe2(ends, O_CLOEXEC) != 0) {
		free(words);
		return false;
	}
	/* less shows colours with -R; a LESS that the user has set stays. */
	setenv("LESS", "FRX", false);
	if (posix_spawn_file_actions_init(&actions) == 0) {
		ok = posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO) == 0 &&
		     posix_spawnp(child, "sh", &actions, NULL, arguments, environ) == 0;
		posix_spawn_file_actions_destroy(&actions);
	}
	close(ends[0]);
	*to = ends[1];
	if (!ok)
		close(ends[1]);
	free(words);
	return ok;
}

/* False when the pager could not be run and nothing has been shown. */
static bool show_pages(const char *command, struct allo_text text)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, pipe_before, interrupt_before;
	int status = 0, to;
	pid_t child;

	if (!start(command, &child, &to))
		return false;
	/* To quit the pager early is not a failure, and Ctrl-C is for the pager alone. */
	sigaction(SIGPIPE, &ignore, &pipe_before);
	sigaction(SIGINT, &ignore, &interrupt_before);
	write_all(to, text);
	close(to);
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	sigaction(SIGPIPE, &pipe_before, NULL);
	sigaction(SIGINT, &interrupt_before, NULL);
	/* A shell exits with these if the program does not exist or cannot run. */
	return !(WIFEXITED(status) && (WEXITSTATUS(status) == 126 || WEXITSTATUS(status) == 127));
}

bool allo_pager_finish(struct allo_output *out, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output screen = { .fd = -1 };
	struct allo_output_options plain = { 0 };
	bool is_collected = out->fd < 0;
	struct allo_text text;

	if (!allo_output_finish(out, err) || !is_collected)
		return !allo_failed(err);
	text = allo_output_memory(out);
	if (!fits_screen(text) && show_pages(pager_command(), text))
		return true;
	if (!allo_output_open(&screen, "-", &plain, err))
		return false;
	allo_output_text(&screen, text);
	return allo_output_finish(&screen, err);
}
