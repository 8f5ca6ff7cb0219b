/* cmd_timeline.c - allo timeline: the heap over time. */
#include "base/defer.h"
#include "base/json_write.h"
#include "cli/common.h"
#include "cli/show_marks.h"
#include "replay/timeline.h"
#include "report/chart.h"
#include "report/show.h"

#include <stdio.h>
#include <stdlib.h>

enum of { OF_BYTES, OF_BLOCKS, OF_ALLOCS, OF_RATE };

static const char *const of_names[] = { "bytes", "blocks", "allocs", "rate", NULL };

struct timeline {
	struct allo_common common;
	uint64_t steps, rows;
	int of;
	bool is_ascii;
};

enum { STEPS = 200, STEPS_MOST = 1 << 20, ROWS = 10, ROWS_MOST = 200 };

static const struct timeline defaults = { .rows = ROWS };

static const struct allo_option options[] = {
	{ .name = "of",
	  .argument = "WHAT",
	  .help = "what the chart shows: bytes (live), blocks (live), allocs (allocations in each "
		  "step) or rate (allocations a second)",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct timeline, of),
	  .choices = of_names },
	{ .name = "steps",
	  .argument = "N",
	  .help = "at most so many steps of equal length, and at least half as many; 200 without "
		  "it, and as many as there are columns for a chart",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct timeline, steps) },
	{ .name = "rows",
	  .argument = "N",
	  .help = "lines that the chart takes, 10 without it",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct timeline, rows) },
	{ .name = "ascii",
	  .help = "draw with plain characters, as where the locale is not UTF-8",
	  .offset = offsetof(struct timeline, is_ascii) },
	{ .name = "bytes",
	  .help = "print plain numbers, without units and separators",
	  .offset = offsetof(struct timeline, common.plain) },
	{ .name = "csv",
	  .help = "print the steps as comma-separated values, with plain numbers",
	  .offset = offsetof(struct timeline, common.csv) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Chart", options };

static const struct allo_option_group *const groups[] = { &group, &allo_view_group,
							  &allo_printing_group, &allo_reading_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo timeline server.allo", "how the heap grew and shrank" },
	{ "allo timeline --of rate --range 2s..5s server.allo", "when most was allocated" },
	{ "allo timeline --csv --steps 1000 server.allo > heap.csv", "for a spreadsheet" },
	{ NULL, NULL },
};

/* What is made of a recording. */
struct making {
	const struct timeline *opt;
	const char *file;
	struct allo_source source;
	struct allo_timeline timeline;
	struct allo_marks marks;
};

static void making_done(struct making *making)
{
	allo_source_close(&making->source);
	allo_timeline_done(&making->timeline);
	allo_marks_done(&making->marks);
}

static bool is_chart(const struct timeline *opt)
{
	return !opt->common.csv && !opt->common.json;
}

static bool make_timeline(struct making *making, struct allo_error *err)
{
	struct allo_source *source = &making->source;
	struct allo_timeline *timeline = &making->timeline;
	const struct allo_window *window = &source->replay.window;

	timeline->most = making->opt->steps;
	if (timeline->most == 0)
		timeline->most = is_chart(making->opt) ? 2 * allo_terminal_columns() : STEPS;
	if (!allo_timeline_of(timeline, &source->recording, window, err) ||
	    !allo_marks_of(&making->marks, &source->recording, window, err))
		return false;
	timeline->peak_ns = allo_window_peak_ns(window, &source->recording, timeline->peak_bytes,
						timeline->peak_ns);
	allo_source_end_progress(source);
	return true;
}

/* The chart. */

static uint64_t value_of(const struct making *making, const struct allo_timeline_step *step)
{
	double seconds = (double)making->timeline.step_ns / 1e9;

	switch ((enum of)making->opt->of) {
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

static const char *format(const struct making *making, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	bool is_estimated = unit != ALLO_UNIT_NS && allo_is_sampled(&making->timeline.weighing);

	return allo_format((struct allo_number){ value, false, is_estimated }, unit,
			   making->opt->common.plain, out);
}

/* The first step that has the most of what is shown. */
static size_t most_at(const uint64_t *values, size_t count)
{
	size_t at = 0;

	for (size_t i = 1; i < count; i++)
		at = values[i] > values[at] ? i : at;
	return at;
}

static void print_heading(struct allo_output *out, const struct making *making)
{
	static const char *const what[] = { "live bytes", "live blocks", "allocations in a step",
					    "allocations a second" };
	const struct allo_timeline *timeline = &making->timeline;
	struct allo_style style = allo_common_style(&making->opt->common);
	char duration[ALLO_NUMBER_SIZE], step[ALLO_NUMBER_SIZE];

	allo_output_string(out, style.bold);
	allo_output_printable(out, allo_text_of(making->file));
	allo_output_printf(
		out, "%s   %s over %s, in steps of %s\n", style.reset, what[making->opt->of],
		format(making, timeline->end_ns - timeline->from_ns, ALLO_UNIT_NS, duration),
		format(making, timeline->step_ns, ALLO_UNIT_NS, step));
}

static void print_ending(struct allo_output *out, const struct making *making)
{
	const struct allo_timeline *timeline = &making->timeline;
	const struct allo_timeline_step *last = &timeline->steps.at[timeline->steps.len - 1];
	char peak[ALLO_NUMBER_SIZE], peak_blocks[ALLO_NUMBER_SIZE], when[ALLO_NUMBER_SIZE],
		end[ALLO_NUMBER_SIZE], end_blocks[ALLO_NUMBER_SIZE];

	allo_output_printf(out, "peak %s in %s block%s at %s, in the end %s in %s block%s\n",
			   format(making, timeline->peak_bytes, ALLO_UNIT_BYTES, peak),
			   format(making, timeline->peak_blocks, ALLO_UNIT_COUNT, peak_blocks),
			   timeline->peak_blocks == 1 ? "" : "s",
			   format(making, timeline->peak_ns, ALLO_UNIT_NS, when),
			   format(making, last->end_bytes, ALLO_UNIT_BYTES, end),
			   format(making, last->end_blocks, ALLO_UNIT_COUNT, end_blocks),
			   last->end_blocks == 1 ? "" : "s");
}

static bool print_chart(struct allo_output *out, const struct making *making,
			struct allo_error *err)
{
	const struct timeline *opt = making->opt;
	const struct allo_timeline *timeline = &making->timeline;
	size_t count = timeline->steps.len, at;
	ALLO_DEFER(allo_free_pointer) uint64_t *values = calloc(count + 1, sizeof(*values));
	struct allo_chart chart = {
		.values = values,
		.count = count,
		.from_ns = timeline->from_ns,
		.step_ns = timeline->step_ns,
		.end_ns = timeline->end_ns,
		.unit = opt->of == OF_BYTES ? ALLO_UNIT_BYTES : ALLO_UNIT_COUNT,
		.unit_end = opt->of == OF_RATE ? "/s" : "",
		.columns = allo_terminal_columns(),
		.rows = opt->rows,
		.is_ascii = opt->is_ascii || !allo_terminal_is_utf8(),
		.is_plain = opt->common.plain,
		.is_estimated = allo_is_sampled(&timeline->weighing),
		.style = allo_common_style(&opt->common),
	};
	char mark[2 * ALLO_NUMBER_SIZE + 16], number[ALLO_NUMBER_SIZE], when[ALLO_NUMBER_SIZE];

	if (!values)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		values[i] = value_of(making, &timeline->steps.at[i]);
	at = most_at(values, count);
	chart.mark_ns = opt->of == OF_BYTES ? timeline->peak_ns
					    : timeline->from_ns + at * timeline->step_ns;
	snprintf(mark, sizeof(mark), "%s %s%s at %s", opt->of <= OF_BLOCKS ? "peak" : "most",
		 format(making, values[at], chart.unit, number), chart.unit_end,
		 format(making, chart.mark_ns, ALLO_UNIT_NS, when));
	chart.mark = mark;
	print_heading(out, making);
	allo_chart_draw(&chart, out);
	print_ending(out, making);
	if (making->marks.list.len > 0) {
		allo_output_string(out, "marks ");
		allo_show_marks(out, &making->source.recording, &making->marks, opt->common.plain);
	}
	return true;
}

/* For programs. */

struct column {
	const char *name;
	size_t offset;
};

static const struct column columns[] = {
	{ "max_bytes", offsetof(struct allo_timeline_step, max_bytes) },
	{ "max_blocks", offsetof(struct allo_timeline_step, max_blocks) },
	{ "min_bytes", offsetof(struct allo_timeline_step, min_bytes) },
	{ "end_bytes", offsetof(struct allo_timeline_step, end_bytes) },
	{ "end_blocks", offsetof(struct allo_timeline_step, end_blocks) },
	{ "allocations", offsetof(struct allo_timeline_step, allocations) },
	{ "frees", offsetof(struct allo_timeline_step, frees) },
	{ "alloc_bytes", offsetof(struct allo_timeline_step, alloc_bytes) },
	{ "temporary_blocks", offsetof(struct allo_timeline_step, temporary_blocks) },
};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };

static uint64_t number_in(const struct allo_timeline_step *step, const struct column *column)
{
	uint64_t number;

	memcpy(&number, (const char *)step + column->offset, sizeof(number));
	return number;
}

/* A sampled recording does not tell which blocks are temporary. */
static bool is_known(const struct allo_timeline *timeline, const struct column *column)
{
	return !allo_is_sampled(&timeline->weighing) ||
	       column->offset != offsetof(struct allo_timeline_step, temporary_blocks);
}

static void print_csv(struct allo_output *out, const struct allo_timeline *timeline)
{
	allo_output_string(out, "start_ns");
	for (size_t k = 0; k < COLUMNS; k++)
		allo_output_printf(out, ",%s", columns[k].name);
	allo_output_byte(out, '\n');
	for (size_t i = 0; i < timeline->steps.len; i++) {
		allo_output_printf(out, "%llu",
				   (unsigned long long)(timeline->from_ns + i * timeline->step_ns));
		for (size_t k = 0; k < COLUMNS; k++) {
			allo_output_byte(out, ',');
			if (is_known(timeline, &columns[k]))
				allo_output_printf(out, "%llu",
						   (unsigned long long)number_in(
							   &timeline->steps.at[i], &columns[k]));
		}
		allo_output_byte(out, '\n');
	}
}

static void print_json(struct allo_output *out, const struct making *making)
{
	const struct allo_timeline *timeline = &making->timeline;
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };

	allo_show_json_begin_numbers(&json, allo_is_sampled(&timeline->weighing));
	allo_json_out_member_u64(&json, "from_ns", timeline->from_ns);
	allo_json_out_member_u64(&json, "end_ns", timeline->end_ns);
	allo_json_out_member_u64(&json, "step_ns", timeline->step_ns);
	allo_json_out_member_u64(&json, "peak_bytes", timeline->peak_bytes);
	allo_json_out_member_u64(&json, "peak_blocks", timeline->peak_blocks);
	allo_json_out_member_u64(&json, "peak_ns", timeline->peak_ns);
	allo_show_json_marks(&json, &making->source.recording, &making->marks);
	allo_json_out_key(&json, "steps");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < timeline->steps.len; i++) {
		allo_json_out_begin(&json, '{');
		allo_json_out_member_u64(&json, "start_ns",
					 timeline->from_ns + i * timeline->step_ns);
		for (size_t k = 0; k < COLUMNS; k++) {
			if (is_known(timeline, &columns[k]))
				allo_json_out_member_u64(
					&json, columns[k].name,
					number_in(&timeline->steps.at[i], &columns[k]));
		}
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool check(const struct timeline *opt, struct allo_error *err)
{
	if (opt->common.at)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--at is a single moment, and a timeline needs more: see --range");
	if (opt->steps > STEPS_MOST)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--steps: at most %d", STEPS_MOST);
	if (opt->rows < 1 || opt->rows > ROWS_MOST)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "--rows: from 1 to %d", ROWS_MOST);
	return allo_common_check(&opt->common, err);
}

static bool run_timeline(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct timeline *opt = options_given;
	ALLO_DEFER(making_done) struct making making = { .opt = opt, .file = files[0] };

	if (!check(opt, err) ||
	    !allo_common_open_recording(&opt->common, files[0], "a timeline", &making.source,
					err) ||
	    !make_timeline(&making, err) || !allo_common_begin(&opt->common, &out, err))
		return false;
	if (opt->common.json)
		print_json(&out, &making);
	else if (opt->common.csv)
		print_csv(&out, &making.timeline);
	else if (!print_chart(&out, &making, err))
		return false;
	if (!allo_common_end(&opt->common, &out, NULL, err))
		return false;
	allo_source_note_gaps(&making.source);
	return true;
}

const struct allo_command allo_cmd_timeline = {
	.name = "timeline",
	.heading = "Look",
	.summary = "draw a recording's heap over time",
	.arguments = "FILE",
	.about = "Draws what was live (or how much was allocated) from the start of a recording "
		 "to its end, in steps of equal length. Each step shows the exact most that was "
		 "live at once within it, so no peak is too short to be seen. --csv and --json "
		 "print the steps as numbers: the most and the least live, what is live when the "
		 "step ends, allocations, frees, bytes allocated, temporary blocks. Marks of the "
		 "program stand below the chart.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct timeline),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_timeline,
};
