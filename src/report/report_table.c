/* report_table.c - tables of a report: rows are printed one by one, except those of text, whose
 * widths are known at the end. */
#include "base/assert.h"
#include "base/encoding/csv.h"
#include "profile/source_name.h"
#include "report/markdown.h"
#include "report/report.h"
#include "report/show.h"

#include <stdio.h>
#include <string.h>

static const struct allo_column *column_at(const struct allo_report *report, size_t column)
{
	ALLO_ASSERT(report->table.is && column < report->table.is->count);
	return &report->table.is->columns[column];
}

/* The title of a column in the report's format; NULL: the format does not have it. */
static const char *title_of(const struct allo_report *report, size_t column)
{
	const struct allo_column *of = column_at(report, column);
	const char *title = allo_report_is(report, ALLO_REPORT_CSV) ? of->csv : of->title;

	if (!title || report->table.is_hidden[column])
		return NULL;
	return report->table.titles[column] ? report->table.titles[column] : title;
}

static bool is_left(const struct allo_column *column)
{
	return column->align == ALLO_ALIGN_LEFT ||
	       (column->align == ALLO_ALIGN_BY_UNIT && column->unit == ALLO_CELL_TEXT);
}

static bool is_in_json(const struct allo_report *report)
{
	return allo_report_is(report, ALLO_REPORT_JSON) && report->table.is->json;
}

void allo_report_table(struct allo_report *report, const struct allo_report_table *table)
{
	ALLO_ASSERT(!report->table.is && !report->in_line);
	ALLO_ASSERT(table->count <= ALLO_TABLE_COLUMNS);
	report->table.is = table;
	report->table.has_row = report->table.has_titles = false;
	memset(report->table.titles, 0, sizeof(report->table.titles));
	memset(report->table.is_hidden, 0, sizeof(report->table.is_hidden));
	memset(report->table.cells, 0, sizeof(report->table.cells));
	memset(report->table.styles, 0, sizeof(report->table.styles));
	if (is_in_json(report))
		allo_report_list(report, table->json);
}

void allo_report_hide(struct allo_report *report, size_t column)
{
	ALLO_ASSERT(!report->table.has_row && column < report->table.is->count);
	report->table.is_hidden[column] = true;
}

void allo_report_retitle(struct allo_report *report, size_t column, const char *title)
{
	ALLO_ASSERT(!report->table.has_row && column < report->table.is->count);
	report->table.titles[column] = allo_report_text(report, allo_text_of(title)).data;
}

/* A row of cells, or the titles if there are none. */
static struct allo_text cell_at(const struct allo_report *report, size_t column, bool is_title)
{
	return is_title ? allo_text_of(title_of(report, column)) : report->table.cells[column];
}

static void put_csv_row(struct allo_report *report, bool is_title)
{
	const char *between = "";

	for (size_t i = 0; i < report->table.is->count; i++) {
		if (!title_of(report, i))
			continue;
		allo_output_string(report->out, between);
		allo_csv_put(report->out, cell_at(report, i, is_title));
		between = ",";
	}
	/* A table without a column in CSV has no rows there. */
	if (between[0] != '\0')
		allo_output_string(report->out, "\r\n");
}

static void put_markdown_row(struct allo_report *report, bool is_title)
{
	struct allo_output *out = report->out;

	for (size_t i = 0; i < report->table.is->count; i++) {
		if (!title_of(report, i))
			continue;
		allo_output_string(out, "| ");
		allo_markdown_put(out, cell_at(report, i, is_title), false);
		allo_output_byte(out, ' ');
	}
	allo_output_string(out, "|\n");
	for (size_t i = 0; i < report->table.is->count && is_title; i++) {
		if (title_of(report, i))
			allo_output_string(out, is_left(&report->table.is->columns[i]) ? "| :--- "
										       : "| ---: ");
	}
	if (is_title)
		allo_output_string(out, "|\n");
}

static void put_text_row(struct allo_report *report, bool is_title)
{
	struct allo_error err = { 0 };

	for (size_t i = 0; i < report->table.is->count; i++) {
		if (title_of(report, i))
			allo_table_add(&report->table.text,
				       (struct allo_table_cell){
					       cell_at(report, i, is_title),
					       is_title ? NULL : report->table.styles[i] },
				       &err);
	}
	if (allo_failed(&err))
		allo_report_fail_memory(report);
}

