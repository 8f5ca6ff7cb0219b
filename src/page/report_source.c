#include "page/report_source.h"

#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "engine/source_files.h"
#include "engine/store_names.h"

#include <stdlib.h>

/* The end of a function is not known: some lines after its last call are shown. */
enum { LINES_AFTER = 3 };

void allo_source_spans_done(struct allo_source_spans *spans)
{
	allo_vec_done(&spans->list);
	allo_arena_done(&spans->arena);
}

/* The names of a recording need no replay. */
static bool read_functions(const char *file, const struct allo_source_options *reading,
			   struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };

	if (!allo_source_open(&source, file, reading, err))
		return false;
	return source.is_recording ? allo_find_names(&source, profile, err)
				   : allo_source_profile(&source, NULL, profile, err);
}

bool allo_source_spans_add(struct allo_source_spans *spans, const char *file,
			   const struct allo_source_options *reading, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	if (!read_functions(file, reading, &profile, err))
		return false;
	for (size_t i = 0; i < profile.lines.len && !allo_failed(err); i++) {
		const struct allo_line *line = &profile.lines.at[i];
		const struct allo_function *function = &profile.functions.at[line->function];
		struct allo_text path = allo_profile_text(&profile, function->file);
		struct allo_source_span span = { .first = line->line, .last = line->line };

		if (line->line == 0 || path.len == 0)
			continue;
		if (function->start_line > 0 && function->start_line < span.first)
			span.first = function->start_line;
		if (span.last < UINT32_MAX - LINES_AFTER)
			span.last += LINES_AFTER;
		span.path = (struct allo_text){ allo_arena_copy(&spans->arena, path.data, path.len),
						path.len };
		if (!span.path.data)
			return allo_fail_memory(err);
		allo_vec_add(&spans->list, span, err);
	}
	return !allo_failed(err);
}

static int compare_spans(const void *a, const void *b)
{
	const struct allo_source_span *x = a, *y = b;
	int order = allo_text_compare(x->path, y->path);

	if (order != 0)
		return order;
	if (x->first != y->first)
		return x->first < y->first ? -1 : 1;
	return x->last < y->last ? -1 : x->last > y->last;
}

/* Joins spans that overlap or touch. */
static void join_spans(struct allo_source_spans *spans)
{
	size_t kept = 0;

	if (spans->list.len > 1)
		qsort(spans->list.at, spans->list.len, sizeof(*spans->list.at), compare_spans);
	for (size_t i = 0; i < spans->list.len; i++) {
		const struct allo_source_span *span = &spans->list.at[i];
		struct allo_source_span *last = &spans->list.at[kept > 0 ? kept - 1 : 0];

		if (kept > 0 && allo_text_equal(last->path, span->path) &&
		    span->first <= (uint64_t)last->last + 1) {
			if (span->last > last->last)
				last->last = span->last;
		} else {
			spans->list.at[kept++] = *span;
		}
	}
	spans->list.len = kept;
}

static void put_span(struct allo_json_out *json, const struct allo_source_file *file,
		     const struct allo_source_span *span)
{
	bool is_there;

	allo_json_out_begin(json, '[');
	allo_json_out_u64(json, span->first);
	for (uint64_t line = span->first; line <= span->last; line++) {
		struct allo_text text = allo_source_file_line(file, line, &is_there);

		if (!is_there)
			break;
		allo_json_out_text(json, text);
	}
	allo_json_out_end(json);
}

/* Writes the spans of one file, if it exists. */
static bool put_file(struct allo_json_out *json, const struct allo_source_span *spans, size_t count,
		     size_t *files, struct allo_error *err)
{
	ALLO_DEFER(allo_source_file_done) struct allo_source_file file = { 0 };
	static const struct allo_list none;
	const struct allo_source_places places = { .substitutes = &none,
						   .folders = &none,
						   .more_folders = getenv("ALLO_SOURCE_PATH") };

	if (!allo_source_file_find(&file, &places, spans->path, err))
		return false;
	if (!file.path || file.is_too_large)
		return true;
	++*files;
	allo_json_out_key_text(json, spans->path);
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < count; i++)
		put_span(json, &file, &spans[i]);
	allo_json_out_end(json);
	return true;
}

bool allo_source_spans_write(struct allo_source_spans *spans, struct allo_output *out,
			     size_t *files, struct allo_error *err)
{
	struct allo_json_out json = { .out = out };
	const struct allo_source_span *at = spans->list.at;
	size_t count;

	join_spans(spans);
	*files = 0;
	allo_json_out_begin(&json, '{');
	for (size_t i = 0; i < spans->list.len; i += count) {
		for (count = 1; i + count < spans->list.len; count++) {
			if (!allo_text_equal(at[i].path, at[i + count].path))
				break;
		}
		if (!put_file(&json, at + i, count, files, err))
			return false;
	}
	allo_json_out_end(&json);
	return true;
}
