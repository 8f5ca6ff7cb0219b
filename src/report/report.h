/*
 * report.h - a result that is described once and printed as text, CSV, JSON or Markdown.
 *
 * A command makes the same calls for every format, and each format ignores the calls that it does
 * not show:
 *
 *     call                                     text   Markdown        CSV    JSON
 *     allo_report_line, _put, _end_line        line   paragraph       -      -
 *     allo_report_heading, then _put           line   heading         -      -
 *     allo_report_fact, then _put              line   list item       -      -
 *     allo_report_note                         line   list item       -      -
 *     allo_report_drawing                      as is  fenced block    -      -
 *     allo_report_field_*, _object, _list      -      -               -      members
 *     allo_report_table, _row, allo_cell_*     table  pipe table      rows   list of objects
 *
 * Names of functions are short in text and Markdown, full in CSV, and both in JSON.
 *
 * One array describes the columns of a table: the title for people, the names in CSV and JSON (NULL
 * where a format does not have the column) and the unit.  Its positions are an enum:
 *
 *     enum { NAME, FILE, LINE, BYTES, SHARE, COLUMNS };
 *     static const struct allo_column columns[COLUMNS] = {
 *             [NAME]  = { "function", "function", "name", ALLO_CELL_TEXT, .is_bold = true },
 *             [BYTES] = { "bytes", "bytes", "bytes", ALLO_CELL_BYTES },
 *             [SHARE] = { "share", "share%", NULL, ALLO_CELL_SHARE },
 *     };
 *     static const struct allo_report_table table = { "rows", columns, COLUMNS };
 *
 *     static void describe(struct allo_report *report, const struct result *result)
 *     {
 *             allo_report_line(report, "%s in %s", allo_report_bytes(report, result->bytes),
 *                              allo_report_counted(report, result->blocks, "block"));
 *             allo_report_field_u64(report, "bytes", result->bytes);
 *             allo_report_table(report, &table);
 *             for (...) {
 *                     allo_report_row(report);
 *                     allo_cell_text(report, NAME, row->name);
 *                     allo_cell_u64(report, BYTES, row->bytes);
 *                     allo_cell_share(report, SHARE, (double)row->bytes, (double)result->bytes);
 *             }
 *             allo_report_end_table(report);
 *     }
 *
 *     static bool print(...)
 *     {
 *             ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
 *
 *             if (!allo_common_report(&opt->common, &report, is_estimated, err))
 *                     return false;
 *             describe(&report, result);
 *             return allo_common_finish(&opt->common, &report, &profile->notes, err);
 *     }
 *
 * Text and CSV have the columns in the order of the array, JSON has the members in the order of the
 * calls.  A cell that is not set is empty in text and CSV and absent in JSON.  Lists and objects
 * that are opened inside a row are members of the row's object.
 *
 * No call fails: the first failure is kept, and allo_report_finish() returns it.  All strings are
 * copied.  Texts from files may hold any bytes: each format escapes them.
 */
#ifndef ALLO_REPORT_REPORT_H
#define ALLO_REPORT_REPORT_H

#include "analysis/sites/ownership.h"
#include "analysis/sum.h"
#include "base/encoding/json_write.h"
#include "base/io/output.h"
#include "profile/shown_names.h"
#include "report/table.h"
#include "report/terminal.h"

#include <stddef.h>

enum allo_report_format {
	ALLO_REPORT_TEXT,
	ALLO_REPORT_MARKDOWN,
	ALLO_REPORT_CSV,
	ALLO_REPORT_JSON
};

struct allo_report_options {
	enum allo_report_format format;
	bool is_plain;       /* numbers without units and separators, in text and Markdown */
	bool is_estimated;   /* counts and bytes are estimates: "~412.7 MiB", "estimated": true */
	bool has_pager;      /* allo_report_open() may page the output */
	bool has_full_names; /* of functions, in text and Markdown */
	bool keeps_lines;    /* long lines are not broken */
	size_t max_width;    /* names are cut to fit lines of this many columns; 0: never */
	struct allo_style style;
	unsigned json_lines; /* levels of JSON whose members get a line each; 0: one line in all */
};

