/* cmd_sql.c - allo sql: runs SQL queries on a recording or profile. */
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/csv.h"
#include "base/utf8.h"
#include "cli/common.h"
#include "engine/make_database.h"
#include "report/markdown.h"
#include "report/messages.h"
#include "report/show.h"
#include "sql/reports.h"
#include "sql/sql_session.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct sql {
	struct allo_common common;
	uint64_t timeout_ns;
	int report; /* -1: none */
	bool write;
};

static const struct sql defaults = { .report = -1 };

#define AT(field) offsetof(struct sql, field)
static const struct allo_option options[] = {
	OPT_CHOICE(0, "report", "NAME", report, allo_report_names,
		   "run a prepared query: functions, growth, leaks, lifetimes, modules, reallocs, "
		   "sites, sizes, temporary, threads or timeline; '.reports' in place of a query "
		   "explains them"),
	OPT_TIME(0, "timeout", "TIME", timeout_ns,
		 "stop queries that take longer: 10s, 500ms (default: no limit)"),
	OPT_FLAG(0, "write", write,
		 "let statements change a database that 'allo convert' has made"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Queries", options };

static const struct allo_option_group *const groups[] = { &group,
							  &allo_table_group,
							  &allo_printing_group,
							  &allo_view_group,
							  &allo_wrappers_group,
							  &allo_symbols_group,
							  &allo_reading_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo sql server.allo \"select function, sum(peak_bytes) from site group by 1 order by 2 "
	  "desc limit 5\"",
	  "the functions that held the most at the peak" },
	{ "allo sql server.allo --report leaks", "a prepared query" },
	{ "allo sql server.allo --csv < query.sql > result.csv", "SQL from a file" },
	{ "allo sql server.allo", "a prompt" },
	{ NULL, NULL },
};

/*
 * Rows of a query as a table, Markdown, CSV or JSON.  The first rows decide the widths of a table's
 * columns; only those rows are kept in memory, and later ones are printed as they come.
 */

enum {
	KEPT_ROWS = 500,
	MIN_CUT_WIDTH = 12, /* columns are not cut below this width to fit a terminal */
};

struct row_printer {
	struct allo_output *out;
	const struct allo_common *common;
	struct allo_style style;

	/* Of the current statement. */
	struct allo_report report; /* in JSON: one object per statement */
	struct allo_arena arena;
	ALLO_VEC(struct allo_text) cells; /* row by row, the titles first */
	ALLO_VEC(size_t) widths;
	ALLO_VEC(bool) is_number;
	size_t columns, tables;
	uint64_t rows;
	bool has_widths; /* the titles are printed, and the columns of the table known */
};

static void row_printer_done(struct row_printer *printer)
{
	allo_report_done(&printer->report);
	allo_arena_done(&printer->arena);
	allo_vec_done(&printer->cells);
	allo_vec_done(&printer->widths);
	allo_vec_done(&printer->is_number);
}

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

/* Valid until the statement's next step; a blob lives as long as the arena. */
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

/* As a table. */

static bool keep_cell(struct row_printer *printer, struct allo_text text, struct allo_error *err)
{
	struct allo_text copy = { allo_arena_copy(&printer->arena, text.data, text.len), text.len };

	return (copy.data && allo_vec_append(&printer->cells, &copy, 1)) || allo_fail_memory(err);
}

static size_t total_width(const struct row_printer *printer)
{
	size_t total = 0;

	for (size_t i = 0; i < printer->columns; i++)
		total += printer->widths.at[i] + (i ? 2 : 0);
	return total;
}

/* Narrows the widest text column until the table fits the terminal. */
static void fit_width(struct row_printer *printer)
{
	size_t max_width = allo_common_width(printer->common), total = total_width(printer);

	while (max_width > 0 && total > max_width) {
		size_t widest = 0, *width;

		for (size_t i = 0; i < printer->columns; i++) {
			if (!printer->is_number.at[i] &&
			    (printer->is_number.at[widest] ||
			     printer->widths.at[i] > printer->widths.at[widest]))
				widest = i;
		}
		width = &printer->widths.at[widest];
		if (printer->is_number.at[widest] || *width <= MIN_CUT_WIDTH)
			return;
		--*width;
		total--;
	}
}

static void put_cell(struct row_printer *printer, size_t column, struct allo_text text)
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

/* Sets the widths of the columns, and prints the rows so far. */
static void print_kept_rows(struct row_printer *printer)
{
	ALLO_ASSERT(printer->cells.len % printer->columns == 0);
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
	printer->has_widths = true;
	printer->cells.len = 0;
	allo_arena_done(&printer->arena);
}

static bool begin_table(struct row_printer *printer, sqlite3_stmt *statement,
			struct allo_error *err)
{
	printer->widths.len = printer->is_number.len = printer->cells.len = 0;
	printer->has_widths = false;
	if (!allo_vec_cover(&printer->widths, printer->columns) ||
	    !allo_vec_cover(&printer->is_number, printer->columns))
		return allo_fail_memory(err);
	for (size_t i = 0; i < printer->columns; i++) {
		/* Until a text comes; Markdown looks at the first row. */
		printer->is_number.at[i] = !printer->common->markdown;
		if (!keep_cell(printer, column_name(statement, (int)i), err))
			return false;
	}
	return true;
}

static bool add_table_row(struct row_printer *printer, sqlite3_stmt *statement,
			  struct allo_error *err)
{
	for (size_t i = 0; i < printer->columns; i++) {
		int type = sqlite3_column_type(statement, (int)i);
		struct allo_text text = value_text(statement, (int)i, "NULL", &printer->arena);

		if (printer->has_widths) {
			put_cell(printer, i, text);
			continue;
		}
		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			printer->is_number.at[i] = false;
		if (!keep_cell(printer, text, err))
			return false;
	}
	if (printer->has_widths)
		allo_arena_done(&printer->arena);
	else if (printer->rows + 1 == KEPT_ROWS)
		print_kept_rows(printer);
	return true;
}

/* As Markdown. */

static void put_markdown_cell(struct row_printer *printer, struct allo_text text)
{
	allo_output_string(printer->out, "| ");
	allo_markdown_put(printer->out, text, false);
	allo_output_byte(printer->out, ' ');
}

/* The titles, which were kept: the first row tells which columns are numbers. */
static void put_markdown_titles(struct row_printer *printer)
{
	if (printer->tables++ > 0)
		allo_output_byte(printer->out, '\n');
	for (size_t i = 0; i < printer->columns; i++)
		put_markdown_cell(printer, printer->cells.at[i]);
	allo_output_string(printer->out, "|\n");
	for (size_t i = 0; i < printer->columns; i++)
		allo_output_string(printer->out, printer->is_number.at[i] ? "| ---: " : "| :--- ");
	allo_output_string(printer->out, "|\n");
	printer->has_widths = true;
}

static void put_markdown_row(struct row_printer *printer, sqlite3_stmt *statement)
{
	for (size_t i = 0; i < printer->columns && !printer->has_widths; i++) {
		int type = sqlite3_column_type(statement, (int)i);

		printer->is_number.at[i] = type == SQLITE_INTEGER || type == SQLITE_FLOAT;
	}
	if (!printer->has_widths)
		put_markdown_titles(printer);
	for (size_t i = 0; i < printer->columns; i++)
		put_markdown_cell(printer, value_text(statement, (int)i, "NULL", &printer->arena));
	allo_output_string(printer->out, "|\n");
	allo_arena_done(&printer->arena);
}

/* As CSV. */

static void put_csv_row(struct row_printer *printer, sqlite3_stmt *statement, bool is_title)
{
	for (size_t i = 0; i < printer->columns; i++) {
		if (i > 0)
			allo_output_byte(printer->out, ',');
		allo_csv_put(printer->out,
			     is_title ? column_name(statement, (int)i)
				      : value_text(statement, (int)i, "", &printer->arena));
	}
	allo_output_string(printer->out, "\r\n");
	allo_arena_done(&printer->arena);
}

/* As JSON: one object per statement, in one line. */

static void begin_json(struct row_printer *printer, sqlite3_stmt *statement)
{
	struct allo_report_options chosen = allo_common_report_options(printer->common, false);

	chosen.json_lines = 0;
	allo_report_done(&printer->report);
	printer->report = (struct allo_report){ 0 };
	allo_report_begin(&printer->report, &chosen, printer->out);
	allo_report_list(&printer->report, "columns");
	for (size_t i = 0; i < printer->columns; i++)
		allo_report_field_name(&printer->report, NULL, column_name(statement, (int)i));
	allo_report_close(&printer->report);
	allo_report_list(&printer->report, "rows");
}

static void put_json_value(struct row_printer *printer, sqlite3_stmt *statement, int column)
{
	struct allo_report *report = &printer->report;

	switch (sqlite3_column_type(statement, column)) {
	case SQLITE_INTEGER:
		allo_report_field_i64(report, NULL, sqlite3_column_int64(statement, column));
		break;
	case SQLITE_FLOAT:
		allo_report_field_exact(report, NULL, sqlite3_column_double(statement, column));
		break;
	case SQLITE_NULL:
		allo_report_field_null(report, NULL);
		break;
	default:
		allo_report_field_name(report, NULL,
				       value_text(statement, column, "", &printer->arena));
	}
}

static void put_json_row(struct row_printer *printer, sqlite3_stmt *statement)
{
	allo_report_list(&printer->report, NULL);
	for (size_t i = 0; i < printer->columns; i++)
		put_json_value(printer, statement, (int)i);
	allo_report_close(&printer->report);
	allo_arena_done(&printer->arena);
}

/* As text with line breaks; in Markdown, as indented code. */

static bool begin_prose(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	(void)context;
	(void)statement;
	(void)err;
	return true;
}

static bool add_prose(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	struct row_printer *printer = context;
	struct allo_text rest = value_text(statement, 0, "", &printer->arena), line;

	(void)err;
	while (allo_text_next(&rest, '\n', &line)) {
		allo_output_string(printer->out, printer->common->markdown ? "    " : "");
		for (; line.len > 0 && line.data[0] == '\t'; line = allo_text_from(line, 1))
			allo_output_string(printer->out, "    ");
		allo_output_printable(printer->out, line);
		allo_output_byte(printer->out, '\n');
	}
	return !allo_failed(&printer->out->failure);
}

static bool end_prose(void *context, struct allo_error *err)
{
	(void)context;
	(void)err;
	return true;
}

/* A table, CSV or JSON. */

static bool begin_rows(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	struct row_printer *printer = context;

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
	struct row_printer *printer = context;
	bool ok = true;

	if (printer->common->json)
		put_json_row(printer, statement);
	else if (printer->common->csv)
		put_csv_row(printer, statement, false);
	else if (printer->common->markdown)
		put_markdown_row(printer, statement);
	else
		ok = add_table_row(printer, statement, err);
	printer->rows++;
	/* Stop if the output has failed: its reader may be gone. */
	return ok && !allo_failed(&printer->out->failure);
}

static bool end_rows(void *context, struct allo_error *err)
{
	struct row_printer *printer = context;

	(void)err;
	if (printer->common->json) {
		allo_report_close(&printer->report);
		allo_report_end(&printer->report);
	} else if (printer->common->markdown && !printer->has_widths) {
		put_markdown_titles(printer);
	} else if (!printer->common->csv && !printer->has_widths) {
		print_kept_rows(printer);
	}
	return true;
}

/* For allo_sql_query(). */
static struct allo_sql_sink row_printer_sink(struct row_printer *printer, bool is_prose)
{
	if (is_prose)
		return (struct allo_sql_sink){ begin_prose, add_prose, end_prose, printer };
	return (struct allo_sql_sink){ begin_rows, add_row, end_rows, printer };
}

/* Statements, and the words that begin with a dot. */

static void print_reports_as_markdown(struct row_printer *printer)
{
	allo_output_string(printer->out, "| report | result |\n| :--- | :--- |\n");
	for (size_t i = 0; allo_report_names[i]; i++) {
		put_markdown_cell(printer, allo_text_of(allo_report_names[i]));
		put_markdown_cell(printer, allo_report_title(i));
		allo_output_string(printer->out, "|\n");
	}
}

static bool print_reports(struct row_printer *printer, size_t width)
{
	enum { TITLE_COLUMN = 12 };
	struct allo_output *out = printer->out;

	if (printer->common->markdown) {
		print_reports_as_markdown(printer);
		return true;
	}
	for (size_t i = 0; allo_report_names[i]; i++) {
		allo_output_printf(out, "%-*s", TITLE_COLUMN, allo_report_names[i]);
		allo_show_flow(out, allo_report_title(i), TITLE_COLUMN, width ? width : SIZE_MAX);
		allo_output_byte(out, '\n');
	}
	return true;
}

/* A word that stands for a query; .reports is printed without one. */
static const struct word {
	const char *name, *sql, *about;
	bool is_prose; /* the text of a single column, which has line breaks */
} words[] = {
	{ ".tables",
	  "select name, type from sqlite_schema where type in ('table', 'view') order by type, name",
	  "the names of all tables and views" },
	{ ".schema",
	  /* A view of the session is next to the table of its name. */
	  "select sql || ';' as schema from (select 0 as is_temp, type, name, sql from "
	  "sqlite_schema union all select 1, coalesce((select m.type from sqlite_schema m where "
	  "m.name = t.name), t.type), name, 'CREATE TEMP' || substr(sql, 7) from "
	  "sqlite_temp_schema t) where sql is not null order by type, name, is_temp",
	  "their definitions, with all columns", .is_prose = true },
	{ ".reports", NULL, "prepared queries for --report" },
	{ .name = NULL },
};

static const struct word *word_of(struct allo_text text)
{
	text = allo_text_trim(text);
	if (allo_text_ends(text, ALLO_TEXT(";")))
		text.len--;
	for (const struct word *word = words; word->name; word++) {
		if (allo_text_equal(text, allo_text_of(word->name)))
			return word;
	}
	return NULL;
}

/* Runs statements or a word, and prints the result.  `from` names the text in messages. */
static bool run_text(struct allo_sql_session *session, const struct allo_common *common,
		     const char *sql, const char *from, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(row_printer_done)
	struct row_printer printer = { .out = &out,
				       .common = common,
				       .style = allo_common_style(common) };
	const struct word *word = word_of(allo_text_of(sql));
	bool is_prose = word && word->is_prose && !common->json && !common->csv;
	struct allo_sql_sink sink = row_printer_sink(&printer, is_prose);
	bool ok;

	if (!allo_common_begin(common, &out, err))
		return false;
	ok = word && !word->sql ? print_reports(&printer, allo_common_width(common))
				: allo_sql_query(session, word ? word->sql : sql, from, &sink, err);
	/* Results of earlier statements are printed even if a later one fails. */
	return allo_common_end(common, &out, NULL, ok ? err : &(struct allo_error){ 0 }) && ok;
}

/* The prompt. */

static void print_help(void)
{
	fprintf(stderr, "Statements end with a semicolon. Commands:\n");
	for (const struct word *word = words; word->name; word++)
		fprintf(stderr, "  %-10s%s\n", word->name, word->about);
	fprintf(stderr, "  %-10s%s\n", ".quit", "quit, like Ctrl-D; Ctrl-C stops a query");
}

/* Input so far: a statement may take several lines. */
struct typed {
	ALLO_VEC(char) text;
	char *line;
	size_t room;
};

static void typed_done(struct typed *typed)
{
	allo_vec_done(&typed->text);
	free(typed->line);
}

static void wake(int signal)
{
	(void)signal;
}

/* Reads the next line; false at the end.  Ctrl-C discards the input so far or, if there is none,
 * ends the prompt. */
static bool read_line(struct typed *typed, ssize_t *len)
{
	struct sigaction stop = { .sa_handler = wake }, before;

	sigaction(SIGINT, &stop, &before);
	for (;;) {
		fprintf(stderr, typed->text.len ? "  ...> " : "allo> ");
		errno = 0;
		*len = getline(&typed->line, &typed->room, stdin);
		if (*len >= 0 || errno != EINTR || typed->text.len == 0)
			break;
		clearerr(stdin);
		typed->text.len = 0;
		fputc('\n', stderr);
	}
	sigaction(SIGINT, &before, NULL);
	if (*len < 0)
		fputc('\n', stderr);
	return *len >= 0;
}

static bool run_typed(struct allo_sql_session *session, const struct allo_common *common,
		      struct typed *typed, struct allo_error *err)
{
	struct allo_error failure = { 0 };

	run_text(session, common, typed->text.at, "query", &failure);
	if (session->is_interrupted)
		fprintf(stderr, "stopped\n");
	if (failure.code == ALLO_NOMEM || failure.code == ALLO_IO) {
		*err = failure;
		return false;
	}
	if (allo_failed(&failure))
		allo_say_error(&failure);
	typed->text.len = 0;
	return true;
}

/* Runs statements from the terminal and prints their errors there. */
static bool run_prompt(struct allo_sql_session *session, const struct allo_common *common,
		       struct allo_error *err)
{
	ALLO_DEFER(typed_done) struct typed typed = { 0 };
	ssize_t len;

	if (!common->quiet)
		allo_say("SQL on %s; .help lists commands, .quit quits", session->name);
	while (read_line(&typed, &len)) {
		struct allo_text word = allo_text_trim(
			(struct allo_text){ typed.line, (size_t)len });

		if (typed.text.len == 0 && word.len == 0)
			continue;
		if (typed.text.len == 0 && allo_text_equal(word, ALLO_TEXT(".quit")))
			return true;
		if (typed.text.len == 0 && allo_text_equal(word, ALLO_TEXT(".help"))) {
			print_help();
			continue;
		}
		if (!allo_vec_append(&typed.text, typed.line, (size_t)len + 1))
			return allo_fail_memory(err);
		if (word_of(word) || word.data[0] == '.' || sqlite3_complete(typed.text.at)) {
			if (!run_typed(session, common, &typed, err))
				return false;
		} else {
			typed.text.len--; /* the NUL */
		}
	}
	return true;
}

/* The command. */

/* Reads all of standard input, and ends it with a NUL. */
static bool read_sql(struct allo_input *in, struct allo_output *text, struct allo_error *err)
{
	struct allo_output_options plain = { 0 };
	struct allo_text all;

	if (!allo_input_open(in, "-", NULL, err) || !allo_output_open_memory(text, &plain, err) ||
	    !allo_input_all(in, &all, err))
		return false;
	allo_output_text(text, all);
	allo_output_byte(text, '\0');
	return allo_output_finish(text, err);
}

static bool run_input(struct allo_sql_session *session, const struct allo_common *common,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_output_drop) struct allo_output text = { .fd = -1 };

	return read_sql(&in, &text, err) &&
	       run_text(session, common, allo_output_memory(&text).data, "standard input", err);
}

