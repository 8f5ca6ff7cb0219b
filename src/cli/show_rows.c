/* show_rows.c - see show_rows.h. */
#include "cli/show_rows.h"

#include "base/utf8.h"
#include "report/show.h"

enum {
	LAID_OUT_BY = 500, /* rows */
	NARROWEST = 12,    /* that a column gets to fit a terminal */
};

void allo_row_printer_done(struct allo_row_printer *printer)
{
	allo_arena_done(&printer->arena);
	allo_vec_done(&printer->cells);
	allo_vec_done(&printer->widths);
	allo_vec_done(&printer->is_number);
}

/* Values as text. */

static struct allo_text blob_text(sqlite3_stmt *statement, int column, struct allo_arena *arena)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = (size_t)sqlite3_column_bytes(statement, column);
	const unsigned char *bytes = sqlite3_column_blob(statement, column);
	char *text = ALLO_ARENA_NEW(arena, 2 * len + 4, char);

	if (!text)
		return (struct allo_text){ "", 0 };
	text[0] = 'x';
	text[1] = '\'';
	for (size_t i = 0; i < len; i++) {
		text[2 + 2 * i] = digits[bytes[i] >> 4];
		text[3 + 2 * i] = digits[bytes[i] & 15];
	}
	text[2 + 2 * len] = '\'';
	return (struct allo_text){ text, 2 * len + 3 };
}

/* It stays until the statement's next step, or as long as the arena. */
static struct allo_text value_text(sqlite3_stmt *statement, int column, const char *null,
				   struct allo_arena *arena)
{
	const char *text;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_NULL:
		return allo_text_of(null);
	case SQLITE_BLOB:
		return blob_text(statement, column, arena);
	default:
		text = (const char *)sqlite3_column_text(statement, column);
		return (struct allo_text){ text ? text : "",
					   (size_t)sqlite3_column_bytes(statement, column) };
	}
}

static struct allo_text column_name(sqlite3_stmt *statement, int column)
{
	const char *name = sqlite3_column_name(statement, column);

	return allo_text_of(name ? name : "");
}

/* A table. */

static bool keep_cell(struct allo_row_printer *printer, struct allo_text text,
		      struct allo_error *err)
{
	struct allo_text copy = { allo_arena_copy(&printer->arena, text.data, text.len), text.len };

	return (copy.data && allo_vec_append(&printer->cells, &copy, 1)) || allo_fail_memory(err);
}

static size_t total_width(const struct allo_row_printer *printer)
{
	size_t total = 0;

	for (size_t i = 0; i < printer->columns; i++)
		total += printer->widths.at[i] + (i ? 2 : 0);
	return total;
}

/* Takes from the widest text, again and again, what a terminal has no room for. */
static void fit_width(struct allo_row_printer *printer)
{
	size_t most = allo_common_width(printer->common), total = total_width(printer);

	while (most > 0 && total > most) {
		size_t widest = 0, *width;

		for (size_t i = 0; i < printer->columns; i++) {
			if (!printer->is_number.at[i] &&
			    (printer->is_number.at[widest] ||
			     printer->widths.at[i] > printer->widths.at[widest]))
				widest = i;
		}
		width = &printer->widths.at[widest];
		if (printer->is_number.at[widest] || *width <= NARROWEST)
			return;
		--*width;
		total--;
	}
}

static void put_cell(struct allo_row_printer *printer, size_t column, struct allo_text text)
{
	size_t width = printer->widths.at[column], own = allo_utf8_columns(text);
	bool is_last = column + 1 == printer->columns, is_number = printer->is_number.at[column];
	int pad = own < width ? (int)(width - own) : 0;
	size_t cut = allo_common_width(printer->common) > 0 && !is_number ? width : 0;

	if (is_number)
		allo_output_printf(printer->out, "%*s", pad, "");
	allo_show_cut(printer->out, text, cut, false);
	if (!is_number && !is_last)
		allo_output_printf(printer->out, "%*s", pad, "");
	allo_output_string(printer->out, is_last ? "\n" : "  ");
}

/* Prints the rows that were kept; those behind them are printed as they come. */
static void lay_out(struct allo_row_printer *printer)
{
	for (size_t i = 0; i < printer->cells.len; i++) {
		size_t width = allo_utf8_columns(printer->cells.at[i]);
		size_t *widest = &printer->widths.at[i % printer->columns];

		*widest = width > *widest ? width : *widest;
	}
	fit_width(printer);
	if (printer->tables++ > 0)
		allo_output_byte(printer->out, '\n');
	for (size_t i = 0; i < printer->cells.len; i++) {
		if (i == 0)
			allo_output_string(printer->out, printer->style.bold);
		put_cell(printer, i % printer->columns, printer->cells.at[i]);
		if (i + 1 == printer->columns)
			allo_output_string(printer->out, printer->style.reset);
	}
	printer->is_laid_out = true;
	printer->cells.len = 0;
	allo_arena_done(&printer->arena);
}