/* How a number is shown.  ALLO_CELL_ID has no separators and is never an estimate: line numbers,
 * thread ids.  The first three are those of enum allo_unit. */
enum allo_column_unit {
	ALLO_CELL_COUNT = ALLO_UNIT_COUNT,
	ALLO_CELL_BYTES = ALLO_UNIT_BYTES,
	ALLO_CELL_NS = ALLO_UNIT_NS,
	ALLO_CELL_ID,
	ALLO_CELL_SHARE,
	ALLO_CELL_TEXT,
};

struct allo_column {
	const char *title; /* for people; NULL: not in text and Markdown */
	const char *csv;   /* NULL: not in CSV */
	const char *json;  /* NULL: not in JSON */
	enum allo_column_unit unit;
	enum { ALLO_ALIGN_BY_UNIT, ALLO_ALIGN_LEFT, ALLO_ALIGN_RIGHT } align; /* texts: left */
	bool is_bold, is_green;
	bool is_wrapped;    /* in text, for the last column: long texts go on below */
	unsigned min_width; /* in text */
	/* For allo_report_numbers(): where the row's struct has this number, a uint64_t. */
	bool has_offset;
	bool needs_exact; /* missing in a report of estimates */
	size_t offset;
};

/* Initialises the offset of a column. */
#define ALLO_COLUMN_AT(type, member) .has_offset = true, .offset = offsetof(type, member)

struct allo_report_table {
	const char *json; /* the name of the list; NULL: not in JSON */
	const struct allo_column *columns;
	size_t count;       /* at most ALLO_TABLE_COLUMNS */
	unsigned indent;    /* spaces before each line of text */
	bool has_no_titles; /* in text; Markdown always has them */
	bool needs_rows;    /* in text and Markdown the titles are left out if there are no rows */
};

/* The open block of Markdown. */
enum allo_report_block { ALLO_BLOCK_NONE, ALLO_BLOCK_TEXT, ALLO_BLOCK_LIST, ALLO_BLOCK_FENCE };

/* All zeros: nothing to drop. */
struct allo_report {
	struct allo_report_options options;
	struct allo_output *out;

	/* Private from here on. */
	struct allo_output own;
	struct allo_json_out json;
	struct allo_arena arena; /* the line, and strings that the functions below return */
	struct {
		const struct allo_report_table *is; /* NULL: none is open */
		const char *titles[ALLO_TABLE_COLUMNS];
		bool is_hidden[ALLO_TABLE_COLUMNS];
		struct allo_text cells[ALLO_TABLE_COLUMNS]; /* of the row */
		const char *styles[ALLO_TABLE_COLUMNS];     /* of the row; NULL: the column's */
		struct allo_arena arena;                    /* of the row */
		struct allo_table text;                     /* rows so far, in text */
		bool has_row, has_titles;
	} table;
	const struct allo_report_table *csv_titles; /* of this table are printed */
	struct allo_shown_names names;
	struct allo_ownership ownership;    /* code_style.h: of the frames of */
	const struct allo_profile *profile; /* this one */
	enum allo_report_block block;
	bool in_line, is_started, is_item, is_heading;
	size_t column;  /* of the line, in text */
	unsigned depth; /* of JSON inside a row */
};

/* Opens standard output for a report, or prints it to `out`, which the caller finishes. */
bool allo_report_open(struct allo_report *report, const struct allo_report_options *options,
		      struct allo_error *err);
void allo_report_begin(struct allo_report *report, const struct allo_report_options *options,
		       struct allo_output *out);

/* Ends the report.  Without allo_report_open(), the output has the failure, if there was one. */
void allo_report_end(struct allo_report *report);

/* The same, and prints the rest: through a pager, if it does not fit the screen. */
bool allo_report_finish(struct allo_report *report, struct allo_error *err);

void allo_report_done(struct allo_report *report);

/* Says that a caller has run out of memory while it made a part of the report. */
void allo_report_fail_memory(struct allo_report *report);

