/*
 * terminal.h - what the user's terminal can do.
 */
#ifndef ALLO_REPORT_TERMINAL_H
#define ALLO_REPORT_TERMINAL_H

#include <stdbool.h>
#include <stddef.h>

enum allo_color { ALLO_COLOR_AUTO, ALLO_COLOR_ALWAYS, ALLO_COLOR_NEVER };

/* Whether to colour what goes to `fd`: the option, then NO_COLOR, then FORCE_COLOR and
 * CLICOLOR_FORCE, then whether it is a terminal that can. */
bool allo_wants_color(enum allo_color option, int fd);

/* Whether standard output is a terminal. */
bool allo_terminal_is_output(void);

/* Columns of the terminal on standard output; 100 when it is none. */
size_t allo_terminal_columns(void);

/* Its rows; 0 when it is none. */
size_t allo_terminal_rows(void);

/* Whether the locale's characters are those of Unicode, as UTF-8. */
bool allo_terminal_is_utf8(void);

/* Escape sequences, empty when colours are off. */
struct allo_style {
	const char *bold, *dim, *red, *green, *yellow, *reset;
};

struct allo_style allo_style_of(bool color);

#endif
