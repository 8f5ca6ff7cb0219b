/*
 * terminal.h - properties of the user's terminal.
 */
#ifndef ALLO_REPORT_TERMINAL_H
#define ALLO_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum allo_color { ALLO_COLOR_AUTO, ALLO_COLOR_ALWAYS, ALLO_COLOR_NEVER };

/* Whether output to `fd` has colours: by the option, else by NO_COLOR, else by FORCE_COLOR and
 * CLICOLOR_FORCE, else if it is a terminal with colours. */
bool allo_wants_color(enum allo_color option, int fd);

/* Whether standard output is a terminal. */
bool allo_terminal_is_output(void);

/* Columns of the terminal on standard output, or 100. */
size_t allo_terminal_columns(void);

/* Columns of the terminal on standard error; 0: it is none. */
size_t allo_terminal_error_columns(void);

/* Rows of the terminal, or 0. */
size_t allo_terminal_rows(void);

/* Whether the locale uses UTF-8. */
bool allo_terminal_is_utf8(void);

/* Escape sequences, empty when colours are off. */
struct allo_style {
	const char *bold, *dim, *red, *green, *yellow, *hot, *reset;
};

struct allo_style allo_style_of(bool color);

#endif
