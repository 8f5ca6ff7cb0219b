/* table.c - see table.h. */
#include "cli/table.h"

#include "base/utf8.h"

void allo_table_done(struct allo_table *table)
{
	allo_arena_done(&table->arena);
	allo_vec_done(&table->cells);
}

bool allo_table_cell(struct allo_table *table, struct allo_text text, struct allo_error *err)
{
	struct allo_text copy = { allo_arena_copy(&table->arena, text.data, text.len), text.len };

	if (!copy.data || !allo_vec_append(&table->cells, &copy, 1))
		return allo_fail_memory(err);
	return true;
}

bool allo_table_string(struct allo_table *table, const char *string, struct allo_error *err)
{
	return allo_table_cell(table, allo_text_of(string), err);
}

static void put_cell(const struct allo_table *table, struct allo_output *out, size_t column,
		     struct allo_text text, size_t width)
{
	bool is_last = column + 1 == table->columns;
	size_t pad = width - allo_utf8_columns(text);
	const char *style = text.len ? table->style[column] : NULL;

	if (!table->is_left[column])
		allo_output_printf(out, "%*s", (int)pad, "");
	if (style)
		allo_output_string(out, style);
	allo_output_printable(out, text);
	if (style)
		allo_output_string(out, table->style_end);
	if (table->is_left[column] && !is_last)
		allo_output_printf(out, "%*s", (int)pad, "");
	allo_output_string(out, is_last ? "\n" : "  ");
}

void allo_table_print(const struct allo_table *table, struct allo_output *out)
{
	size_t widths[ALLO_TABLE_COLUMNS] = { 0 }, line = 0, last = table->columns - 1;
	size_t room;

	for (size_t i = 0; i < table->cells.len; i++) {
		size_t width = allo_utf8_columns(table->cells.at[i]);

		if (width > widths[i % table->columns])
			widths[i % table->columns] = width;
	}
	for (size_t i = 0; i < last; i++)
		line += widths[i] + 2;
	room = table->max_width > line + 20 ? table->max_width - line : 20;
	for (size_t i = 0; i < table->cells.len; i++) {
		struct allo_text text = table->cells.at[i];
		size_t column = i % table->columns;

		if (column == last && table->max_width && table->is_left[last])
			text = allo_utf8_first_columns(text, room);
		put_cell(table, out, column, text, column == last ? allo_utf8_columns(text) : widths[column]);
	}
}
