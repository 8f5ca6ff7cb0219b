/*
 * table.h - a table of text whose columns are as wide as their widest cell.
 */
#ifndef ALLO_REPORT_TABLE_H
#define ALLO_REPORT_TABLE_H

#include "base/arena.h"
#include "base/io/output.h"
#include "base/vec.h"

enum { ALLO_TABLE_COLUMNS = 24 };

struct allo_table_cell {
	struct allo_text text;
	const char *style; /* an escape sequence, or NULL for that of the column */
};

struct allo_table {
	size_t columns;
	bool is_left[ALLO_TABLE_COLUMNS]; /* names are aligned to the left, numbers to the right */
	const char *style[ALLO_TABLE_COLUMNS],
		*style_end; /* escape sequences around cells, or NULL */
	size_t max_width;   /* of a line; the last column is cut to fit; 0: not cut */
	unsigned min_width[ALLO_TABLE_COLUMNS];
	unsigned indent; /* spaces before each line */
	bool is_wrapped; /* the last column goes on below, where it is too wide, and is not cut */

	/* Private. */
	struct allo_arena arena;
	ALLO_VEC(struct allo_table_cell) cells;
};

void allo_table_done(struct allo_table *table);

/* Adds a cell, row by row; the text is copied. */
bool allo_table_add(struct allo_table *table, struct allo_table_cell cell, struct allo_error *err);

void allo_table_print(const struct allo_table *table, struct allo_output *out);

#endif
