#include "page/native_answers.h"

#include "base/defer.h"
#include "engine/make_database.h"
#include "engine/source_files.h"
#include "sql/sql_session.h"
#include "view/answers/line_values.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Source code. */

/* The lines of a file, and their values. */
struct source_columns {
	struct allo_text_column texts;
	ALLO_VEC(uint32_t) numbers;
	ALLO_VEC(double) self, total, before_self, before_total;
};

static void source_columns_done(struct source_columns *columns)
{
	allo_text_column_done(&columns->texts);
	allo_vec_done(&columns->numbers);
	allo_vec_done(&columns->self);
	allo_vec_done(&columns->total);
	allo_vec_done(&columns->before_self);
	allo_vec_done(&columns->before_total);
}

static bool put_source(const struct allo_source_file *file, const allo_line_values *values,
		       bool has_before, struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(source_columns_done) struct source_columns columns = { 0 };
	size_t next = 0;
	bool is_there = true;

	for (uint32_t line = 1; line < UINT32_MAX && !allo_failed(err); line++) {
		struct allo_text text = allo_source_file_line(file, line, &is_there);
		struct allo_line_value value = { 0 };

		if (!is_there)
			break;
		if (next < values->len && values->at[next].line == line)
			value = values->at[next++];
		allo_vec_add(&columns.numbers, line, err);
		allo_text_column_add(&columns.texts, text, err);
		allo_vec_add(&columns.self, value.self, err);
		allo_vec_add(&columns.total, value.total, err);
		allo_vec_add(&columns.before_self, value.before_self, err);
		allo_vec_add(&columns.before_total, value.before_total, err);
	}
	if (allo_failed(err))
		return false;
	allo_reply_u32(reply, "line", columns.numbers.at, columns.numbers.len);
	allo_reply_texts(reply, "text", &columns.texts);
	allo_reply_f64(reply, "self", columns.self.at, columns.self.len);
	allo_reply_f64(reply, "total", columns.total.at, columns.total.len);
	if (has_before) {
		allo_reply_f64(reply, "before_self", columns.before_self.at,
			       columns.before_self.len);
		allo_reply_f64(reply, "before_total", columns.before_total.at,
			       columns.before_total.len);
	}
	return true;
}

static bool answer_source(struct allo_dataset *dataset, const struct allo_request *request,
			  struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(allo_source_file_done) struct allo_source_file file = { 0 };
	static const struct allo_list none;
	const struct allo_source_places places = { .substitutes = &none,
						   .folders = &none,
						   .more_folders = getenv("ALLO_SOURCE_PATH") };
	allo_line_values values = { 0 };
	bool ok = allo_line_values_of(&values, dataset, request, reply, err) &&
		  allo_source_file_find(&file, &places, allo_line_path(dataset, request->path),
					err);

	if (ok && (!file.path || file.is_too_large)) {
		allo_fail(err, ALLO_IO, ALLO_NOWHERE, "there is no source file %.150s here",
			  request->path);
		ok = allo_hint(err, "set ALLO_SOURCE_PATH to the folder that has it");
	}
	ok = ok &&
	     put_source(&file, &values, allo_dataset_has_before(dataset, request), reply, err);
	allo_vec_done(&values);
	return ok;
}

/* SQL. */

enum { USUAL_ROWS = 1000, MOST_COLUMNS = 64, MOST_MIB = 64 };

#define QUERY_LIMIT_NS 60000000000

/* The result of the last statement. */
struct query_result {
	uint64_t most;
	size_t columns;
	char *names[MOST_COLUMNS];
	struct allo_text_column texts[MOST_COLUMNS];
	uint64_t rows;
	size_t bytes;
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
	result->bytes = 0;
}

static bool has_column(const struct query_result *result, const char *name)
{
	for (size_t i = 0; i < result->columns; i++) {
		if (strcmp(result->names[i], name) == 0)
			return true;
	}
	return false;
}

/* The page finds columns by name, so later ones of the same name get a number: "size (2)". */
static char *column_name(const struct query_result *result, const char *name)
{
	char *unique = strdup(name);

	for (unsigned number = 2; unique && has_column(result, unique); number++) {
		free(unique);
		if (asprintf(&unique, "%s (%u)", name, number) < 0)
			unique = NULL;
	}
	return unique;
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
		result->names[result->columns] = column_name(
			result, sqlite3_column_name(statement, (int)result->columns));
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

		result->bytes += len;
		if (result->bytes > (size_t)MOST_MIB << 20)
			return allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE,
					 "a result has at most %d MiB", MOST_MIB);
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
	if (!allo_sql_session_confine(&cached.session, err) ||
	    !allo_sql_query(&cached.session, request->query, "query", &sink, err))
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
