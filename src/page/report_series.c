#include "page/report_series.h"

#include "base/defer.h"
#include "base/encoding/json_write.h"
#include "engine/open_dataset.h"
#include "view/ask.h"
#include "view/compare.h"

#include <stdio.h>
#include <string.h>

enum {
	FILES_MOST = 2,
	PARTS = 16,            /* windows of equal length */
	SEGMENTS_MOST = 32,    /* windows between marks */
	TIMELINE_STEPS = 2000, /* more than a screen has pixels */
	TABLE_ROWS = 200,      /* as viewer/src/engine_stored.ts expects */
};

#define LEAST_SHARE 0.001 /* of the nodes of a tree */

/* What requests are about: a file, or a range of its time. */
struct window {
	size_t file;
	uint64_t from, to; /* nanoseconds; equal: everything */
};

struct series {
	struct allo_opened_file opened[FILES_MOST];
	struct allo_dataset comparison;
	struct allo_dataset *datasets[FILES_MOST + 1];
	struct allo_asked_files files;
	struct allo_output *out;
	struct allo_output text; /* of the next request: */
	struct allo_json_out request;
};

static void series_done(struct series *series)
{
	allo_output_drop(&series->text);
	allo_dataset_done(&series->comparison);
	for (size_t i = 0; i < FILES_MOST; i++)
		allo_opened_file_close(&series->opened[i]);
}

static bool is_whole(const struct window *window)
{
	return window->from == window->to;
}

/* Begins a request.  The caller may add members, and store() ends it. */
static struct allo_json_out *begin(struct series *series, const char *ask,
				   const struct window *window, struct allo_error *err)
{
	struct allo_json_out *json = &series->request;

	allo_output_open_memory(&series->text, &(struct allo_output_options){ 0 }, err);
	*json = (struct allo_json_out){ .out = &series->text };
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "v", 1);
	allo_json_out_member_text(json, "ask", allo_text_of(ask));
	allo_json_out_member_u64(json, "file", window->file);
	if (!is_whole(window)) {
		allo_json_out_member_u64(json, "from", window->from);
		allo_json_out_member_u64(json, "to", window->to);
	}
	return json;
}

static void put_bytes(struct allo_output *out, struct allo_text bytes)
{
	uint32_t len = (uint32_t)bytes.len;

	allo_output_bytes(out, &len, sizeof(len));
	allo_output_text(out, bytes);
}

/* Asks, and stores the request with its reply. */
static bool store(struct series *series, struct allo_error *err)
{
	struct allo_reply reply = { 0 };
	struct allo_text request;

	allo_json_out_end(&series->request);
	if (!allo_output_finish(&series->text, err))
		return false;
	request = allo_output_memory(&series->text);
	put_bytes(series->out, request);
	put_bytes(series->out, allo_ask(&series->files, request, &reply));
	allo_reply_done(&reply);
	allo_output_drop(&series->text);
	return true;
}

static bool store_plain(struct series *series, const char *ask, const struct window *window,
			struct allo_error *err)
{
	begin(series, ask, window, err);
	return store(series, err);
}

/* Tables show bytes and blocks side by side: the metric and its companion, if there is one. */
static void put_metrics(struct allo_json_out *json, const struct allo_dataset *dataset,
			struct allo_text metric)
{
	struct allo_text stem = metric, name;
	char scratch[ALLO_NAME_SCRATCH], other[ALLO_NAME_SCRATCH] = "";
	bool is_bytes = allo_text_ends(metric, ALLO_TEXT("_bytes"));

	allo_json_out_key(json, "metrics");
	allo_json_out_begin(json, '[');
	allo_json_out_text(json, metric);
	if (is_bytes || allo_text_ends(metric, ALLO_TEXT("_blocks"))) {
		stem.len -= strlen(is_bytes ? "_bytes" : "_blocks");
		snprintf(other, sizeof(other), "%.*s%s", ALLO_TEXT_WHOLE(stem),
			 is_bytes ? "_blocks" : "_bytes");
	}
	for (size_t i = 0; i < allo_dataset_metric_count(dataset); i++) {
		name = allo_metric_name(&dataset->profile, allo_dataset_metric(i), scratch);
		if (allo_text_equal(name, allo_text_of(other)))
			allo_json_out_text(json, name);
	}
	allo_json_out_end(json);
}

static bool store_tree(struct series *series, const struct window *window, struct allo_text metric,
		       bool invert, struct allo_error *err)
{
	struct allo_json_out *json = begin(series, "tree", window, err);

	allo_json_out_member_text(json, "metric", metric);
	allo_json_out_key(json, "invert");
	allo_json_out_bool(json, invert);
	allo_json_out_key(json, "least");
	allo_json_out_double(json, LEAST_SHARE);
	return store(series, err);
}

static bool store_table(struct series *series, const struct window *window, struct allo_text metric,
			const char *by, const char *sort, struct allo_error *err)
{
	struct allo_json_out *json = begin(series, "table", window, err);

	allo_json_out_member_text(json, "metric", metric);
	put_metrics(json, series->files.at[window->file], metric);
	allo_json_out_member_text(json, "by", allo_text_of(by));
	allo_json_out_member_text(json, "sort", allo_text_of(sort));
	allo_json_out_member_u64(json, "most", TABLE_ROWS);
	return store(series, err);
}

