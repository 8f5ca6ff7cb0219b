/*
 * show.h - formats texts, shares and places for output.
 */
#ifndef ALLO_REPORT_SHOW_H
#define ALLO_REPORT_SHOW_H

#include "analysis/sum.h"
#include "report/table.h"

/* Text from a file for a terminal, cut to `columns` columns; 0: not cut.  A long name loses its
 * middle, not the last part: the method in "std::map<...>::insert  map.h:12".  A chain of calls
 * keeps the first one. */
void allo_show_cut(struct allo_output *out, struct allo_text text, size_t columns, bool is_ascii);

/* The next part of a text that must stay on one line, with the spaces before it: a word, or a
 * number and its unit. */
struct allo_text allo_show_next(struct allo_text *rest);

/* Text that begins in column `at` and goes on below, also there, where it would exceed `width`.  A
 * part that is longer than a line loses its middle. */
void allo_show_flow(struct allo_output *out, struct allo_text text, size_t at, size_t width);

/* Wraps our own text to 80 columns: the first line starts at `column`, the others at `indent`.  A
 * newline in the text starts a new line. */
void allo_show_wrapped(struct allo_output *out, const char *text, size_t column, size_t indent);

/* Pieces of the drawing of a tree; each is three columns wide. */
struct allo_strokes {
	const char *branch, *last, *through, *space;
};

const struct allo_strokes *allo_show_strokes(bool is_ascii);

/* 48.8%, or 48.8123 in CSV. */
const char *allo_show_share(double part, double whole, bool is_csv, char out[ALLO_NUMBER_SIZE]);

#endif
