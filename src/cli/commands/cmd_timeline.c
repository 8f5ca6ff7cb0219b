/* cmd_timeline.c - allo timeline: the heap over time. */
#include "base/assert.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show/picture_file.h"
#include "cli/show/show_marks.h"
#include "cli/show/split_report.h"
#include "engine/source_answers.h"
#include "replay/recording/resident.h"
#include "report/chart.h"
#include "report/time_chart.h"

#include <stdio.h>
#include <stdlib.h>

enum of { OF_BYTES, OF_BLOCKS, OF_ALLOCS, OF_RATE };

static const char *const of_names[] = { "bytes", "blocks", "allocs", "rate", NULL };

struct timeline {
	struct allo_common common;
	uint64_t steps, rows, count;
	int of, by;
	const char *label; /* the key, with --by label:KEY */
	bool is_ascii;
	struct allo_picture_options picture;
};

/* In the order of enum allo_split_by. */
static const char *const by_names[] = { "nothing", "function", "site", "thread", NULL };

/* A picture has a step for each pixel of its width. */
enum { STEPS = 200, STEPS_MOST = 1 << 20, PICTURE_STEPS = 860, ROWS = 10, ROWS_MOST = 200 };

static const struct timeline defaults = { .rows = ROWS, .count = 10 };

#define AT(field) offsetof(struct timeline, field)
static const struct allo_option options[] = {
	OPT_CHOICE(0, "of", "VALUE", of, of_names,
		   "values of the chart: bytes (live), blocks (live), allocs (allocations in each "
		   "step) or rate (allocations per second) (default: bytes)"),
	OPT_CHOICE_OR_TEXT(
		'g', "by", "GROUP", by, by_names, "label:", label,
		"split the live bytes by function, site (a line of a function), thread, or label:KEY "
		"for the values of a label: one row each, the largest first (default: nothing)"),
	OPT_COUNT('n', "count", "N", count,
		  "rows of --by; the rest is one row (default: 10; 0 for all)"),
	OPT_COUNT(0, "steps", "N", steps,
		  "most steps of equal length; there are at least half as many (default: 200, or "
		  "the columns of the chart)"),
	OPT_COUNT(0, "rows", "N", rows, "lines of the chart (default: 10)"),
	OPT_FLAG(0, "ascii", is_ascii, "draw in ASCII (default: only if the locale is not UTF-8)"),
	OPT_PICTURE(picture),
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
	{ "allo timeline --by function -o heap.svg server.allo",
	  "the same as a picture, for a browser or a document" },
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

	if (opt->picture.output)
		return opt->steps > 0 && opt->steps < PICTURE_STEPS ? opt->steps : PICTURE_STEPS;
	if (opt->steps > 0)
		return opt->steps;
	return is_chart ? 2 * allo_terminal_columns() : STEPS;
}

