/*
 * show_rows.h - what a query gives, as a table, as CSV or as JSON.
 *
 * A table's columns are as wide as its first rows need; no more than those are kept in memory.
 */
#ifndef ALLO_CLI_SHOW_ROWS_H
#define ALLO_CLI_SHOW_ROWS_H

#include "base/arena.h"
#include "base/json_write.h"
#include "cli/common.h"
#include "sql/sql_session.h"

struct allo_row_printer {
	struct allo_output *out;
	const struct allo_common *common;
	struct allo_style style;

	/* Private: of the statement whose rows are printed. */
	struct allo_arena arena;
	ALLO_VEC(struct allo_text) cells; /* row by row, those of the head first */
	ALLO_VEC(size_t) widths;
	ALLO_VEC(bool) is_number;
	size_t columns, tables;
	uint64_t rows;
	bool is_laid_out;
	struct allo_json_out json;
};

void allo_row_printer_done(struct allo_row_printer *printer);

/* For allo_sql_query(). */
struct allo_sql_sink allo_row_printer_sink(struct allo_row_printer *printer);

#endif
