/* answer_table.c - the ask "table": rows of functions, sites, files, modules or values of a label.
 */
#include "analysis/filters/label_filter.h"
#include "analysis/top.h"
#include "base/assert.h"
#include "base/defer.h"
#include "view/answers/answers.h"

#include "profile/naming.h"
#include "profile/short_name.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { USUAL_ROWS = 200, MOST_METRICS = 12 };

/* In the order of enum allo_by; then the function that calls the allocator, be it a wrapper. */
static const char *const groups[] = {
	"function", "site", "file", "module", "address", "leaf", NULL
};
enum { BY_LEAF = ALLO_BY_ADDRESS + 1 };

enum sort { SORT_SELF, SORT_TOTAL, SORT_CHANGE, SORT_NAME };
static const char *const sorts[] = { "self", "total", "change", "name", NULL };

/* A table while it is made: the same rows, in the same order, for each metric. */
struct table {
	struct allo_dataset *dataset;
	const struct allo_request *request;
	struct allo_top tops[MOST_METRICS];
	struct allo_metric_columns columns[MOST_METRICS];
	const char *names[MOST_METRICS];
	size_t metric_count;
	bool has_values_of_label; /* rows are no calls */
	ALLO_VEC(uint32_t) order; /* of the rows that the reply may show */
	size_t sort;
};

static void table_done(struct table *table)
{
	for (size_t i = 0; i < MOST_METRICS; i++)
		allo_top_done(&table->tops[i]);
	allo_vec_done(&table->order);
}

/* Metrics and grouping. */

static bool choose_metrics(struct table *table, struct allo_error *err)
{
	const struct allo_request *request = table->request;

	table->metric_count = request->metrics.len ? request->metrics.len : 1;
	if (table->metric_count > MOST_METRICS)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "a table has at most %d metrics",
				 MOST_METRICS);
	for (size_t i = 0; i < table->metric_count; i++) {
		table->names[i] = request->metrics.len ? request->metrics.at[i] : request->metric;
		if (!allo_dataset_columns(table->dataset, request, table->names[i],
					  &table->columns[i], err))
			return false;
	}
	return true;
}

static bool group_rows(struct table *table, struct allo_error *err)
{
	const char *by = table->request->by, *label = NULL;
	struct allo_attribution *attribution = table->dataset->attribution;
	size_t group = 0;

	if (by && strncmp(by, "label:", 6) == 0)
		label = by + 6;
	else if (!allo_request_choose(by, groups, &group, err))
		return false;
	if (label && !allo_stacks_take_label(&table->dataset->profile,
					     allo_dataset_take_samples(table->dataset), label, err))
		return false;
	table->has_values_of_label = label != NULL;
	if (group == BY_LEAF || label)
		attribution = NULL;
	for (size_t i = 0; i < table->metric_count; i++) {
		table->tops[i].by = group == BY_LEAF ? ALLO_BY_FUNCTION : (enum allo_by)group;
		table->tops[i].attribution = attribution;
		table->tops[i].has_all_rows = table->metric_count > 1;
		if (!allo_top_add(&table->tops[i], &table->dataset->profile, &table->columns[i],
				  err))
			return false;
		ALLO_ASSERT(table->tops[i].rows.len == table->tops[0].rows.len);
	}
	return true;
}

/* Order. */

static bool has_values(const struct table *table, size_t row)
{
	for (size_t i = 0; i < table->metric_count; i++) {
		const struct allo_top_row *it = &table->tops[i].rows.at[row];

		if (it->total.value != 0 || it->total.before != 0)
			return true;
	}
	return false;
}

static struct allo_text name_of(const struct table *table, size_t row,
				char scratch[ALLO_TOP_SCRATCH])
{
	return allo_top_name(&table->tops[0], &table->dataset->profile,
			     &table->tops[0].rows.at[row], scratch);
}

static allo_sum size_of(const struct table *table, size_t row)
{
	const struct allo_top_row *it = &table->tops[0].rows.at[row];
	allo_sum change = it->self.value - it->self.before;

	switch (table->sort) {
	case SORT_TOTAL:
		return it->total.value;
	case SORT_CHANGE:
		return change < 0 ? -change : change;
	default:
		return it->self.value;
	}
}

static int compare_rows(const void *a, const void *b, void *context)
{
	const struct table *table = context;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	char scratch[2][ALLO_TOP_SCRATCH];
	int order = 0;

	if (table->sort == SORT_NAME)
		order = allo_text_compare(name_of(table, x, scratch[0]),
					  name_of(table, y, scratch[1]));
	else if (size_of(table, x) != size_of(table, y))
		order = size_of(table, x) > size_of(table, y) ? -1 : 1;
	if (table->request->ascending)
		order = -order;
	return order ? order : x < y ? -1 : x > y;
}

/* Whether the name of a row matches the search; all do without one. */
static bool is_found(const struct table *table, size_t row)
{
	const char *search = table->request->search;
	char scratch[ALLO_TOP_SCRATCH];

	return !search ||
	       allo_text_find(name_of(table, row, scratch), allo_text_of(search)) != (size_t)-1;
}

static bool order_rows(struct table *table, struct allo_error *err)
{
	for (size_t i = 0; i < table->tops[0].rows.len; i++) {
		if (has_values(table, i) && is_found(table, i))
			allo_vec_add(&table->order, (uint32_t)i, err);
	}
	if (allo_failed(err) ||
	    !allo_request_choose(table->request->sort, sorts, &table->sort, err))
		return false;
	if (table->order.len > 0)
		qsort_r(table->order.at, table->order.len, sizeof(*table->order.at), compare_rows,
			table);
	return true;
}

/* Columns. */

