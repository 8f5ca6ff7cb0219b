/* report.c - prints each call in the report's format at once; only tables of text are collected. */
#include "report/report.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "profile/naming.h"
#include "report/pager.h"
#include "report/show.h"

#include <stdio.h>

void allo_report_fail_memory(struct allo_report *report)
{
	allo_output_fail_memory(report->out);
}

static bool is_json(const struct allo_report *report)
{
	return report->options.format == ALLO_REPORT_JSON;
}

static bool is_markdown(const struct allo_report *report)
{
	return report->options.format == ALLO_REPORT_MARKDOWN;
}

/* The report as a whole. */

void allo_report_begin(struct allo_report *report, const struct allo_report_options *options,
		       struct allo_output *out)
{
	report->options = *options;
	report->out = out;
	if (!is_json(report))
		return;
	report->json = (struct allo_json_out){ .out = out, .pretty_depth = options->json_lines };
	allo_json_out_begin(&report->json, '{');
	allo_report_field_u64(report, "v", 1);
	if (options->is_estimated)
		allo_report_field_bool(report, "estimated", true);
}

bool allo_report_open(struct allo_report *report, const struct allo_report_options *options,
		      struct allo_error *err)
{
	if (!allo_pager_open(&report->own, options->has_pager, err))
		return false;
	allo_report_begin(report, options, &report->own);
	return true;
}

static void end_block(struct allo_report *report)
{
	ALLO_ASSERT(!report->in_line);
	if (report->block == ALLO_BLOCK_FENCE)
		allo_output_string(report->out, "````\n");
	report->block = ALLO_BLOCK_NONE;
}

void allo_report_end(struct allo_report *report)
{
	ALLO_ASSERT(!report->table.is && !report->in_line);
	end_block(report);
	if (!is_json(report))
		return;
	ALLO_ASSERT(report->json.depth == 1);
	allo_json_out_end(&report->json);
	if (report->json.pretty_depth == 0)
		allo_output_byte(report->out, '\n');
}

bool allo_report_finish(struct allo_report *report, struct allo_error *err)
{
	allo_report_end(report);
	return allo_pager_finish(&report->own, err);
}

void allo_report_done(struct allo_report *report)
{
	allo_arena_done(&report->arena);
	allo_arena_done(&report->table.arena);
	allo_table_done(&report->table.text);
	allo_output_drop(&report->own);
}

/* Strings. */

static const char *vformat(struct allo_report *report, const char *fmt, va_list args)
{
	va_list again;
	char *string;
	int len;

	va_copy(again, args);
	len = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	string = len < 0 ? NULL : ALLO_ARENA_NEW(&report->arena, (size_t)len + 1, char);
	if (!string) {
		allo_report_fail_memory(report);
		return "";
	}
	vsnprintf(string, (size_t)len + 1, fmt, args);
	return string;
}

const char *allo_report_string(struct allo_report *report, const char *fmt, ...)
{
	const char *string;
	va_list args;

	va_start(args, fmt);
	string = vformat(report, fmt, args);
	va_end(args);
	return string;
}

struct allo_text allo_report_text(struct allo_report *report, struct allo_text text)
{
	const char *copy = allo_arena_copy(&report->arena, text.data, text.len);

	if (copy)
		return (struct allo_text){ copy, text.len };
	allo_report_fail_memory(report);
	return (struct allo_text){ "", 0 };
}

static const char *keep(struct allo_report *report, const char *string)
{
	return allo_report_text(report, allo_text_of(string)).data;
}

const char *allo_report_format_number(struct allo_report *report, struct allo_number number,
				      enum allo_unit unit)
{
	char text[ALLO_NUMBER_SIZE];

	return keep(report, allo_format(number, unit, report->options.is_plain, text));
}

static struct allo_number number_of(const struct allo_report *report, uint64_t value,
				    enum allo_column_unit unit)
{
	return (struct allo_number){ .magnitude = value,
				     .is_estimated = report->options.is_estimated &&
						     (unit == ALLO_CELL_COUNT ||
						      unit == ALLO_CELL_BYTES) };
}

