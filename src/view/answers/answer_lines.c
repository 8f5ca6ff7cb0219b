/* answer_lines.c - the ask "lines": the cost of each line of a source file. */
#include "analysis/listing.h"
#include "base/defer.h"
#include "view/answers/line_values.h"

#include <stdio.h>
#include <stdlib.h>

static bool list_file(struct allo_listing *listing, const struct allo_dataset *dataset,
		      const struct allo_metric_columns *columns, struct allo_text path,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_free_pointer) char *text = NULL;

	if (asprintf(&text, "file:=%.*s", ALLO_TEXT_WHOLE(path)) < 0)
		return allo_fail_memory(err);
	return allo_pattern_init(&pattern, text, err) &&
	       allo_listing_of(listing, &dataset->profile, columns, &pattern, err);
}

/* The functions of equal files are listed at once; this is the number of the first of them. */
static bool is_first_of_file(const struct allo_profile *profile, size_t function)
{
	allo_string_id file = profile->functions.at[function].file;

	for (size_t i = 1; i < function; i++) {
		if (profile->functions.at[i].file == file)
			return false;
	}
	return true;
}

static bool has_name(const struct allo_profile *profile, size_t function, const char *name)
{
	struct allo_text file = allo_profile_text(profile, profile->functions.at[function].file);

	return file.len > 0 && allo_text_equal(allo_basename(file), allo_text_of(name));
}

struct allo_text allo_line_path(struct allo_dataset *dataset, const char *path)
{
	for (int side = ALLO_NOW; side >= ALLO_BEFORE && !dataset->recording; side--) {
		struct allo_dataset *file = allo_dataset_recorded(dataset, (enum allo_side)side);

		for (size_t i = 1; file && i < file->profile.functions.len; i++) {
			if (has_name(&file->profile, i, path))
				return allo_profile_text(&file->profile,
							 file->profile.functions.at[i].file);
		}
	}
	return allo_text_of(path);
}

static int compare_lines(const void *a, const void *b)
{
	const struct allo_line_value *x = a, *y = b;

	return x->line < y->line ? -1 : x->line > y->line;
}

/* A line may belong to several functions, such as a macro or a template. */
static void join_equal(allo_line_values *values)
{
	size_t kept = 0;

	if (values->len > 1)
		qsort(values->at, values->len, sizeof(*values->at), compare_lines);
	for (size_t i = 0; i < values->len; i++) {
		struct allo_line_value *last = &values->at[kept > 0 ? kept - 1 : 0];

		if (kept > 0 && last->line == values->at[i].line) {
			last->self += values->at[i].self;
			last->total += values->at[i].total;
			last->before_self += values->at[i].before_self;
			last->before_total += values->at[i].before_total;
		} else {
			values->at[kept++] = values->at[i];
		}
	}
	values->len = kept;
}

/* Whether the profile names the file, be it without a value in the range. */
static bool is_known(const struct allo_dataset *dataset, const char *path)
{
	const struct allo_profile *profile = &dataset->profile;

	for (size_t i = 1; i < profile->functions.len; i++) {
		allo_string_id file = profile->functions.at[i].file;

		if (file && allo_text_equal(allo_profile_text(profile, file), allo_text_of(path)))
			return true;
	}
	return false;
}

/* Lines of a file while they are gathered. */
struct line_list {
	allo_line_values *values;
	struct allo_reply *reply;
};

/* Adds the lines of a file of a dataset that is shown.  With `is_base`, they are the values before.
 */
static bool add_lines(struct line_list *list, const struct allo_dataset *dataset,
		      const struct allo_metric_columns *columns, struct allo_text path,
		      bool is_base, struct allo_error *err)
{
	ALLO_DEFER(allo_listing_done) struct allo_listing listing = { 0 };

	if (!list_file(&listing, dataset, columns, path, err))
		return false;
	for (size_t i = 0; i < listing.lines.len; i++) {
		const struct allo_listed_line *line = &listing.lines.at[i];
		double self = allo_reply_value(list->reply, line->self.value);
		double total = allo_reply_value(list->reply, line->total.value);
		struct allo_line_value value = {
			line->line, self, total, allo_reply_value(list->reply, line->self.before),
			allo_reply_value(list->reply, line->total.before)
		};

		if (is_base)
			value = (struct allo_line_value){ line->line, 0, 0, self, total };
		if (line->line > 0 && !allo_vec_add(list->values, value, err))
			return false;
	}
	return true;
}