static bool begin_table(struct allo_row_printer *printer, sqlite3_stmt *statement,
			struct allo_error *err)
{
	printer->widths.len = printer->is_number.len = printer->cells.len = 0;
	printer->is_laid_out = false;
	if (!allo_vec_cover(&printer->widths, printer->columns) ||
	    !allo_vec_cover(&printer->is_number, printer->columns))
		return allo_fail_memory(err);
	for (size_t i = 0; i < printer->columns; i++) {
		printer->is_number.at[i] = true;
		if (!keep_cell(printer, column_name(statement, (int)i), err))
			return false;
	}
	return true;
}

static bool add_table_row(struct allo_row_printer *printer, sqlite3_stmt *statement,
			  struct allo_error *err)
{
	for (size_t i = 0; i < printer->columns; i++) {
		int type = sqlite3_column_type(statement, (int)i);
		struct allo_text text = value_text(statement, (int)i, "NULL", &printer->arena);

		if (printer->is_laid_out) {
			put_cell(printer, i, text);
			continue;
		}
		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			printer->is_number.at[i] = false;
		if (!keep_cell(printer, text, err))
			return false;
	}
	if (printer->is_laid_out)
		allo_arena_done(&printer->arena);
	else if (printer->rows + 1 == LAID_OUT_BY)
		lay_out(printer);
	return true;
}

/* CSV. */

static void put_csv_row(struct allo_row_printer *printer, sqlite3_stmt *statement, bool is_head)
{
	for (size_t i = 0; i < printer->columns; i++) {
		if (i > 0)
			allo_output_byte(printer->out, ',');
		allo_table_csv_cell(printer->out,
				    is_head ? column_name(statement, (int)i)
					    : value_text(statement, (int)i, "", &printer->arena));
	}
	allo_output_string(printer->out, "\r\n");
	allo_arena_done(&printer->arena);
}

/* JSON: an object a statement, in a line. */

static void begin_json(struct allo_row_printer *printer, sqlite3_stmt *statement)
{
	struct allo_json_out *json = &printer->json;

	*json = (struct allo_json_out){ .out = printer->out };
	allo_show_json_begin(json);
	allo_json_out_key(json, "columns");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < printer->columns; i++)
		allo_json_out_text(json, column_name(statement, (int)i));
	allo_json_out_end(json);
	allo_json_out_key(json, "rows");
	allo_json_out_begin(json, '[');
}

static void put_json_value(struct allo_row_printer *printer, sqlite3_stmt *statement, int column)
{
	struct allo_json_out *json = &printer->json;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		allo_json_out_i64(json, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		allo_json_out_exact_double(json, sqlite3_column_double(statement, column));
		break;
	case SQLITE_NULL:
		allo_json_out_null(json);
		break;
	default:
		allo_json_out_text(json, value_text(statement, column, "", &printer->arena));
	}
}

static void put_json_row(struct allo_row_printer *printer, sqlite3_stmt *statement)
{
	allo_json_out_begin(&printer->json, '[');
	for (size_t i = 0; i < printer->columns; i++)
		put_json_value(printer, statement, (int)i);
	allo_json_out_end(&printer->json);
	allo_arena_done(&printer->arena);
}

/* All three. */

static bool begin(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	struct allo_row_printer *printer = context;

	printer->columns = (size_t)sqlite3_column_count(statement);
	printer->rows = 0;
	if (printer->common->json)
		begin_json(printer, statement);
	else if (printer->common->csv)
		put_csv_row(printer, statement, true);
	else
		return begin_table(printer, statement, err);
	return true;
}

static bool add_row(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	struct allo_row_printer *printer = context;
	bool ok = true;

	if (printer->common->json)
		put_json_row(printer, statement);
	else if (printer->common->csv)
		put_csv_row(printer, statement, false);
	else
		ok = add_table_row(printer, statement, err);
	printer->rows++;
	/* Who reads this may have seen enough: finishing tells. */
	return ok && !allo_failed(&printer->out->failure);
}

static bool end(void *context, struct allo_error *err)
{
	struct allo_row_printer *printer = context;

	(void)err;
	if (printer->common->json) {
		allo_json_out_end(&printer->json);
		allo_json_out_end(&printer->json);
		allo_output_byte(printer->out, '\n');
	} else if (!printer->common->csv && !printer->is_laid_out) {
		lay_out(printer);
	}
	return true;
}

struct allo_sql_sink allo_row_printer_sink(struct allo_row_printer *printer)
{
	return (struct allo_sql_sink){ begin, add_row, end, printer };
}