static bool is_prompt(const struct sql *opt, const char *query)
{
	return opt->report < 0 && !query && isatty(STDIN_FILENO);
}

static bool run_queries(struct allo_sql_session *session, const struct sql *opt, const char *query,
			struct allo_error *err)
{
	if (opt->report >= 0)
		return run_text(session, &opt->common, allo_report_sql((size_t)opt->report),
				allo_report_names[opt->report], err);
	if (query)
		return run_text(session, &opt->common, query, "query", err);
	if (is_prompt(opt, query))
		return run_prompt(session, &opt->common, err);
	return run_input(session, &opt->common, err);
}

static bool check_use(const struct sql *opt, char **files, struct allo_error *err)
{
	if (opt->report >= 0 && files[1])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--report and a query exclude each other");
	if (strcmp(files[0], "-") == 0 && !files[1] && opt->report < 0) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "standard input cannot be both the profile and the SQL");
		return allo_hint(err, "give the query as an argument, or the profile as a file");
	}
	return allo_common_check(&opt->common, err);
}

static bool run_sql(const void *options_given, char **files, struct allo_error *err)
{
	const struct sql *opt = options_given;
	ALLO_DEFER(allo_cached_database_done)
	struct allo_cached_database cached = { .session = { .may_write = opt->write }, .fd = -1 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	struct allo_source_options source;
	const char *file;
	bool ok;

	cached.source = &source;
	cached.attribution = &attribution;
	if (!check_use(opt, files, err) ||
	    !(file = allo_common_one_file(&opt->common, files[0], err)) ||
	    !allo_common_source(&opt->common, &source, err) ||
	    !allo_common_attribution(&opt->common, &attribution, err) ||
	    !allo_cached_database_open(&cached, file, err))
		return false;
	if (!opt->common.quiet)
		allo_say_notes(&cached.notes);
	cached.session.timeout_ns = opt->timeout_ns;
	ok = run_queries(&cached.session, opt, files[1], err);
	if (cached.session.is_interrupted && !is_prompt(opt, files[1])) {
		/* Die of the signal, so that a shell stops its script as well. */
		signal(SIGINT, SIG_DFL);
		raise(SIGINT);
	}
	return ok;
}

const struct allo_command allo_cmd_sql = {
	.name = "sql",
	.heading = "Look",
	.summary = "run SQL queries on a recording or profile",
	.arguments = "FILE [QUERY]",
	.about =
		"Runs SQL on any file that 'allo' can read, or on a database that 'allo convert' "
		"has made. Without a query, SQL is read from standard input; on a terminal there is "
		"a prompt. doc/sql.md describes the tables; '.schema' in place of a query prints "
		"their definitions, '.tables' their names.\n\n"
		"For a recording, the table allocation has a row for each allocation. The table "
		"sample has the sums of each stack, for recordings and all other profiles. The view "
		"site names the function that is responsible for each, as 'allo top' does, and its "
		"leaf, the function that called malloc.\n\n"
		"The database of a packed recording is made once and kept in the cache "
		"($XDG_CACHE_HOME/allotrope/databases, or ~/.cache/allotrope/databases), of which "
		"the oldest files go when it exceeds 4 GiB. It is made again when the recording or "
		"an option for sites has changed. The database of a part of a recording or of a "
		"raw recording is not kept, and with --no-cache none is. 'allo convert server.allo "
		"-o server.db' makes one to keep, which DuckDB and pandas read as well. Queries "
		"change nothing unless --write allows it. LIKE is "
		"case-sensitive.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct sql),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 2,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_sql,
};