/* A comparison has no lines, since edits move them: they are those of the compared recordings. */
static bool add_compared_lines(struct line_list *list, struct allo_dataset *dataset,
			       const struct allo_request *request, enum allo_side side,
			       struct allo_error *err)
{
	struct allo_request alone = *request;
	struct allo_metric_columns columns;
	struct allo_log_part part;

	if (!allo_dataset_part(dataset, request, side, &part))
		return true;
	alone.range = part.range;
	alone.has_base = false;
	if (!allo_dataset_show(part.file, &alone, err) ||
	    !allo_dataset_columns(part.file, &alone, alone.metric, &columns, err))
		return false;
	for (size_t i = 1; i < part.file->profile.functions.len; i++) {
		const struct allo_profile *profile = &part.file->profile;

		if (has_name(profile, i, request->path) && is_first_of_file(profile, i) &&
		    !add_lines(list, part.file, &columns,
			       allo_profile_text(profile, profile->functions.at[i].file),
			       side == ALLO_BEFORE, err))
			return false;
	}
	return true;
}

static bool add_all_lines(struct line_list *list, struct allo_dataset *dataset,
			  const struct allo_request *request, struct allo_error *err)
{
	struct allo_metric_columns columns;

	if (!allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_columns(dataset, request, request->metric, &columns, err))
		return false;
	if (!dataset->recording && allo_dataset_recorded(dataset, ALLO_NOW))
		return add_compared_lines(list, dataset, request, ALLO_BEFORE, err) &&
		       add_compared_lines(list, dataset, request, ALLO_NOW, err);
	return add_lines(list, dataset, &columns, allo_text_of(request->path), false, err);
}

bool allo_line_values_of(allo_line_values *values, struct allo_dataset *dataset,
			 const struct allo_request *request, struct allo_reply *reply,
			 struct allo_error *err)
{
	struct line_list list = { .values = values, .reply = reply };

	if (!request->path)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the request has no \"path\"");
	if (!is_known(dataset, request->path))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "'%.100s' is not a source file of this profile", request->path);
	if (!add_all_lines(&list, dataset, request, err))
		return false;
	join_equal(values);
	return true;
}

struct line_columns {
	ALLO_VEC(uint32_t) line;
	ALLO_VEC(double) self, total, before_self, before_total;
};

static void line_columns_done(struct line_columns *columns)
{
	allo_vec_done(&columns->line);
	allo_vec_done(&columns->self);
	allo_vec_done(&columns->total);
	allo_vec_done(&columns->before_self);
	allo_vec_done(&columns->before_total);
}

bool allo_answer_lines(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(line_columns_done) struct line_columns columns = { 0 };
	allo_line_values values = { 0 };

	allo_line_values_of(&values, dataset, request, reply, err);
	for (size_t i = 0; i < values.len && !allo_failed(err); i++) {
		allo_vec_add(&columns.line, (uint32_t)values.at[i].line, err);
		allo_vec_add(&columns.self, values.at[i].self, err);
		allo_vec_add(&columns.total, values.at[i].total, err);
		allo_vec_add(&columns.before_self, values.at[i].before_self, err);
		allo_vec_add(&columns.before_total, values.at[i].before_total, err);
	}
	allo_vec_done(&values);
	if (allo_failed(err))
		return false;
	allo_reply_u32(reply, "line", columns.line.at, columns.line.len);
	allo_reply_f64(reply, "self", columns.self.at, columns.self.len);
	allo_reply_f64(reply, "total", columns.total.at, columns.total.len);
	if (allo_dataset_has_before(dataset, request)) {
		allo_reply_f64(reply, "before_self", columns.before_self.at,
			       columns.before_self.len);
		allo_reply_f64(reply, "before_total", columns.before_total.at,
			       columns.before_total.len);
	}
	return true;
}
