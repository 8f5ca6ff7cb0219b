/* table.c - measures columns and prints rows. */
#include "report/table.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "report/show.h"

void allo_table_done(struct allo_table *table)
{
	allo_arena_done(&table->arena);
	allo_vec_done(&table->cells);
}

bool allo_table_add(struct allo_table *table, struct allo_table_cell cell, struct allo_error *err)
{
	cell.text.data = allo_arena_copy(&table->arena, cell.text.data, cell.text.len);
	if (!cell.text.data || !allo_vec_append(&table->cells, &cell, 1))
		return allo_fail_memory(err);
	return true;
}

/* The number of columns up to the last one with text: no spaces follow it. */
static size_t used_columns(const struct allo_table *table, const struct allo_table_cell *row)
{
	size_t used = table->columns;

	while (used > 1 && row[used - 1].text.len == 0)
		used--;
	return used;
}

/* A table that is being printed. */
struct layout {
	size_t widths[ALLO_TABLE_COLUMNS];
	size_t last_at, last_room; /* where the last column begins, and its width at most; 0: any */
	bool is_below;             /* the last column stands below the others */
};

static void put_text(const struct allo_table *table, const struct layout *layout,
		     struct allo_output *out, size_t column, struct allo_text text)
{
	bool is_last = column + 1 == table->columns;

	if (is_last && table->is_wrapped && layout->last_room > 0)
		allo_show_flow(out, text, layout->last_at, layout->last_at + layout->last_room);
	else
		allo_show_cut(out, text, layout->widths[column], false);
}

/* The columns of the longest part of a text that is not broken. */
static size_t longest_part(struct allo_text text)
{
	size_t longest = 0;

	while (text.len > 0) {
		size_t columns = allo_utf8_columns(allo_text_trim(allo_show_next(&text)));

		longest = columns > longest ? columns : longest;
	}
	return longest;
}

/* Pads the text to the width of its column, or cuts it. */
static void put_cell(const struct allo_table *table, const struct layout *layout,
		     struct allo_output *out, size_t column, const struct allo_table_cell *cell,
		     bool is_last)
{
	size_t own = allo_utf8_columns(cell->text), width = layout->widths[column];
	size_t pad = width > own ? width - own : 0;
	const char *style = cell->style ? cell->style : table->style[column];

	if (cell->text.len == 0)
		style = NULL;
	if (!table->is_left[column])
		allo_output_printf(out, "%*s", (int)pad, "");
	if (style)
		allo_output_string(out, style);
	put_text(table, layout, out, column, cell->text);
	if (style)
		allo_output_string(out, table->style_end);
	if (table->is_left[column] && !is_last)
		allo_output_printf(out, "%*s", (int)pad, "");
	allo_output_string(out, is_last ? "\n" : "  ");
}

/* A name of less than 20 columns says nothing: a line that is too long is better. */
enum { LEAST_ROOM = 20 };

/* The columns that the last cell of some row needs at least. */
static size_t least_room(const struct allo_table *table)
{
	size_t least = LEAST_ROOM;

	for (size_t i = table->columns; i <= table->cells.len && table->is_wrapped;
	     i += table->columns) {
		size_t part = longest_part(table->cells.at[i - 1].text);

		least = part > least ? part : least;
	}
	return least;
}

/* The last column stands below the others, which have the whole line: the one before it is cut. */
static void move_below(const struct allo_table *table, struct layout *layout)
{
	enum { INDENT = 4 };
	size_t last = table->columns - 1, used = layout->last_at - 2;

	layout->is_below = true;
	layout->last_at = table->indent + INDENT;
	if (last > 0 && used > table->max_width &&
	    layout->widths[last - 1] > used - table->max_width)
		layout->widths[last - 1] -= used - table->max_width;
}

static void measure(const struct allo_table *table, struct layout *layout)
{
	size_t last = table->columns - 1, least = least_room(table);

	for (size_t i = 0; i < table->columns; i++)
		layout->widths[i] = table->min_width[i];
	for (size_t i = 0; i < table->cells.len; i++) {
		size_t width = allo_utf8_columns(table->cells.at[i].text);

		if (width > layout->widths[i % table->columns])
			layout->widths[i % table->columns] = width;
	}
	layout->last_at = table->indent;
	for (size_t i = 0; i < last; i++)
		layout->last_at += layout->widths[i] + 2;
	if (table->max_width == 0)
		return;
	if (table->is_wrapped && table->max_width < layout->last_at + least)
		move_below(table, layout);
	layout->last_room = table->max_width > layout->last_at + LEAST_ROOM
				    ? table->max_width - layout->last_at
				    : LEAST_ROOM;
	if (layout->widths[last] > layout->last_room)
		layout->widths[last] = layout->last_room;
}

static void put_row(const struct allo_table *table, const struct layout *layout,
		    struct allo_output *out, const struct allo_table_cell *cells)
{
	size_t used = used_columns(table, cells);
	bool is_below = layout->is_below && used == table->columns;

	allo_output_printf(out, "%*s", (int)table->indent, "");
	for (size_t i = 0; i < used; i++) {
		if (is_below && i + 1 == used)
			allo_output_printf(out, "%*s", (int)layout->last_at, "");
		put_cell(table, layout, out, i, &cells[i],
			 i + 1 == used || (is_below && i + 2 == used));
	}
}

void allo_table_print(const struct allo_table *table, struct allo_output *out)
{
	struct layout layout = { 0 };

	ALLO_ASSERT(table->columns > 0 && table->columns <= ALLO_TABLE_COLUMNS);
	measure(table, &layout);
	for (size_t row = 0; row + table->columns <= table->cells.len; row += table->columns)
		put_row(table, &layout, out, &table->cells.at[row]);
}
