/* terminal.c - asks the environment and the kernel. */
#include "report/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static bool is_set(const char *variable)
{
	const char *value = getenv(variable);

	return value && value[0] != '\0';
}

bool allo_wants_color(enum allo_color option, int fd)
{
	const char *term = getenv("TERM");

	if (option != ALLO_COLOR_AUTO)
		return option == ALLO_COLOR_ALWAYS;
	if (is_set("NO_COLOR"))
		return false;
	if (is_set("FORCE_COLOR") || is_set("CLICOLOR_FORCE"))
		return true;
	return isatty(fd) && !(term && strcmp(term, "dumb") == 0);
}

bool allo_terminal_is_output(void)
{
	return isatty(STDOUT_FILENO);
}

static size_t columns_of(int fd)
{
	const char *columns = getenv("COLUMNS");
	struct winsize size;

	if (columns && atoi(columns) >= 20)
		return (size_t)atoi(columns);
	if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col >= 20)
		return size.ws_col;
	return 100;
}

size_t allo_terminal_columns(void)
{
	return columns_of(STDOUT_FILENO);
}

size_t allo_terminal_error_columns(void)
{
	return isatty(STDERR_FILENO) ? columns_of(STDERR_FILENO) : 0;
}

size_t allo_terminal_rows(void)
{
	struct winsize size;

	return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

bool allo_terminal_is_utf8(void)
{
	static const char *const variables[] = { "LC_ALL", "LC_CTYPE", "LANG" };

	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++) {
		if (is_set(variables[i]))
			return strcasestr(getenv(variables[i]), "UTF-8") ||
			       strcasestr(getenv(variables[i]), "utf8");
	}
	return false;
}

struct allo_style allo_style_of(bool color)
{
	if (!color)
		return (struct allo_style){ "", "", "", "", "", "", "" };
	return (struct allo_style){ "\033[1m",  "\033[2m",    "\033[31m", "\033[32m",
				    "\033[33m", "\033[1;31m", "\033[0m" };
}