static bool store_metric(struct series *series, const struct window *window,
			 struct allo_text metric, struct allo_error *err)
{
	static const char *const tables[] = { "function", "site", "file", "module" };
	static const char *const sorts[] = { "self", "total", "change" };
	size_t kinds = is_whole(window) ? 4 : 1;
	/* Only comparisons have changes. */
	size_t orders = series->files.at[window->file]->is_comparison ? 3 : 2;

	if (!store_tree(series, window, metric, false, err) ||
	    !store_tree(series, window, metric, true, err))
		return false;
	for (size_t i = 0; i < kinds * orders; i++) {
		if (!store_table(series, window, metric, tables[i / orders], sorts[i % orders],
				 err))
			return false;
	}
	return true;
}

/* Metrics that make sense in any window; the whole run has all. */
static bool is_for_windows(struct allo_text metric)
{
	static const char *const names[] = { "peak_bytes", "end_bytes", "alloc_bytes",
					     "alloc_blocks" };

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		if (allo_text_equal(metric, allo_text_of(names[i])))
			return true;
	}
	return false;
}

static bool store_metrics(struct series *series, const struct window *window,
			  struct allo_error *err)
{
	const struct allo_dataset *dataset = series->files.at[window->file];
	char scratch[ALLO_NAME_SCRATCH];

	for (size_t i = 0; i < allo_dataset_metric_count(dataset); i++) {
		struct allo_text metric = allo_metric_name(&dataset->profile,
							   allo_dataset_metric(i), scratch);

		if ((is_whole(window) || is_for_windows(metric)) &&
		    !store_metric(series, window, metric, err))
			return false;
	}
	return true;
}

static bool store_window(struct series *series, const struct window *window, struct allo_error *err)
{
	static const char *const asks[] = { "leaks", "sizes", "lifetimes", "heat", "threads" };

	for (size_t i = 0; i < sizeof(asks) / sizeof(*asks); i++) {
		if (!store_plain(series, asks[i], window, err))
			return false;
	}
	return store_metrics(series, window, err);
}

static bool store_curve(struct series *series, const struct window *window, uint64_t steps,
			struct allo_error *err)
{
	allo_json_out_member_u64(begin(series, "timeline", window, err), "steps", steps);
	return store(series, err);
}

static bool store_range(struct series *series, size_t file, uint64_t from, uint64_t to,
			struct allo_error *err)
{
	const struct window window = { file, from, to };

	return from >= to ||
	       (store_curve(series, &window, 1, err) && store_window(series, &window, err));
}

/* Equal parts of the run, the moment of the peak, the end, and the segments between marks. */
static bool store_ranges(struct series *series, size_t file, struct allo_error *err)
{
	const struct allo_dataset *dataset = allo_dataset_recorded(series->files.at[file],
								   ALLO_NOW);
	uint64_t end = dataset->log.end_ns, peak = dataset->summary.peak_ns, from = 0;
	size_t marks = dataset->log.marks.list.len;

	for (uint64_t i = 0; i < PARTS; i++) {
		if (!store_range(series, file, end / PARTS * i,
				 i + 1 < PARTS ? end / PARTS * (i + 1) : end, err))
			return false;
	}
	for (size_t i = 0; i <= marks && marks > 0 && i < SEGMENTS_MOST; i++) {
		uint64_t to = i < marks ? dataset->log.marks.list.at[i].ns : end;

		if (!store_range(series, file, from, to, err))
			return false;
		from = to;
	}
	return store_range(series, file, peak, peak + 1, err) &&
	       (end == 0 || store_range(series, file, end - 1, end, err));
}

static bool store_file(struct series *series, size_t file, struct allo_error *err)
{
	const struct window whole = { .file = file };
	const struct allo_dataset *recorded = allo_dataset_recorded(series->files.at[file],
								    ALLO_NOW);
	bool has_time = recorded && recorded->log.change_count > 0;

	if (!store_plain(series, "open", &whole, err) ||
	    !store_plain(series, "findings", &whole, err) || !store_window(series, &whole, err))
		return false;
	if (has_time &&
	    (!store_curve(series, &whole, TIMELINE_STEPS, err) || !store_ranges(series, file, err)))
		return false;
	/* Last: filters and trees may have added calls. */
	return store_plain(series, "names", &whole, err);
}

static bool open_files(struct series *series, const struct allo_report_file *files, size_t count,
		       const struct allo_source_options *reading, struct allo_error *err)
{
	series->files.at = series->datasets;
	for (size_t i = 0; i < count; i++) {
		struct allo_opened_file *opened = &series->opened[i];

		if (!allo_opened_file_open(opened, files[i].path, reading, err))
			return false;
		opened->dataset.name = files[i].name;
		series->datasets[series->files.count++] = &opened->dataset;
	}
	if (count < FILES_MOST)
		return true;
	series->comparison.name = files[0].name;
	series->datasets[series->files.count++] = &series->comparison;
	return allo_dataset_compare(&series->comparison, &series->opened[1].dataset,
				    &series->opened[0].dataset, err);
}

bool allo_report_series_write(const struct allo_report_file *files, size_t count,
			      const struct allo_source_options *reading, struct allo_output *out,
			      struct allo_error *err)
{
	ALLO_DEFER(series_done) struct series series = { .out = out, .text.fd = -1 };

	if (!open_files(&series, files, count, reading, err))
		return false;
	for (size_t i = 0; i < series.files.count; i++) {
		if (!store_file(&series, i, err))
			return false;
	}
	return !allo_failed(err);
}