const char *allo_report_number(struct allo_report *report, uint64_t value, enum allo_unit unit)
{
	return allo_report_format_number(
		report, number_of(report, value, (enum allo_column_unit)unit), unit);
}

const char *allo_report_count(struct allo_report *report, uint64_t count)
{
	char text[ALLO_NUMBER_SIZE];

	return keep(report, allo_format_count(count, text));
}

const char *allo_report_counted(struct allo_report *report, uint64_t count, const char *noun)
{
	char text[ALLO_NUMBER_SIZE];

	return allo_report_string(report, "%s %s%s", allo_format_count(count, text), noun,
				  allo_plural(count));
}

const char *allo_report_share(struct allo_report *report, double part, double whole)
{
	char text[ALLO_NUMBER_SIZE];

	return keep(report, allo_format_share(part, whole, text));
}

/* Markdown. */

/* Starts a paragraph, list, table or fence: an empty line parts them. */
static void begin_block(struct allo_report *report, int block)
{
	bool continues = block == ALLO_BLOCK_LIST && report->block == ALLO_BLOCK_LIST;

	if (!continues) {
		end_block(report);
		if (report->is_started)
			allo_output_byte(report->out, '\n');
	}
	report->is_started = true;
	report->block = block;
}

static bool is_word(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* '_' inside a word is no emphasis; '-', '+' and '#' mean something at the start of a line only. */
static bool has_meaning(struct allo_text text, size_t at, bool is_start)
{
	char c = text.data[at];

	if (c == '_')
		return at == 0 || at + 1 == text.len || !is_word(text.data[at - 1]) ||
		       !is_word(text.data[at + 1]);
	if (c == '-' || c == '+' || c == '#')
		return is_start && at == 0;
	return c != '\0' && strchr("\\`*<>[]|~&$", c);
}

static void put_markdown(struct allo_output *out, struct allo_text text, bool is_start)
{
	size_t plain = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (!has_meaning(text, i, is_start))
			continue;
		allo_output_printable(out, (struct allo_text){ text.data + plain, i - plain });
		allo_output_byte(out, '\\');
		plain = i;
	}
	allo_output_printable(out, allo_text_from(text, plain));
}

/* Lines. */

static void begin_markdown_line(struct allo_report *report)
{
	begin_block(report, report->is_item ? ALLO_BLOCK_LIST : ALLO_BLOCK_TEXT);
	allo_output_string(report->out, report->is_heading ? "### " : report->is_item ? "- " : "");
}

static const char *escape_of(const struct allo_style *style, enum allo_text_style role)
{
	switch (role) {
	case ALLO_STYLE_BOLD:
		return style->bold;
	case ALLO_STYLE_DIM:
		return style->dim;
	case ALLO_STYLE_RED:
		return style->red;
	case ALLO_STYLE_GREEN:
		return style->green;
	case ALLO_STYLE_YELLOW:
		return style->yellow;
	case ALLO_STYLE_PLAIN:
		break;
	}
	return "";
}

static void put_markdown_piece(struct allo_report *report, enum allo_text_style style,
			       struct allo_text text)
{
	const char *mark = style == ALLO_STYLE_BOLD && !report->is_heading ? "**" : "";
	bool is_start = !report->in_line;

	/* Four spaces would make a block of code. */
	while (is_start && text.len > 0 && text.data[0] == ' ')
		text = allo_text_from(text, 1);
	if (text.len == 0)
		return;
	if (is_start)
		begin_markdown_line(report);
	report->in_line = true;
	allo_output_string(report->out, mark);
	put_markdown(report->out, text, is_start && !report->is_item);
	allo_output_string(report->out, mark);
}

void allo_report_put_text(struct allo_report *report, enum allo_text_style style,
			  struct allo_text text)
{
	const char *escape = escape_of(&report->options.style, style);

