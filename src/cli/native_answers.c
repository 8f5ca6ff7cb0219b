#include "cli/native_answers.h"

#include "analysis/listing.h"
#include "base/defer.h"
#include "cli/source_files.h"
#include "engine/make_database.h"
#include "sql/sql_session.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Source code. */

/* The values of each line of one file, by line number. */
struct line_values {
	ALLO_VEC(double) self, total;
};

static void line_values_done(struct line_values *values)
{
	allo_vec_done(&values->self);
	allo_vec_done(&values->total);
}

/* Adds up the lines of all functions of a file.  False if the profile has no such file: then it is
 * not read either. */
static bool sum_lines(const struct allo_dataset *dataset, const struct allo_metric_columns *columns,
		      const char *path, struct line_values *values, struct allo_reply *reply,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_listing_done) struct allo_listing listing = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_free_pointer) char *text = NULL;

	if (asprintf(&text, "file:=%s", path) < 0)
		return allo_fail_memory(err);
	if (!allo_pattern_init(&pattern, text, err) ||
	    !allo_listing_of(&listing, &dataset->profile, columns, &pattern, err))
		return false;
	if (listing.functions.len == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "'%.100s' is not a source file of this profile", path);
	for (size_t i = 0; i < listing.lines.len; i++) {
		const struct allo_listed_line *line = &listing.lines.at[i];

		if (!allo_vec_extend(&values->self, line->line + 1, err) ||
		    !allo_vec_extend(&values->total, line->line + 1, err))
			return false;
		values->self.at[line->line] += allo_reply_value(reply, line->self.value);
		values->total.at[line->line] += allo_reply_value(reply, line->total.value);
	}
	return true;
}

static bool put_source(const struct allo_source_file *file, struct line_values *values,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_text_column_done) struct allo_text_column texts = { 0 };
	ALLO_VEC(uint32_t) numbers = { 0 };
	bool is_there = true;

	for (uint32_t line = 1; line < UINT32_MAX && !allo_failed(err); line++) {
		struct allo_text text = allo_source_file_line(file, line, &is_there);

		if (!is_there)
			break;
		allo_vec_add(&numbers, line, err);
		allo_text_column_add(&texts, text, err);
	}
	allo_vec_extend(&values->self, numbers.len + 1, err);
	allo_vec_extend(&values->total, numbers.len + 1, err);
	if (!allo_failed(err)) {
		allo_reply_u32(reply, "line", numbers.at, numbers.len);
		allo_reply_texts(reply, "text", &texts);
		allo_reply_f64(reply, "self", values->self.at + 1, numbers.len);
		allo_reply_f64(reply, "total", values->total.at + 1, numbers.len);
	}
	allo_vec_done(&numbers);
	return !allo_failed(err);
}

static bool answer_source(struct allo_dataset *dataset, const struct allo_request *request,
			  struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(line_values_done) struct line_values values = { 0 };
	ALLO_DEFER(allo_source_file_done) struct allo_source_file file = { 0 };
	static const struct allo_list none;
	const struct allo_source_places places = { &none, &none, getenv("ALLO_SOURCE_PATH") };
	struct allo_metric_columns columns;

	if (!request->path)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request has no \"path\"");
	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_columns(dataset, request, request->metric, &columns, err) ||
	    !sum_lines(dataset, &columns, request->path, &values, reply, err) ||
	    !allo_source_file_find(&file, &places, allo_text_of(request->path), err))
		return false;
	if (!file.path || file.is_too_large) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "there is no source file %.150s here",
			  request->path);
		return allo_hint(err, "set ALLO_SOURCE_PATH to the folder that has it");
	}
	return put_source(&file, &values, reply, err);
}

/* SQL. */

enum { USUAL_ROWS = 1000, MOST_COLUMNS = 64 };

#define QUERY_LIMIT_NS 60000000000

/* The result of the last statement. */
struct query_result {
	uint64_t most;
	size_t columns;
	char *names[MOST_COLUMNS];
	struct allo_text_column texts[MOST_COLUMNS];
	uint64_t rows;
};

static void query_result_done(struct query_result *result)
{
	for (size_t i = 0; i < MOST_COLUMNS; i++) {
		free(result->names[i]);
		result->names[i] = NULL;
		allo_text_column_done(&result->texts[i]);
	}
	result->columns = 0;
	result->rows = 0;
}

static bool begin_result(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	struct query_result *result = context;
	int count = sqlite3_column_count(statement);

	query_result_done(result);
	if (count > MOST_COLUMNS)
		return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "a result has at most %d columns",
				 MOST_COLUMNS);
	for (; result->columns < (size_t)count; result->columns++) {
		result->names[result->columns] = strdup(
			sqlite3_column_name(statement, (int)result->columns));
		if (!result->names[result->columns])
			return allo_fail_memory(err);
	}
	return true;
}

static bool take_row(void *context, sqlite3_stmt *statement, struct allo_error *err)
{
	struct query_result *result = context;

	if (result->rows++ >= result->most)
		return true;
	for (size_t i = 0; i < result->columns; i++) {
		const char *text = (const char *)sqlite3_column_text(statement, (int)i);
		size_t len = (size_t)sqlite3_column_bytes(statement, (int)i);

		if (!allo_text_column_add(&result->texts[i],
					  (struct allo_text){ text ? text : "", len }, err))
			return false;
	}
	return true;
}

static bool end_result(void *context, struct allo_error *err)
{
	(void)context;
	(void)err;
	return true;
}

static void put_result(const struct query_result *result, struct allo_reply *reply)
{
	allo_reply_strings(reply, "names", result->names, result->columns);
	allo_reply_count(reply, "rows", result->rows);
	for (size_t i = 0; i < result->columns; i++)
		allo_reply_texts(reply, result->names[i], &result->texts[i]);
}

static bool answer_sql(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_cached_database_done)
	struct allo_cached_database cached = { .fd = -1 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	ALLO_DEFER(query_result_done)
	struct query_result result = { .most = request->most == ALLO_NOT_GIVEN ? USUAL_ROWS
									       : request->most };
	const struct allo_source_options source = { .view = { .use_cache = true } };
	const struct allo_sql_sink sink = { begin_result, take_row, end_result, &result };

	if (!request->query)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request has no \"query\"");
	cached.source = &source;
	cached.attribution = &attribution;
	if (!allo_cached_database_open(&cached, dataset->name, err))
		return false;
	cached.session.timeout_ns = QUERY_LIMIT_NS;
	if (!allo_sql_query(&cached.session, request->query, "query", &sink, err))
		return false;
	put_result(&result, reply);
	return true;
}

allo_answer *allo_native_answer_find(const char *ask)
{
	if (strcmp(ask, "source") == 0)
		return answer_source;
	return strcmp(ask, "sql") == 0 ? answer_sql : NULL;
}