static bool make_timeline(struct result *result, struct allo_error *err)
{
	result->timeline.most = most_steps(result->opt);
	return allo_source_timeline(&result->source, &result->timeline, &result->marks, err) &&
	       find_rss(result, err);
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

/* The picture. */

static const char *const nouns[] = { "live bytes", "live blocks", "allocations in each step",
				     "allocations per second" };

static void format_subtitle(const struct result *result, char text[ALLO_PICTURE_TEXT_SIZE])
{
	const struct allo_timeline *timeline = &result->timeline;
	const struct allo_timeline_step *last = &timeline->steps.at[timeline->steps.len - 1];
	bool is_estimated = allo_is_sampled(&timeline->weighing);
	char peak[ALLO_NUMBER_SIZE], blocks[ALLO_NUMBER_SIZE], at[ALLO_NUMBER_SIZE];
	char end[ALLO_NUMBER_SIZE], left[ALLO_NUMBER_SIZE], step[ALLO_NUMBER_SIZE];

	ALLO_ASSERT(timeline->steps.len > 0);
	snprintf(text, ALLO_PICTURE_TEXT_SIZE,
		 "%s, in steps of %s; peak %s in %s block%s at %s, in the end %s in %s block%s",
		 nouns[result->opt->of],
		 allo_format((struct allo_number){ timeline->step_ns }, ALLO_UNIT_NS, false, step),
		 allo_format((struct allo_number){ timeline->peak_bytes, false, is_estimated },
			     ALLO_UNIT_BYTES, false, peak),
		 allo_format((struct allo_number){ timeline->peak_blocks, false, is_estimated },
			     ALLO_UNIT_COUNT, false, blocks),
		 allo_plural(timeline->peak_blocks),
		 allo_format((struct allo_number){ timeline->peak_ns }, ALLO_UNIT_NS, false, at),
		 allo_format((struct allo_number){ last->end_bytes, false, is_estimated },
			     ALLO_UNIT_BYTES, false, end),
		 allo_format((struct allo_number){ last->end_blocks, false, is_estimated },
			     ALLO_UNIT_COUNT, false, left),
		 allo_plural(last->end_blocks));
}

/* The names of marks refer to the recording. */
static struct allo_time_mark *list_marks(const struct result *result, struct allo_error *err)
{
	const struct allo_marks *marks = &result->marks;
	struct allo_time_mark *list = calloc(marks->list.len + 1, sizeof(*list));

	for (size_t i = 0; i < marks->list.len && list; i++)
		list[i] = (struct allo_time_mark){ marks->list.at[i].ns,
						   allo_recording_text(&result->source.recording,
								       marks->list.at[i].name) };
	if (!list)
		allo_fail_memory(err);
	return list;
}

static void set_peak(const struct result *result, struct allo_time_chart *chart,
		     const uint64_t *values, char label[ALLO_PICTURE_TEXT_SIZE])
{
	const struct timeline *opt = result->opt;
	const struct allo_timeline *timeline = &result->timeline;
	size_t largest = find_largest(values, chart->count);
	char peak[ALLO_NUMBER_SIZE], at[ALLO_NUMBER_SIZE];

	chart->peak = values[largest];
	chart->peak_ns = opt->of == OF_BYTES ? timeline->peak_ns
					     : timeline->from_ns + largest * timeline->step_ns;
	snprintf(label, ALLO_PICTURE_TEXT_SIZE, "%s %s%s at %s",
		 opt->of <= OF_BLOCKS ? "peak" : "most",
		 allo_format((struct allo_number){ chart->peak, false, chart->is_estimated },
			     chart->unit, false, peak),
		 chart->unit_end,
		 allo_format((struct allo_number){ chart->peak_ns }, ALLO_UNIT_NS, false, at));
	chart->peak_label = label;
}

static bool write_chart(struct result *result, const struct allo_time_chart *axes,
			const struct allo_course *heap, char **files, struct allo_error *err)
{
	const struct timeline *opt = result->opt;
	struct allo_time_chart chart = *axes;
	const struct allo_course whole = { ALLO_TEXT("all, the most in each step"), heap->values,
					   NULL };
	const struct allo_split_options split = {
		.common = &opt->common,
		.file = result->file,
		.by = (enum allo_split_by)opt->by,
		.label = opt->label,
		.count = opt->count > 0 && opt->count < ALLO_CHART_COLOURS ? opt->count
									   : ALLO_CHART_COLOURS,
		.most_steps = most_steps(opt),
	};
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	if (!allo_picture_open(&opt->picture, files, &out, err))
		return false;
	if (opt->by || opt->label) {
		chart.whole = &whole;
		if (!allo_split_draw(&split, &result->source, &chart, &out, err))
			return false;
	} else {
		chart.areas = heap;
		chart.area_count = 1;
		allo_time_chart_write(&chart, &out);
	}
	return allo_picture_finish(&opt->picture, &opt->common, &out, err);
}

static const char *what_of(const struct timeline *opt)
{
	static const char *const by[] = { "Heap over time", "Heap by function", "Heap by site",
					  "Heap by thread" };
	static const char *const of[] = { NULL, "Live blocks over time", "Allocations over time",
					  "Rate of allocations" };

	if (opt->label)
		return "Heap by label";
	return opt->of == OF_BYTES ? by[opt->by] : of[opt->of];
}

static bool draw_picture(struct result *result, char **files, struct allo_error *err)
{
	const struct timeline *opt = result->opt;
	const struct allo_timeline *timeline = &result->timeline;
	char title[ALLO_PICTURE_TEXT_SIZE], subtitle[ALLO_PICTURE_TEXT_SIZE];
	char label[ALLO_PICTURE_TEXT_SIZE];
	ALLO_DEFER(allo_free_pointer) struct allo_time_mark *marks = NULL;
	ALLO_DEFER(allo_free_pointer) uint64_t *values = NULL;
	struct allo_time_chart chart = {
		.title = allo_picture_title(what_of(opt), result->file, title),
		.unit = opt->of == OF_BYTES ? ALLO_UNIT_BYTES : ALLO_UNIT_COUNT,
		.unit_end = opt->of == OF_RATE ? "/s" : "",
	};
	struct allo_course heap = { .name = allo_text_of(nouns[opt->of]) };

	if (!make_timeline(result, err))
		return false;
	marks = list_marks(result, err);
	values = calloc(2 * timeline->steps.len, sizeof(*values));
	if (!marks || !values)
		return allo_fail_memory(err);
	heap.values = values;
	heap.least = opt->of == OF_BYTES ? values + timeline->steps.len : NULL;
	for (size_t i = 0; i < timeline->steps.len; i++) {
		values[i] = value_of(result, &timeline->steps.at[i]);
		values[timeline->steps.len + i] = timeline->steps.at[i].min_bytes;
	}
	format_subtitle(result, subtitle);
	chart.subtitle = allo_text_of(subtitle);
	chart.from_ns = timeline->from_ns;
	chart.step_ns = timeline->step_ns;
	chart.end_ns = timeline->end_ns;
	chart.count = timeline->steps.len;
	chart.is_estimated = allo_is_sampled(&timeline->weighing);
	chart.rss = result->rss_most > 0 ? result->rss.at : NULL;
	chart.marks = marks;
	chart.mark_count = result->marks.list.len;
	set_peak(result, &chart, values, label);
	return write_chart(result, &chart, &heap, files, err);
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
	return allo_picture_check(&opt->picture, &opt->common, err) &&
	       allo_common_check(&opt->common, err);
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

static bool show(struct result *result, char **files, struct allo_error *err)
{
	const struct timeline *opt = result->opt;

	if (opt->picture.output)
		return draw_picture(result, files, err);
	return opt->by || opt->label ? print_split(result, err) : print_chart(result, err);
}

static bool run_timeline(const void *options_given, char **files, struct allo_error *err)
{
	const struct timeline *opt = options_given;
	ALLO_DEFER(result_done) struct result result = { .opt = opt, .file = files[0] };

	if (!check(opt, err) ||
	    !allo_common_open_recording(&opt->common, files[0], "a timeline", &result.source,
					err) ||
	    !show(&result, files, err))
		return false;
	allo_source_note_gaps(&result.source);
	return true;
}

const struct allo_command allo_cmd_timeline = {
	.name = "timeline",
	.heading = "Look",
	.summary = "draw a recording's heap over time",
	.arguments = "[FILE]",
	.about =
		"Draws the live bytes, the live blocks or the allocations of a recording over "
		"time, in steps of equal length. A step shows the exact maximum within it, so "
		"even the shortest peak is visible. Below it is the resident memory of the process, "
		"from samples, with its own scale. The marks of the program are listed last.\n\n"
		"--by splits the live bytes into rows: the peak of each, its time, and its course "
		"as a line.\n\n"
		"-o draws the same into an SVG file that needs no script, with the marks of the "
		"program and numbers of each step as tooltips. With --by, the groups are stacked: "
		"at most eight and the others.\n\n"
		"--csv and --json print the numbers of each step: the most and the least live, "
		"the blocks live at its end, allocations, frees, allocated bytes, temporary "
		"blocks and resident memory.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct timeline),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_timeline,
};
