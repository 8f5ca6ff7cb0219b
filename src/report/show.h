/*
 * show.h - formats texts, shares and places for output.
 */
#ifndef ALLO_REPORT_SHOW_H
#define ALLO_REPORT_SHOW_H

#include "analysis/sum.h"
#include "base/json_write.h"
#include "report/table.h"

/* Begins the object that a command prints; "v" is the version of doc/json.md. */
void allo_show_json_begin(struct allo_json_out *json);

/* The same of numbers that are estimates if the other argument is true: "estimated" says so. */
void allo_show_json_begin_numbers(struct allo_json_out *json, bool are_estimated);

/* A sum as JSON: a number, exact. */
void allo_show_json_sum(struct allo_json_out *json, allo_sum sum);

/* "metric": {"name": ..., "unit": ..., "about": ...} */
void allo_show_json_metric(struct allo_json_out *json, const struct allo_profile *profile,
			   size_t metric);

/* Text from a file for a terminal, cut to `columns` columns with an ellipsis in the middle; 0: not
 * cut. */
void allo_show_cut(struct allo_output *out, struct allo_text text, size_t columns, bool is_ascii);

/* Wraps our own text to 80 columns: the first line starts at `column`, the others at `indent`.  A
 * newline in the text starts a new line. */
void allo_show_wrapped(struct allo_output *out, const char *text, size_t column, size_t indent);

/* Pieces of the drawing of a tree; each is three columns wide. */
struct allo_strokes {
	const char *branch, *last, *through, *space;
};

const struct allo_strokes *allo_show_strokes(bool is_ascii);

/* The end of a row that stands for a place in the source: "name  file.c:12" as far as known, or
 * three cells where programs read them. */
bool allo_show_place(struct allo_table *table, bool is_csv, struct allo_text name,
		     struct allo_text file, uint64_t line, struct allo_error *err);

/* 48.8%, or 48.8123 in CSV. */
const char *allo_show_share(double part, double whole, bool is_csv, char out[ALLO_NUMBER_SIZE]);

#endif
