/* cmd_timeline.c - allo timeline: the heap over time. */
#include "base/assert.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show_marks.h"
#include "cli/split_report.h"
#include "replay/resident.h"
#include "replay/timeline.h"
#include "report/chart.h"

#include <stdlib.h>

enum of { OF_BYTES, OF_BLOCKS, OF_ALLOCS, OF_RATE };

static const char *const of_names[] = { "bytes", "blocks", "allocs", "rate", NULL };

struct timeline {
	struct allo_common common;
	uint64_t steps, rows, count;
	int of, by;
	const char *label; /* the key, with --by label:KEY */
	bool is_ascii;
};

/* In the order of enum allo_split_by. */
static const char *const by_names[] = { "nothing", "function", "site", "thread", NULL };

enum { STEPS = 200, STEPS_MOST = 1 << 20, ROWS = 10, ROWS_MOST = 200 };

static const struct timeline defaults = { .rows = ROWS, .count = 10 };

#define AT(field) offsetof(struct timeline, field)
static const struct allo_option options[] = {
	OPT_CHOICE(0, "of", "WHAT", of, of_names,
		   "values of the chart: bytes (live), blocks (live), allocs (allocations in each "
		   "step) or rate (allocations per second) (default: bytes)"),
	OPT_CHOICE_OR_TEXT(
		'g', "by", "WHAT", by, by_names, "label:", label,
		"split the live bytes by function, site (a line of a function), thread, or label:KEY "
		"for the values of a label: one row each, the largest first (default: nothing)"),
	OPT_COUNT('n', "count", "N", count,
		  "rows of --by; the rest is one row (default: 10; 0 for all)"),
	OPT_COUNT(0, "steps", "N", steps,
		  "most steps of equal length; there are at least half as many (default: 200, or "
		  "the columns of the chart)"),
	OPT_COUNT(0, "rows", "N", rows, "lines of the chart (default: 10)"),
	OPT_FLAG(0, "ascii", is_ascii, "draw in ASCII (default: only if the locale is not UTF-8)"),
	OPT_PLAIN(common.plain),
	OPT_FLAG(0, "csv", common.csv, "print the steps as comma-separated values"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Chart", options };

static const struct allo_option_group *const groups[] = {
	&group, &allo_view_group, &allo_printing_group, &allo_symbols_group, &allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo timeline server.allo", "the size of the heap over time" },
	{ "allo timeline --of rate --range 2s..5s server.allo",
	  "allocations per second in a part of the run" },
	{ "allo timeline --by function server.allo", "which function held the memory, and when" },
	{ "allo timeline --csv --steps 1000 server.allo > heap.csv", "for a spreadsheet" },
	{ NULL, NULL },
};

struct result {
	const struct timeline *opt;
	const char *file;
	struct allo_source source;
	struct allo_timeline timeline;
	struct allo_marks marks;
	ALLO_VEC(uint64_t) rss; /* resident memory of the process, by step; empty: not drawn */
	uint64_t rss_most;
};

static void result_done(struct result *result)
{
	allo_source_close(&result->source);
	allo_timeline_done(&result->timeline);
	allo_marks_done(&result->marks);
	allo_vec_done(&result->rss);
}

/* Of the whole process: next to the blocks of one thread, it would mislead. */
static bool find_rss(struct result *result, struct allo_error *err)
{
	const struct allo_timeline *timeline = &result->timeline;
	const struct allo_source *source = &result->source;

	if (!source->recording.resident || source->replay.window.threads ||
	    result->opt->of != OF_BYTES)
		return true;
	if (!allo_vec_cover(&result->rss, timeline->steps.len))
		return allo_fail_memory(err);
	for (size_t i = 0; i < timeline->steps.len; i++) {
		uint64_t from = timeline->from_ns + i * timeline->step_ns;
		uint64_t to = i + 1 < timeline->steps.len ? from + timeline->step_ns
							  : timeline->end_ns;
		uint64_t rss = allo_resident_within(&source->recording, from, to);

		result->rss.at[i] = rss;
		result->rss_most = rss > result->rss_most ? rss : result->rss_most;
	}
	return true;
}

static size_t most_steps(const struct timeline *opt)
{
	bool is_chart = !opt->common.csv && !opt->common.json;

	if (opt->steps > 0)
		return opt->steps;
	return is_chart ? 2 * allo_terminal_columns() : STEPS;
}

static bool make_timeline(struct result *result, struct allo_error *err)
{
	struct allo_source *source = &result->source;
	struct allo_timeline *timeline = &result->timeline;
	const struct allo_window *window = &source->replay.window;

	timeline->most = most_steps(result->opt);
	if (!allo_timeline_of(timeline, &source->recording, window, err) ||
	    !allo_marks_of(&result->marks, &source->recording, window, err))
		return false;
	timeline->peak_ns = allo_window_peak_ns(window, &source->recording, timeline->peak_bytes,
						timeline->peak_ns);
	allo_source_end_progress(source);
	return find_rss(result, err);
}

/* The chart, for people. */

static uint64_t value_of(const struct result *result, const struct allo_timeline_step *step)
{
	double seconds = (double)result->timeline.step_ns / 1e9;

	switch ((enum of)result->opt->of) {
	case OF_BYTES:
		return step->max_bytes;
	case OF_BLOCKS:
		return step->max_blocks;
	case OF_ALLOCS:
		return step->allocations;
	case OF_RATE:
		return (uint64_t)((double)step->allocations / seconds + 0.5);
	}
	return 0;
}

/* The first step with the largest value. */
static size_t find_largest(const uint64_t *values, size_t count)
{
	size_t at = 0;

	for (size_t i = 1; i < count; i++)
		at = values[i] > values[at] ? i : at;
	return at;
}

static void put_heading(struct allo_report *report, const struct result *result)
{
	static const char *const titles[] = { "live bytes", "live blocks", "allocations in a step",
					      "allocations a second" };
	const struct allo_timeline *timeline = &result->timeline;

	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "%s", result->file);
	allo_report_put(
		report, ALLO_STYLE_PLAIN, "   %s over %s, in steps of %s", titles[result->opt->of],
		allo_report_number(report, timeline->end_ns - timeline->from_ns, ALLO_UNIT_NS),
		allo_report_number(report, timeline->step_ns, ALLO_UNIT_NS));
	allo_report_end_line(report);
}

/* Draws the values of the steps, with a mark above. */
static void draw_values(struct allo_report *report, const struct result *result,
			const struct allo_chart *drawn)
{
	const struct timeline *opt = result->opt;
	const struct allo_timeline *timeline = &result->timeline;
	struct allo_output *out = allo_report_drawing(report);
	struct allo_chart chart = *drawn;

	if (!out)
		return;
	chart.count = timeline->steps.len;
	chart.from_ns = timeline->from_ns;
	chart.step_ns = timeline->step_ns;
	chart.end_ns = timeline->end_ns;
	chart.columns = allo_terminal_columns();
	chart.is_ascii = opt->is_ascii || !allo_terminal_is_utf8();
	chart.is_plain = opt->common.plain;
	chart.style = report->options.style;
	allo_chart_draw(&chart, out);
}

static void draw_heap(struct allo_report *report, const struct result *result,
		      const uint64_t *values)
{
	const struct timeline *opt = result->opt;
	const struct allo_timeline *timeline = &result->timeline;
	size_t largest = find_largest(values, timeline->steps.len);
	struct allo_chart chart = {
		.values = values,
		.unit = opt->of == OF_BYTES ? ALLO_UNIT_BYTES : ALLO_UNIT_COUNT,
		.unit_end = opt->of == OF_RATE ? "/s" : "",
		.rows = opt->rows,
		.also_fits = result->rss_most,
		.is_estimated = report->options.is_estimated,
		.mark_ns = opt->of == OF_BYTES ? timeline->peak_ns
					       : timeline->from_ns + largest * timeline->step_ns,
	};

	chart.mark = allo_report_string(
		report, "%s %s%s at %s", opt->of <= OF_BLOCKS ? "peak" : "most",
		allo_report_number(report, values[largest], chart.unit), chart.unit_end,
		allo_report_number(report, chart.mark_ns, ALLO_UNIT_NS));
	draw_values(report, result, &chart);
}

/* The resident memory, on the same axis of time below the heap. */
static void draw_resident(struct allo_report *report, const struct result *result)
{
	const struct allo_timeline *timeline = &result->timeline;
	size_t largest = find_largest(result->rss.at, result->rss.len);
	struct allo_chart chart = {
		.values = result->rss.at,
		.unit = ALLO_UNIT_BYTES,
		.unit_end = "",
		.rows = (result->opt->rows + 2) / 3,
		.also_fits = timeline->peak_bytes,
		.mark_ns = timeline->from_ns + largest * timeline->step_ns,
	};

	if (result->rss_most == 0)
		return;
	chart.mark = allo_report_string(report, "resident memory, %s at most",
					allo_report_bytes(report, result->rss_most));
	draw_values(report, result, &chart);
}

static void draw_charts(struct allo_report *report, const struct result *result)
{
	const struct allo_timeline *timeline = &result->timeline;
	ALLO_DEFER(allo_free_pointer)
	uint64_t *values = calloc(timeline->steps.len + 1, sizeof(*values));

	if (!values) {
		allo_report_fail_memory(report);
		return;
	}
	for (size_t i = 0; i < timeline->steps.len; i++)
		values[i] = value_of(result, &timeline->steps.at[i]);
	draw_heap(report, result, values);
	draw_resident(report, result);
}

static void put_peak(struct allo_report *report, const struct allo_timeline *timeline)
{
	const struct allo_timeline_step *last = &timeline->steps.at[timeline->steps.len - 1];

	ALLO_ASSERT(timeline->steps.len > 0);
	allo_report_line(report, "peak %s in %s block%s at %s, in the end %s in %s block%s",
			 allo_report_bytes(report, timeline->peak_bytes),
			 allo_report_number(report, timeline->peak_blocks, ALLO_UNIT_COUNT),
			 allo_plural(timeline->peak_blocks),
			 allo_report_number(report, timeline->peak_ns, ALLO_UNIT_NS),
			 allo_report_bytes(report, last->end_bytes),
			 allo_report_number(report, last->end_blocks, ALLO_UNIT_COUNT),
			 allo_plural(last->end_blocks));
}

/* The steps, for programs. */

enum { START, NUMBERS, RSS = NUMBERS + 9, COLUMNS };

#define AT(member) ALLO_COLUMN_AT(struct allo_timeline_step, member)
static const struct allo_column columns[COLUMNS] = {
	[START] = { NULL, "start_ns", "start_ns", ALLO_CELL_ID },
	[NUMBERS] = { NULL, "max_bytes", "max_bytes", ALLO_CELL_BYTES, AT(max_bytes) },
	{ NULL, "max_blocks", "max_blocks", AT(max_blocks) },
	{ NULL, "min_bytes", "min_bytes", ALLO_CELL_BYTES, AT(min_bytes) },
	{ NULL, "end_bytes", "end_bytes", ALLO_CELL_BYTES, AT(end_bytes) },
	{ NULL, "end_blocks", "end_blocks", AT(end_blocks) },
	{ NULL, "allocations", "allocations", AT(allocations) },
	{ NULL, "frees", "frees", AT(frees) },
	{ NULL, "alloc_bytes", "alloc_bytes", ALLO_CELL_BYTES, AT(alloc_bytes) },
	/* A sample does not show which blocks are temporary. */
	{ NULL, "temporary_blocks", "temporary_blocks", AT(temporary_blocks), .needs_exact = true },
	[RSS] = { NULL, "rss_bytes", "rss_bytes", ALLO_CELL_BYTES },
};
#undef AT

static const struct allo_report_table table = { "steps", columns, COLUMNS };

static void list_steps(struct allo_report *report, const struct result *result)
{
	const struct allo_timeline *timeline = &result->timeline;

	allo_report_table(report, &table);
	if (result->rss_most == 0)
		allo_report_hide(report, RSS);
	for (size_t i = 0; i < timeline->steps.len && !allo_report_is_prose(report); i++) {
		allo_report_row(report);
		allo_cell_u64(report, START, timeline->from_ns + i * timeline->step_ns);
		allo_report_numbers(report, &timeline->steps.at[i]);
		if (result->rss_most > 0)
			allo_cell_u64(report, RSS, result->rss.at[i]);
	}
	allo_report_end_table(report);
}

static void describe(struct allo_report *report, const struct result *result)
{
	const struct allo_timeline *timeline = &result->timeline;

	put_heading(report, result);
	draw_charts(report, result);
	put_peak(report, timeline);
	if (result->marks.list.len > 0) {
		allo_report_put(report, ALLO_STYLE_PLAIN, "marks ");
		allo_report_put_marks(report, &result->source.recording, &result->marks);
		allo_report_end_line(report);
	}
	allo_report_field_u64(report, "from_ns", timeline->from_ns);
	allo_report_field_u64(report, "end_ns", timeline->end_ns);
	allo_report_field_u64(report, "step_ns", timeline->step_ns);
	allo_report_field_u64(report, "peak_bytes", timeline->peak_bytes);
	allo_report_field_u64(report, "peak_blocks", timeline->peak_blocks);
	allo_report_field_u64(report, "peak_ns", timeline->peak_ns);
	allo_report_field_marks(report, &result->source.recording, &result->marks);
	list_steps(report, result);
}

static bool check(const struct timeline *opt, struct allo_error *err)
{
	if (opt->common.at)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--at is a single instant; use --range for a period");
	if ((opt->by || opt->label) && opt->of != OF_BYTES)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--by shows live bytes: drop --of");
	if (opt->steps > STEPS_MOST)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--steps: at most %d", STEPS_MOST);
	if (opt->rows < 1 || opt->rows > ROWS_MOST)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--rows: from 1 to %d", ROWS_MOST);
	return allo_common_check(&opt->common, err);
}

static bool print_split(struct result *result, struct allo_error *err)
{
	const struct timeline *opt = result->opt;
	struct allo_split_options split = {
		.common = &opt->common,
		.file = result->file,
		.by = (enum allo_split_by)opt->by,
		.label = opt->label,
		.count = opt->count,
		.most_steps = most_steps(opt),
		.is_ascii = opt->is_ascii || !allo_terminal_is_utf8(),
	};

	return allo_split_report(&split, &result->source, err);
}

static bool print_chart(struct result *result, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = &result->opt->common;

	if (!make_timeline(result, err) ||
	    !allo_common_report(common, &report, allo_is_sampled(&result->timeline.weighing), err))
		return false;
	describe(&report, result);
	return allo_common_finish(common, &report, NULL, err);
}

static bool run_timeline(const void *options_given, char **files, struct allo_error *err)
{
	const struct timeline *opt = options_given;
	ALLO_DEFER(result_done) struct result result = { .opt = opt, .file = files[0] };

	if (!check(opt, err) ||
	    !allo_common_open_recording(&opt->common, files[0], "a timeline", &result.source,
					err) ||
	    !(opt->by || opt->label ? print_split(&result, err) : print_chart(&result, err)))
		return false;
	allo_source_note_gaps(&result.source);
	return true;
}

const struct allo_command allo_cmd_timeline = {
	.name = "timeline",
	.heading = "Look",
	.summary = "draw a recording's heap over time",
	.arguments = "FILE",
	.about =
		"Draws the live bytes, the live blocks or the allocations of a recording over "
		"time, in steps of equal length. A step shows the exact maximum within it, so "
		"even the shortest peak is visible. Below it is the resident memory of the process, "
		"from samples, with its own scale. The marks of the program are listed last.\n\n"
		"--by splits the live bytes into rows: the peak of each, its time, and its course "
		"as a line.\n\n"
		"--csv and --json print the numbers of each step: the most and the least live, "
		"the blocks live at its end, allocations, frees, allocated bytes, temporary "
		"blocks and resident memory.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct timeline),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_timeline,
};