struct place_columns {
	struct allo_text_column name, place, via;
	struct allo_name_buffer short_via;
	ALLO_VEC(uint32_t) call, line;
};

static void place_columns_done(struct place_columns *columns)
{
	allo_text_column_done(&columns->name);
	allo_text_column_done(&columns->place);
	allo_text_column_done(&columns->via);
	allo_name_buffer_done(&columns->short_via);
	allo_vec_done(&columns->call);
	allo_vec_done(&columns->line);
}

static void add_place(struct place_columns *columns, const struct table *table, size_t row,
		      struct allo_error *err)
{
	const struct allo_top_key *key = &table->tops[0].rows.at[row].key;
	struct allo_dataset *dataset = table->dataset;
	const struct allo_profile *profile = &dataset->profile;
	uint32_t call = table->has_values_of_label
				? 0
				: allo_call_numbers_find(&dataset->calls, key->function, key->file);
	bool has_line = table->tops[0].by == ALLO_BY_SITE && key->function;
	uint32_t line = has_line ? (uint32_t)key->number : 0;
	char scratch[ALLO_TOP_SCRATCH];

	allo_vec_add(&columns->call, call, err);
	allo_vec_add(&columns->line, line, err);
	allo_text_column_add(&columns->name,
			     call ? allo_call_numbers_name(&dataset->calls, profile, call, scratch)
				  : name_of(table, row, scratch),
			     err);
	allo_text_column_add_place(&columns->place, allo_profile_text(profile, key->file), line,
				   err);
	allo_text_column_add(
		&columns->via,
		allo_short_name(allo_profile_text(profile, table->tops[0].rows.at[row].via),
				ALLO_NAME_BRIEF, &columns->short_via),
		err);
	if (columns->short_via.has_failed)
		allo_fail_memory(err);
}

static bool put_places(const struct table *table, const uint32_t *rows, size_t count,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(place_columns_done) struct place_columns columns = { 0 };

	for (size_t i = 0; i < count && !allo_failed(err); i++)
		add_place(&columns, table, rows[i], err);
	allo_reply_u32(reply, "call", columns.call.at, columns.call.len);
	allo_reply_u32(reply, "line", columns.line.at, columns.line.len);
	allo_reply_texts(reply, "name", &columns.name);
	allo_reply_texts(reply, "place", &columns.place);
	allo_reply_texts(reply, "via", &columns.via);
	return !allo_failed(err);
}

/* Puts one value of all rows: `offset` is that of an allo_sum in struct allo_top_row. */
static bool put_values(const struct table *table, size_t metric, const char *prefix, size_t offset,
		       const uint32_t *rows, size_t count, struct allo_reply *reply,
		       struct allo_error *err)
{
	ALLO_VEC(double) values = { 0 };
	char name[ALLO_NAME_SCRATCH + 16], scratch[ALLO_NAME_SCRATCH];

	for (size_t i = 0; i < count; i++) {
		const char *row = (const char *)&table->tops[metric].rows.at[rows[i]];

		allo_vec_add(&values, allo_reply_value(reply, *(const allo_sum *)(row + offset)),
			     err);
	}
	snprintf(name, sizeof(name), "%s%.*s", prefix,
		 ALLO_TEXT_WHOLE(allo_metric_name(&table->dataset->profile,
						  table->columns[metric].metric, scratch)));
	allo_reply_f64(reply, name, values.at, values.len);
	allo_vec_done(&values);
	return !allo_failed(err);
}

static bool put_metric(const struct table *table, size_t metric, const uint32_t *rows, size_t count,
		       struct allo_reply *reply, struct allo_error *err)
{
	static const struct {
		const char *prefix;
		size_t offset;
		bool is_before;
	} parts[] = {
		{ "self.", offsetof(struct allo_top_row, self.value), false },
		{ "total.", offsetof(struct allo_top_row, total.value), false },
		{ "before.self.", offsetof(struct allo_top_row, self.before), true },
		{ "before.total.", offsetof(struct allo_top_row, total.before), true },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		if ((!parts[i].is_before || table->columns[metric].has_before) &&
		    !put_values(table, metric, parts[i].prefix, parts[i].offset, rows, count, reply,
				err))
			return false;
	}
	return true;
}

static void put_head(const struct table *table, struct allo_reply *reply)
{
	struct allo_json_out *json = &reply->head;

	allo_json_out_member_u64(json, "rows", table->order.len);
	allo_json_out_key(json, "sum");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < table->metric_count; i++)
		allo_json_out_exact_double(json, allo_reply_value(reply, table->tops[i].sum.value));
	allo_json_out_end(json);
	if (!table->columns[0].has_before)
		return;
	allo_json_out_key(json, "before_sum");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < table->metric_count; i++)
		allo_json_out_exact_double(json,
					   allo_reply_value(reply, table->tops[i].sum.before));
	allo_json_out_end(json);
}

bool allo_answer_table(struct allo_dataset *dataset, const struct allo_request *request,
		       struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(table_done) struct table table = { .dataset = dataset, .request = request };
	const uint32_t *rows;
	size_t count;

	if (!allo_dataset_show(dataset, request, err) || !choose_metrics(&table, err) ||
	    !group_rows(&table, err) || !order_rows(&table, err))
		return false;
	put_head(&table, reply);
	count = allo_page_rows(request, table.order.len, USUAL_ROWS);
	rows = count > 0 ? table.order.at + request->offset : NULL;
	if (!put_places(&table, rows, count, reply, err))
		return false;
	for (size_t i = 0; i < table.metric_count; i++) {
		if (!put_metric(&table, i, rows, count, reply, err))
			return false;
	}
	return true;
}