/* Changes options.json_lines, right after the report was opened. */
static inline void allo_report_json_lines(struct allo_report *report, unsigned levels)
{
	report->json.pretty_depth = report->options.json_lines = levels;
}

static inline bool allo_report_is(const struct allo_report *report, enum allo_report_format format)
{
	return report->options.format == format;
}

/* Whether people read it: text or Markdown. */
static inline bool allo_report_is_prose(const struct allo_report *report)
{
	return report->options.format <= ALLO_REPORT_MARKDOWN;
}

/*
 * Numbers for sentences.  The strings live until the report ends.
 */

/* With the unit, as --bytes asks for; an estimate where the report is one and time is not meant. */
const char *allo_report_number(struct allo_report *report, uint64_t value, enum allo_unit unit);
const char *allo_report_format_number(struct allo_report *report, struct allo_number number,
				      enum allo_unit unit);
static inline const char *allo_report_bytes(struct allo_report *report, uint64_t bytes)
{
	return allo_report_number(report, bytes, ALLO_UNIT_BYTES);
}

/* "8,214,330": exact, and always with separators. */
const char *allo_report_count(struct allo_report *report, uint64_t count);

/* "1 block", "1,002 blocks": exact, and always with separators. */
const char *allo_report_counted(struct allo_report *report, uint64_t count, const char *noun);

/* "48.8%" */
const char *allo_report_share(struct allo_report *report, double part, double whole);