static void begin_text(struct allo_report *report)
{
	const struct allo_style *style = &report->options.style;
	struct allo_table *text = &report->table.text;

	*text = (struct allo_table){ .style_end = style->reset,
				     .max_width = report->options.max_width,
				     .indent = report->table.is->indent };
	for (size_t i = 0; i < report->table.is->count; i++) {
		const struct allo_column *column = &report->table.is->columns[i];

		if (!title_of(report, i))
			continue;
		text->is_left[text->columns] = is_left(column);
		text->min_width[text->columns] = column->min_width;
		text->is_wrapped = column->is_wrapped;
		text->style[text->columns++] = column->is_bold    ? style->bold
					       : column->is_green ? style->green
								  : NULL;
	}
}

/* Whether the format has any of the table's columns. */
static bool has_columns(const struct allo_report *report)
{
	for (size_t i = 0; i < report->table.is->count; i++) {
		if (title_of(report, i))
			return true;
	}
	return false;
}

static void put_row(struct allo_report *report, bool is_title)
{
	if (allo_report_is(report, ALLO_REPORT_CSV))
		put_csv_row(report, is_title);
	else if (allo_report_is(report, ALLO_REPORT_MARKDOWN))
		put_markdown_row(report, is_title);
	else
		put_text_row(report, is_title);
}

static void put_titles(struct allo_report *report)
{
	bool is_text = allo_report_is(report, ALLO_REPORT_TEXT);

	report->table.has_titles = true;
	if (allo_report_is(report, ALLO_REPORT_MARKDOWN))
		allo_report_begin_block(report, ALLO_BLOCK_NONE);
	if (is_text)
		begin_text(report);
	/* Tables of the same columns are one in CSV. */
	if (allo_report_is(report, ALLO_REPORT_CSV) && report->csv_titles == report->table.is)
		return;
	report->csv_titles = report->table.is;
	if (!is_text || !report->table.is->has_no_titles)
		put_row(report, true);
}

static void end_row(struct allo_report *report)
{
	if (allo_report_is(report, ALLO_REPORT_JSON)) {
		if (is_in_json(report))
			allo_json_out_end(&report->json);
		ALLO_ASSERT(report->json.depth == report->depth);
	} else if (has_columns(report)) {
		if (!report->table.has_titles)
			put_titles(report);
		put_row(report, false);
	}
	memset(report->table.cells, 0, sizeof(report->table.cells));
	memset(report->table.styles, 0, sizeof(report->table.styles));
	allo_arena_done(&report->table.arena);
}

void allo_report_row(struct allo_report *report)
{
	ALLO_ASSERT(report->table.is);
	if (report->table.has_row)
		end_row(report);
	report->table.has_row = true;
	report->depth = report->json.depth;
	if (is_in_json(report))
		allo_json_out_begin(&report->json, '{');
}

void allo_report_end_table(struct allo_report *report)
{
	const struct allo_report_table *table = report->table.is;
	bool is_wanted = report->table.has_row || !table->needs_rows ||
			 allo_report_is(report, ALLO_REPORT_CSV);

	if (report->table.has_row)
		end_row(report);
	if (is_in_json(report))
		allo_report_close(report);
	else if (!allo_report_is(report, ALLO_REPORT_JSON) && !report->table.has_titles &&
		 is_wanted && has_columns(report))
		put_titles(report);
	if (report->table.text.cells.len > 0)
		allo_table_print(&report->table.text, report->out);
	allo_table_done(&report->table.text);
	report->table.is = NULL;
}

/* Cells. */

/* The name of a cell in JSON; NULL: another format is printed, or JSON does not have the cell. */
static const char *json_name(const struct allo_report *report, size_t column)
{
	ALLO_ASSERT(report->table.has_row);
	if (!is_in_json(report) || report->table.is_hidden[column])
		return NULL;
	return column_at(report, column)->json;
}

/* Whether another format has it: then its text does. */
static bool has_cell(const struct allo_report *report, size_t column)
{
	return !allo_report_is(report, ALLO_REPORT_JSON) && title_of(report, column);
}

static void set_cell(struct allo_report *report, size_t column, struct allo_text text)
{
	const char *copy;

	if (!has_cell(report, column))
		return;
	copy = allo_arena_copy(&report->table.arena, text.data, text.len);
	if (copy)
		report->table.cells[column] = (struct allo_text){ copy, text.len };
	else
		allo_report_fail_memory(report);
}

typedef const char *format_function(struct allo_number number, enum allo_unit unit, bool is_plain,
				    char out[ALLO_NUMBER_SIZE]);

static void put_number(struct allo_report *report, size_t column, struct allo_number number,
		       enum allo_unit unit, format_function *format)
{
	bool is_csv = allo_report_is(report, ALLO_REPORT_CSV);
	char text[ALLO_NUMBER_SIZE];