	if (!allo_report_is_prose(report))
		return;
	ALLO_ASSERT(!report->table.is);
	if (is_markdown(report)) {
		put_markdown_piece(report, style, text);
		return;
	}
	report->in_line = true;
	allo_output_string(report->out, escape);
	allo_output_printable(report->out, text);
	if (escape[0] != '\0')
		allo_output_string(report->out, report->options.style.reset);
}

static void put_format(struct allo_report *report, enum allo_text_style style, const char *fmt,
		       va_list args)
{
	if (allo_report_is_prose(report))
		allo_report_put_text(report, style, allo_text_of(vformat(report, fmt, args)));
}

void allo_report_put(struct allo_report *report, enum allo_text_style style, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_format(report, style, fmt, args);
	va_end(args);
}

void allo_report_end_line(struct allo_report *report)
{
	if (allo_report_is_prose(report) && (report->in_line || !is_markdown(report)))
		allo_output_byte(report->out, '\n');
	report->in_line = report->is_item = report->is_heading = false;
}

void allo_report_line(struct allo_report *report, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_format(report, ALLO_STYLE_PLAIN, fmt, args);
	va_end(args);
	allo_report_end_line(report);
}

void allo_report_put_cut(struct allo_report *report, struct allo_text text, size_t columns)
{
	if (report->options.format != ALLO_REPORT_TEXT) {
		allo_report_put_text(report, ALLO_STYLE_PLAIN, text);
		return;
	}
	report->in_line = true;
	allo_show_cut(report->out, text, columns, false);
}

void allo_report_wrapped(struct allo_report *report, const char *text, size_t column)
{
	if (report->options.format != ALLO_REPORT_TEXT) {
		allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(text));
		allo_report_end_line(report);
		return;
	}
	allo_show_wrapped(report->out, text, column, column);
	report->in_line = report->is_item = report->is_heading = false;
}

void allo_report_heading(struct allo_report *report)
{
	ALLO_ASSERT(!report->in_line);
	report->is_heading = true;
}

void allo_report_fact(struct allo_report *report, const char *name)
{
	ALLO_ASSERT(!report->in_line);
	report->is_item = true;
	if (is_markdown(report)) {
		allo_report_put(report, ALLO_STYLE_BOLD, "%s", name);
		allo_report_put(report, ALLO_STYLE_PLAIN, " ");
		return;
	}
	allo_report_put(report, ALLO_STYLE_PLAIN, "  ");
	allo_report_put(report, ALLO_STYLE_BOLD, "%-10s", name);
}

void allo_report_note(struct allo_report *report, const char *fmt, ...)
{
	va_list args;

	report->is_item = true;
	va_start(args, fmt);
	put_format(report, ALLO_STYLE_PLAIN, fmt, args);
	va_end(args);
	allo_report_end_line(report);
}

void allo_report_blank(struct allo_report *report)
{
	ALLO_ASSERT(!report->in_line);
	if (report->options.format == ALLO_REPORT_TEXT)
		allo_output_byte(report->out, '\n');
}

struct allo_output *allo_report_drawing(struct allo_report *report)
{
	if (!allo_report_is_prose(report))
		return NULL;
	ALLO_ASSERT(!report->in_line && !report->table.is);
	if (is_markdown(report) && report->block != ALLO_BLOCK_FENCE) {
		begin_block(report, ALLO_BLOCK_FENCE);
		allo_output_string(report->out, "````\n");
	}
	return report->out;
}

/* Members of JSON objects. */

/* Whether to print the value that follows. */
static bool begin_field(struct allo_report *report, const char *name)
{
	if (!is_json(report))
		return false;
	if (name)
		allo_json_out_key(&report->json, name);
	return true;
}

void allo_report_field_u64(struct allo_report *report, const char *name, uint64_t value)
{
	if (begin_field(report, name))
		allo_json_out_u64(&report->json, value);
}

void allo_report_field_i64(struct allo_report *report, const char *name, int64_t value)
{
	if (begin_field(report, name))
		allo_json_out_i64(&report->json, value);
}

