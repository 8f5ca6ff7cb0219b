/* table.c - measures columns and prints rows. */
#include "report/table.h"

#include "base/assert.h"
#include "base/csv.h"
#include "base/utf8.h"
#include "report/show.h"

void allo_table_done(struct allo_table *table)
{
	allo_arena_done(&table->arena);
	allo_vec_done(&table->cells);
	allo_vec_done(&table->styles);
}

bool allo_table_cell(struct allo_table *table, struct allo_text text, struct allo_error *err)
{
	struct allo_text copy = { allo_arena_copy(&table->arena, text.data, text.len), text.len };

	if (!copy.data || !allo_vec_append(&table->cells, &copy, 1))
		return allo_fail_memory(err);
	return true;
}

bool allo_table_style(struct allo_table *table, const char *style, struct allo_error *err)
{
	ALLO_ASSERT(table->cells.len > 0);
	if (!allo_vec_extend(&table->styles, table->cells.len, err))
		return false;
	table->styles.at[table->cells.len - 1] = style;
	return true;
}

bool allo_table_join(struct allo_table *table, const struct allo_text *texts, size_t count,
		     struct allo_error *err)
{
	struct allo_text joined = { 0 };
	size_t len = 0;
	char *to;

	for (size_t i = 0; i < count; i++)
		len += texts[i].len;
	joined.data = to = ALLO_ARENA_NEW(&table->arena, len + 1, char);
	if (!to)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		memcpy(to + joined.len, texts[i].data, texts[i].len);
		joined.len += texts[i].len;
	}
	return allo_vec_append(&table->cells, &joined, 1) || allo_fail_memory(err);
}

bool allo_table_string(struct allo_table *table, const char *string, struct allo_error *err)
{
	return allo_table_cell(table, allo_text_of(string), err);
}

/* The number of columns up to the last one with text: no spaces follow it. */
static size_t used_columns(const struct allo_table *table, const struct allo_text *row)
{
	size_t used = table->columns;

	while (used > 1 && row[used - 1].len == 0)
		used--;
	return used;
}

/* The escape sequence of a cell; NULL: none. */
static const char *style_of(const struct allo_table *table, size_t cell)
{
	if (table->cells.at[cell].len == 0)
		return NULL;
	if (cell < table->styles.len && table->styles.at[cell])
		return table->styles.at[cell];
	return table->style[cell % table->columns];
}

/* Pads a cell to `width` columns, or cuts it. */
static void put_cell(const struct allo_table *table, struct allo_output *out, size_t cell,
		     size_t width, bool is_last)
{
	struct allo_text text = table->cells.at[cell];
	size_t column = cell % table->columns;
	size_t own = allo_utf8_columns(text), pad = width > own ? width - own : 0;
	const char *style = style_of(table, cell);

	if (!table->is_left[column])
		allo_output_printf(out, "%*s", (int)pad, "");
	if (style)
		allo_output_string(out, style);
	allo_show_cut(out, text, width, false);
	if (style)
		allo_output_string(out, table->style_end);
	if (table->is_left[column] && !is_last)
		allo_output_printf(out, "%*s", (int)pad, "");
	allo_output_string(out, is_last ? "\n" : "  ");
}

void allo_table_print(const struct allo_table *table, struct allo_output *out)
{
	size_t widths[ALLO_TABLE_COLUMNS] = { 0 }, line = table->indent, last = table->columns - 1;
	size_t room;

	ALLO_ASSERT(table->columns > 0 && table->columns <= ALLO_TABLE_COLUMNS);
	for (size_t i = 0; i < table->columns; i++)
		widths[i] = table->min_width[i];
	for (size_t i = 0; i < table->cells.len; i++) {
		size_t width = allo_utf8_columns(table->cells.at[i]);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (size_t i = 0; i < last; i++)
		line += widths[i] + 2;
	/* A name of less than 20 columns says nothing: a line that is too long is better. */
	room = table->max_width > line + 20 ? table->max_width - line : 20;
	if (table->max_width && widths[last] > room)
		widths[last] = room;
	for (size_t row = 0; row + table->columns <= table->cells.len; row += table->columns) {
		size_t used = used_columns(table, &table->cells.at[row]);

		allo_output_printf(out, "%*s", (int)table->indent, "");
		for (size_t i = 0; i < used; i++)
			put_cell(table, out, row + i, widths[i], i + 1 == used);
	}
}

void allo_table_print_csv(const struct allo_table *table, struct allo_output *out)
{
	for (size_t i = 0; i < table->cells.len; i++) {
		allo_csv_put(out, table->cells.at[i]);
		allo_output_string(out, (i + 1) % table->columns ? "," : "\r\n");
	}
}
