/*
 * table.h - a table of text whose columns are as wide as their widest cell.
 */
#ifndef ALLO_REPORT_TABLE_H
#define ALLO_REPORT_TABLE_H

#include "base/arena.h"
#include "base/output.h"
#include "base/vec.h"

enum { ALLO_TABLE_COLUMNS = 24 };

struct allo_table {
	size_t columns;
	bool is_left[ALLO_TABLE_COLUMNS]; /* names are aligned to the left, numbers to the right */
	const char *style[ALLO_TABLE_COLUMNS],
		*style_end; /* escape sequences around cells, or NULL */
	size_t max_width;   /* of a line; the last column is cut to fit; 0: not cut */
	unsigned min_width[ALLO_TABLE_COLUMNS];
	unsigned indent; /* spaces before each line */

	/* Private. */
	struct allo_arena arena;
	ALLO_VEC(struct allo_text) cells;
	ALLO_VEC(const char *)
	styles; /* by cell, in place of the column's; NULL, or beyond: none */
};

void allo_table_done(struct allo_table *table);

/* Adds a cell, row by row; the text is copied. */
bool allo_table_cell(struct allo_table *table, struct allo_text text, struct allo_error *err);
bool allo_table_string(struct allo_table *table, const char *string, struct allo_error *err);

/* Gives the last cell an escape sequence of its own. */
bool allo_table_style(struct allo_table *table, const char *style, struct allo_error *err);

/* One cell of several texts, one after the other. */
bool allo_table_join(struct allo_table *table, const struct allo_text *texts, size_t count,
		     struct allo_error *err);

void allo_table_print(const struct allo_table *table, struct allo_output *out);

/* The same as comma-separated values (RFC 4180): whole texts, quoted if needed. */
void allo_table_print_csv(const struct allo_table *table, struct allo_output *out);

#endif