static void put_json_number(struct allo_report *report, struct allo_number number)
{
	if (!number.is_negative)
		allo_json_out_u64(&report->json, number.magnitude);
	else if (number.magnitude <= (uint64_t)INT64_MAX)
		allo_json_out_i64(&report->json, -(int64_t)number.magnitude);
	else
		allo_json_out_i64(&report->json, INT64_MIN);
}

void allo_report_field_sum(struct allo_report *report, const char *name, allo_sum value)
{
	if (begin_field(report, name))
		put_json_number(report, allo_sum_number(value));
}

void allo_report_field_double(struct allo_report *report, const char *name, double value)
{
	if (begin_field(report, name))
		allo_json_out_double(&report->json, value);
}

void allo_report_field_exact(struct allo_report *report, const char *name, double value)
{
	if (begin_field(report, name))
		allo_json_out_exact_double(&report->json, value);
}

void allo_report_field_null(struct allo_report *report, const char *name)
{
	if (begin_field(report, name))
		allo_json_out_null(&report->json);
}

void allo_report_field_bool(struct allo_report *report, const char *name, bool value)
{
	if (begin_field(report, name))
		allo_json_out_bool(&report->json, value);
}

void allo_report_field_string(struct allo_report *report, const char *name, const char *value)
{
	allo_report_field_name(report, name, allo_text_of(value));
}

void allo_report_field_name(struct allo_report *report, const char *name, struct allo_text value)
{
	if (begin_field(report, name))
		allo_json_out_text(&report->json, value);
}

void allo_report_field_text(struct allo_report *report, const char *name, struct allo_text value)
{
	if (value.len > 0)
		allo_report_field_name(report, name, value);
}

void allo_report_members(struct allo_report *report, struct allo_text members)
{
	if (is_json(report))
		allo_json_out_members(&report->json, members);
}

void allo_report_field_pair(struct allo_report *report, struct allo_text name,
			    struct allo_text value)
{
	if (!is_json(report))
		return;
	allo_json_out_key_text(&report->json, name);
	allo_json_out_text(&report->json, value);
}

void allo_report_object(struct allo_report *report, const char *name)
{
	if (begin_field(report, name))
		allo_json_out_begin(&report->json, '{');
}

void allo_report_list(struct allo_report *report, const char *name)
{
	if (begin_field(report, name))
		allo_json_out_begin(&report->json, '[');
}

void allo_report_close(struct allo_report *report)
{
	if (is_json(report))
		allo_json_out_end(&report->json);
}

/* Tables. */

static const struct allo_column *column_at(const struct allo_report *report, size_t column)
{
	ALLO_ASSERT(report->table.is && column < report->table.is->count);
	return &report->table.is->columns[column];
}

/* The title of a column in the report's format; NULL: the format does not have it. */
static const char *title_of(const struct allo_report *report, size_t column)
{
	const struct allo_column *of = column_at(report, column);
	const char *title = report->options.format == ALLO_REPORT_CSV ? of->csv : of->title;

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
	return is_json(report) && report->table.is->json;
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
	report->table.titles[column] = keep(report, title);
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
		allo_table_csv_cell(report->out, cell_at(report, i, is_title));
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
		put_markdown(out, cell_at(report, i, is_title), false);
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
			allo_table_cell(&report->table.text, cell_at(report, i, is_title), &err);
	}
	if (allo_failed(&err))
		allo_report_fail_memory(report);
}