/* Any other string, by printf()'s rules. */
const char *allo_report_string(struct allo_report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A copy of a text, which lives as long. */
struct allo_text allo_report_text(struct allo_report *report, struct allo_text text);

/* "" for one, "s" for all others. */
static inline const char *allo_plural(uint64_t count)
{
	return count == 1 ? "" : "s";
}

/*
 * Names of functions.
 */

/* Says that a function will be shown: functions whose short names are equal get longer ones. */
void allo_report_add_name(struct allo_report *report, struct allo_text full);

/* The name to show, which stays until the next call. */
struct allo_text allo_report_name(struct allo_report *report, struct allo_text full);

/* The JSON member "short" of a function whose short name differs from its full name. */
void allo_report_field_short(struct allo_report *report, struct allo_text full);

/*
 * Lines of text.
 */

enum allo_text_style {
	ALLO_STYLE_PLAIN,
	ALLO_STYLE_BOLD,
	ALLO_STYLE_DIM,
	ALLO_STYLE_RED,
	ALLO_STYLE_GREEN,
	ALLO_STYLE_YELLOW,
	ALLO_STYLE_HOT, /* bold and red */
};

/* A whole line. */
void allo_report_line(struct allo_report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* A line in pieces, which allo_report_end_line() ends.  On a terminal, a long line goes on below.
 */
void allo_report_put(struct allo_report *report, enum allo_text_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void allo_report_put_text(struct allo_report *report, enum allo_text_style style,
			  struct allo_text text);
void allo_report_end_line(struct allo_report *report);

/* A piece that is a name: what does not fit on the rest of a terminal's line stands below, and
 * loses its middle if it does not fit there either. */
void allo_report_put_name(struct allo_report *report, enum allo_text_style style,
			  struct allo_text name);

/* A piece that is cut in the middle to fit `columns` of text; 0: whole. */
void allo_report_put_cut(struct allo_report *report, struct allo_text text, size_t columns);

/* The rest of a line that has `column` columns: long text goes on below, from there on. */
void allo_report_wrapped(struct allo_report *report, const char *text, size_t column);

/* Says that the line that begins now is a heading. */
void allo_report_heading(struct allo_report *report);

/* Begins a line of facts, "  program   ", which goes on with allo_report_put(). */
void allo_report_fact(struct allo_report *report, const char *name);

/* A remark on the lines above: a whole line. */
void allo_report_note(struct allo_report *report, const char *fmt, ...)
	__attribute__((format(printf, 2, 3)));

/* An empty line of text. */
void allo_report_blank(struct allo_report *report);

/* Where to draw lines whose characters must stay where they are, such as charts and trees; NULL
 * where the format shows none.  The drawing ends with the next other call. */
struct allo_output *allo_report_drawing(struct allo_report *report);

/*
 * Members of JSON objects; with NULL for a name, items of a list.
 */

void allo_report_field_u64(struct allo_report *report, const char *name, uint64_t value);
void allo_report_field_i64(struct allo_report *report, const char *name, int64_t value);
void allo_report_field_number(struct allo_report *report, const char *name,
			      struct allo_number number);
void allo_report_field_sum(struct allo_report *report, const char *name, allo_sum value);
void allo_report_field_double(struct allo_report *report, const char *name, double value);
void allo_report_field_exact(struct allo_report *report, const char *name, double value);
void allo_report_field_null(struct allo_report *report, const char *name);
void allo_report_field_bool(struct allo_report *report, const char *name, bool value);
void allo_report_field_string(struct allo_report *report, const char *name, const char *value);

/* A text that is empty is left out. */
void allo_report_field_text(struct allo_report *report, const char *name, struct allo_text value);

/* A text that is there even if it is empty. */
void allo_report_field_name(struct allo_report *report, const char *name, struct allo_text value);

/* Members that are JSON already: "a":1,"b":[2].  Not empty. */
void allo_report_members(struct allo_report *report, struct allo_text members);

/* A member whose name is from a file, too, such as a label. */
void allo_report_field_pair(struct allo_report *report, struct allo_text name,
			    struct allo_text value);

void allo_report_object(struct allo_report *report, const char *name);
void allo_report_list(struct allo_report *report, const char *name);
void allo_report_close(struct allo_report *report); /* the object or list */

/*
 * Tables.
 */

void allo_report_table(struct allo_report *report, const struct allo_report_table *table);
void allo_report_end_table(struct allo_report *report);

/* Before the first row: leaves a column out, and gives it another title in all but JSON. */
void allo_report_hide(struct allo_report *report, size_t column);
void allo_report_retitle(struct allo_report *report, size_t column, const char *title);

/* Begins a row. */
void allo_report_row(struct allo_report *report);

/* By the column's unit, and an estimate as in allo_report_number(). */
void allo_cell_u64(struct allo_report *report, size_t column, uint64_t value);
void allo_cell_number(struct allo_report *report, size_t column, struct allo_number number,
		      enum allo_unit unit);

/* A difference: with a '+' if it is positive, but not in JSON. */
void allo_cell_change(struct allo_report *report, size_t column, struct allo_number number,
		      enum allo_unit unit);

/* 48.8%, 48.8123 in CSV and JSON. */
void allo_cell_share(struct allo_report *report, size_t column, double part, double whole);

void allo_cell_text(struct allo_report *report, size_t column, struct allo_text text);
void allo_cell_string(struct allo_report *report, size_t column, const char *string);

/* One cell of several texts, one after the other. */
void allo_cell_join(struct allo_report *report, size_t column, const struct allo_text *texts,
		    size_t count);

/* Shows a cell of the row in another style than its column's. */
void allo_cell_style(struct allo_report *report, size_t column, enum allo_text_style style);

/* "-", empty in CSV and absent in JSON. */
void allo_cell_missing(struct allo_report *report, size_t column);

/* A place in the source: "name  file.c:12" as far as known.  In CSV and JSON, the file and the line
 * are the next two columns. */
void allo_cell_place(struct allo_report *report, size_t column, struct allo_text name,
		     struct allo_text file, uint64_t line);

/* The cells of all columns that have an offset, from the row's struct. */
void allo_report_numbers(struct allo_report *report, const void *row);

/*
 * Only for the files of this folder that print a part of a report.
 */

/* Starts a paragraph, list, table or fence of Markdown: an empty line parts them. */
void allo_report_begin_block(struct allo_report *report, enum allo_report_block block);

/* The escape sequence of a style; empty if there is none. */
const char *allo_report_escape(const struct allo_report *report, enum allo_text_style style);

/* A count or a size, which is an estimate if the report is one. */
struct allo_number allo_report_estimate(const struct allo_report *report, uint64_t value,
					enum allo_column_unit unit);

#endif
