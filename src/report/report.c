/* report.c - lines and JSON members: each call is printed at once, in the report's format. */
#include "report/report.h"

#include "base/assert.h"
#include "base/utf8.h"
#include "report/markdown.h"
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
	if (options->format != ALLO_REPORT_TEXT)
		allo_output_clean_terminal(&report->own);
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
	allo_shown_names_done(&report->names);
	allo_ownership_done(&report->ownership);
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

struct allo_number allo_report_estimate(const struct allo_report *report, uint64_t value,
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
		report, allo_report_estimate(report, value, (enum allo_column_unit)unit), unit);
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

/* Names of functions. */

void allo_report_add_name(struct allo_report *report, struct allo_text full)
{
	if (allo_report_is_prose(report) && !report->options.has_full_names)
		allo_shown_names_add(&report->names, full);
}

struct allo_text allo_report_name(struct allo_report *report, struct allo_text full)
{
	if (!allo_report_is_prose(report) || report->options.has_full_names)
		return full;
	return allo_shown_names_find(&report->names, full);
}

void allo_report_field_short(struct allo_report *report, struct allo_text full)
{
	struct allo_text brief;

	if (!is_json(report) || report->options.has_full_names)
		return;
	brief = allo_shown_names_find(&report->names, full);
	if (!allo_text_equal(brief, full))
		allo_report_field_text(report, "short", brief);
}

/* Lines. */

void allo_report_begin_block(struct allo_report *report, enum allo_report_block block)
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

static void begin_markdown_line(struct allo_report *report)
{
	allo_report_begin_block(report, report->is_item ? ALLO_BLOCK_LIST : ALLO_BLOCK_TEXT);
	allo_output_string(report->out, report->is_heading ? "### " : report->is_item ? "- " : "");
}

const char *allo_report_escape(const struct allo_report *report, enum allo_text_style role)
{
	const struct allo_style *style = &report->options.style;

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
	case ALLO_STYLE_HOT:
		return style->hot;
	case ALLO_STYLE_PLAIN:
		break;
	}
	return "";
}

/* Of lines that go on below. */
enum { INDENT = 4 };

static void break_line(struct allo_report *report)
{
	allo_output_printf(report->out, "\n%*s", INDENT, "");
	report->column = INDENT;
}

/* Breaks a line that is too long, except before its first word. */
static void put_words(struct allo_report *report, struct allo_text text)
{
	size_t width = report->options.max_width;

	if (width == 0 || report->options.keeps_lines) {
		allo_output_printable(report->out, text);
		return;
	}
	while (text.len > 0) {
		struct allo_text part = allo_show_next(&text);
		size_t columns = allo_utf8_columns(part);

		if (report->column > INDENT && part.data[0] == ' ' &&
		    report->column + columns > width) {
			break_line(report);
			part = allo_text_trim(part);
			columns = allo_utf8_columns(part);
		}
		allo_output_printable(report->out, part);
		report->column += columns;
	}
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
	allo_markdown_put(report->out, text, is_start && !report->is_item);
	allo_output_string(report->out, mark);
}

void allo_report_put_text(struct allo_report *report, enum allo_text_style style,
			  struct allo_text text)
{
	const char *escape = allo_report_escape(report, style);

	if (!allo_report_is_prose(report))
		return;
	ALLO_ASSERT(!report->table.is);
	if (is_markdown(report)) {
		put_markdown_piece(report, style, text);
		return;
	}
	report->in_line = true;
	allo_output_string(report->out, escape);
	put_words(report, text);
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
	report->column = 0;
}

void allo_report_line(struct allo_report *report, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	put_format(report, ALLO_STYLE_PLAIN, fmt, args);
	va_end(args);
	allo_report_end_line(report);
}

void allo_report_put_name(struct allo_report *report, enum allo_text_style style,
			  struct allo_text name)
{
	/* A shorter rest of a name says too little. */
	enum { LEAST = 30 };
	size_t width = report->options.max_width;
	const char *escape = allo_report_escape(report, style);

	if (!allo_report_is(report, ALLO_REPORT_TEXT) || width == 0 ||
	    report->options.keeps_lines || report->column + allo_utf8_columns(name) <= width) {
		allo_report_put_text(report, style, name);
		return;
	}
	if (report->column > INDENT && report->column + LEAST > width)
		break_line(report);
	allo_output_string(report->out, escape);
	allo_report_put_cut(report, name,
			    width > report->column + LEAST ? width - report->column : LEAST);
	if (escape[0] != '\0')
		allo_output_string(report->out, report->options.style.reset);
}

void allo_report_put_cut(struct allo_report *report, struct allo_text text, size_t columns)
{
	if (report->options.format != ALLO_REPORT_TEXT) {
		allo_report_put_text(report, ALLO_STYLE_PLAIN, text);
		return;
	}
	report->in_line = true;
	allo_show_cut(report->out, text, columns, false);
	report->column += columns ? columns : allo_utf8_columns(text);
}

void allo_report_wrapped(struct allo_report *report, const char *text, size_t column)
{
	enum { PAGE_COLUMNS = 80 };
	size_t width = report->options.max_width;

	if (report->options.format != ALLO_REPORT_TEXT) {
		allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(text));
		allo_report_end_line(report);
		return;
	}
	allo_show_flow(report->out, allo_text_of(text), column,
		       width > 0 && width < PAGE_COLUMNS ? width : PAGE_COLUMNS);
	allo_output_byte(report->out, '\n');
	report->in_line = report->is_item = report->is_heading = false;
	report->column = 0;
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
	put_format(report, ALLO_STYLE_DIM, fmt, args);
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
		allo_report_begin_block(report, ALLO_BLOCK_FENCE);
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

void allo_report_field_number(struct allo_report *report, const char *name,
			      struct allo_number number)
{
	if (!begin_field(report, name))
		return;
	if (!number.is_negative)
		allo_json_out_u64(&report->json, number.magnitude);
	else if (number.magnitude <= (uint64_t)INT64_MAX)
		allo_json_out_i64(&report->json, -(int64_t)number.magnitude);
	else
		allo_json_out_i64(&report->json, INT64_MIN);
}

void allo_report_field_sum(struct allo_report *report, const char *name, allo_sum value)
{
	allo_report_field_number(report, name, allo_sum_number(value));
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