	if (json_name(report, column))
		allo_report_field_number(report, json_name(report, column), number);
	if (!has_cell(report, column))
		return;
	/* Programs read it: there a number is a number. */
	number.is_estimated &= !is_csv;
	set_cell(report, column,
		 allo_text_of(format(number, unit, is_csv || report->options.is_plain, text)));
}

void allo_cell_number(struct allo_report *report, size_t column, struct allo_number number,
		      enum allo_unit unit)
{
	put_number(report, column, number, unit, allo_format);
}

void allo_cell_change(struct allo_report *report, size_t column, struct allo_number number,
		      enum allo_unit unit)
{
	put_number(report, column, number, unit, allo_format_change);
}

void allo_cell_u64(struct allo_report *report, size_t column, uint64_t value)
{
	enum allo_column_unit unit = column_at(report, column)->unit;
	char text[ALLO_NUMBER_SIZE];

	ALLO_ASSERT(unit <= ALLO_CELL_ID);
	if (unit != ALLO_CELL_ID) {
		allo_cell_number(report, column, allo_report_estimate(report, value, unit),
				 (enum allo_unit)unit);
		return;
	}
	if (json_name(report, column))
		allo_report_field_u64(report, json_name(report, column), value);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	set_cell(report, column, allo_text_of(text));
}

void allo_cell_share(struct allo_report *report, size_t column, double part, double whole)
{
	bool is_csv = allo_report_is(report, ALLO_REPORT_CSV);
	char text[ALLO_NUMBER_SIZE];

	if (json_name(report, column))
		allo_report_field_double(report, json_name(report, column),
					 whole == 0 ? 0 : 100 * part / whole);
	set_cell(report, column, allo_text_of(allo_show_share(part, whole, is_csv, text)));
}

void allo_cell_text(struct allo_report *report, size_t column, struct allo_text text)
{
	if (json_name(report, column))
		allo_report_field_name(report, json_name(report, column), text);
	set_cell(report, column, text);
}

void allo_cell_string(struct allo_report *report, size_t column, const char *string)
{
	allo_cell_text(report, column, allo_text_of(string));
}

void allo_cell_style(struct allo_report *report, size_t column, enum allo_text_style style)
{
	ALLO_ASSERT(report->table.has_row && column < report->table.is->count);
	if (allo_report_is(report, ALLO_REPORT_TEXT))
		report->table.styles[column] = allo_report_escape(report, style);
}

void allo_cell_missing(struct allo_report *report, size_t column)
{
	if (allo_report_is_prose(report))
		set_cell(report, column, ALLO_TEXT("-"));
}

void allo_cell_place(struct allo_report *report, size_t column, struct allo_text name,
		     struct allo_text file, uint64_t line)
{
	struct allo_text base = allo_source_name(file);
	char number[24] = "";

	if (!allo_report_is_prose(report)) {
		allo_cell_text(report, column, name);
		if (file.len > 0)
			allo_cell_text(report, column + 1, file);
		if (line > 0)
			allo_cell_u64(report, column + 2, line);
		return;
	}
	if (file.len == 0) {
		set_cell(report, column, name);
		return;
	}
	if (line > 0)
		snprintf(number, sizeof(number), ":%llu", (unsigned long long)line);
	allo_cell_join(report, column,
		       (struct allo_text[]){ name, ALLO_TEXT("  "), base, allo_text_of(number) },
		       4);
}

void allo_cell_join(struct allo_report *report, size_t column, const struct allo_text *texts,
		    size_t count)
{
	size_t len = 0, used = 0;
	char *joined;

	for (size_t i = 0; i < count; i++)
		len += texts[i].len;
	joined = ALLO_ARENA_NEW(&report->table.arena, len + 1, char);
	if (!joined) {
		allo_report_fail_memory(report);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		if (texts[i].len > 0)
			memcpy(joined + used, texts[i].data, texts[i].len);
		used += texts[i].len;
	}
	ALLO_ASSERT(used == len);
	allo_cell_text(report, column, (struct allo_text){ joined, len });
}

void allo_report_numbers(struct allo_report *report, const void *row)
{
	for (size_t i = 0; i < report->table.is->count; i++) {
		const struct allo_column *column = &report->table.is->columns[i];
		uint64_t number;

		if (!column->has_offset)
			continue;
		if (column->needs_exact && report->options.is_estimated) {
			allo_cell_missing(report, i);
			continue;
		}
		memcpy(&number, (const char *)row + column->offset, sizeof(number));
		allo_cell_u64(report, i, number);
	}
}