static void begin_text(struct allo_report *report)
{
	const struct allo_style *style = &report->options.style;
	struct allo_table *text = &report->table.text;

	*text = (struct allo_table){ .style_end = style->reset,
				     .max_width = report->table.is->is_whole
							  ? 0
							  : report->options.max_width,
				     .indent = report->table.is->indent };
	for (size_t i = 0; i < report->table.is->count; i++) {
		const struct allo_column *column = &report->table.is->columns[i];

		if (!title_of(report, i))
			continue;
		text->is_left[text->columns] = is_left(column);
		text->min_width[text->columns] = column->min_width;
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
	if (report->options.format == ALLO_REPORT_CSV)
		put_csv_row(report, is_title);
	else if (is_markdown(report))
		put_markdown_row(report, is_title);
	else
		put_text_row(report, is_title);
}

static void put_titles(struct allo_report *report)
{
	bool is_text = report->options.format == ALLO_REPORT_TEXT;

	report->table.has_titles = true;
	if (is_markdown(report))
		begin_block(report, ALLO_BLOCK_NONE);
	if (is_text)
		begin_text(report);
	/* Tables of the same columns are one in CSV. */
	if (report->options.format == ALLO_REPORT_CSV && report->csv_titles == report->table.is)
		return;
	report->csv_titles = report->table.is;
	if (!is_text || !report->table.is->has_no_titles)
		put_row(report, true);
}

static void end_row(struct allo_report *report)
{
	if (is_json(report)) {
		if (is_in_json(report))
			allo_json_out_end(&report->json);
		ALLO_ASSERT(report->json.depth == report->depth);
	} else if (has_columns(report)) {
		if (!report->table.has_titles)
			put_titles(report);
		put_row(report, false);
	}
	memset(report->table.cells, 0, sizeof(report->table.cells));
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
			 report->options.format == ALLO_REPORT_CSV;

	if (report->table.has_row)
		end_row(report);
	if (is_in_json(report))
		allo_report_close(report);
	else if (!is_json(report) && !report->table.has_titles && is_wanted && has_columns(report))
		put_titles(report);
	if (report->table.text.cells.len > 0)
		allo_table_print(&report->table.text, report->out);
	allo_table_done(&report->table.text);
	report->table.is = NULL;
}

/* Cells. */

/* Whether the format is JSON, and has the cell: then the value follows. */
static bool begin_json_cell(struct allo_report *report, size_t column)
{
	const struct allo_column *of = column_at(report, column);

	ALLO_ASSERT(report->table.has_row);
	return is_in_json(report) && of->json && !report->table.is_hidden[column] &&
	       begin_field(report, of->json);
}

/* Whether another format has it: then its text does. */
static bool has_cell(const struct allo_report *report, size_t column)
{
	return !is_json(report) && title_of(report, column);
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
	bool is_csv = report->options.format == ALLO_REPORT_CSV;
	char text[ALLO_NUMBER_SIZE];

	if (begin_json_cell(report, column))
		put_json_number(report, number);
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
		allo_cell_number(report, column, number_of(report, value, unit),
				 (enum allo_unit)unit);
		return;
	}
	if (begin_json_cell(report, column))
		allo_json_out_u64(&report->json, value);
	snprintf(text, sizeof(text), "%llu", (unsigned long long)value);
	set_cell(report, column, allo_text_of(text));
}

void allo_cell_share(struct allo_report *report, size_t column, double part, double whole)
{
	bool is_csv = report->options.format == ALLO_REPORT_CSV;
	char text[ALLO_NUMBER_SIZE];

	if (begin_json_cell(report, column))
		allo_json_out_double(&report->json, whole == 0 ? 0 : 100 * part / whole);
	set_cell(report, column, allo_text_of(allo_show_share(part, whole, is_csv, text)));
}

void allo_cell_text(struct allo_report *report, size_t column, struct allo_text text)
{
	if (begin_json_cell(report, column))
		allo_json_out_text(&report->json, text);
	set_cell(report, column, text);
}

void allo_cell_string(struct allo_report *report, size_t column, const char *string)
{
	allo_cell_text(report, column, allo_text_of(string));
}

void allo_cell_missing(struct allo_report *report, size_t column)
{
	if (allo_report_is_prose(report))
		set_cell(report, column, ALLO_TEXT("-"));
}

void allo_cell_place(struct allo_report *report, size_t column, struct allo_text name,
		     struct allo_text file, uint64_t line)
{
	struct allo_text base = allo_basename(file);
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
