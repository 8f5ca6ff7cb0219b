/* cmd_blocks.c - allo blocks: single allocations of a recording, one per line. */
#include "base/assert.h"
#include "base/defer.h"
#include "base/utf8.h"
#include "cli/row_filter.h"
#include "cli/show/show_labels.h"
#include "profile/naming.h"
#include "profile/source_name.h"
#include "replay/weights.h"
#include "report/show.h"

#include <stdio.h>

/* The first three are those of top_rows.h. */
enum sort { SORT_SIZE, SORT_TIME, SORT_LIFETIME, SORT_END };

static const char *const sort_names[] = { "size", "time", "lifetime", "end", NULL };

struct blocks {
	struct allo_row_options rows;
	uint64_t count;
	int sort;
	bool stacks;
};

static const struct blocks defaults = { .count = 20 };

#define AT(field) offsetof(struct blocks, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count, "number of blocks (default: 20; 0 for all)"),
	OPT_CHOICE(
		0, "sort", "KEY", sort, sort_names,
		"sort by size (largest first), time (of allocation), lifetime (never freed, then "
		"the longest-lived) or end (first freed; streams, so it needs no memory for "
		"its rows) (default: size)"),
	OPT_FLAG(0, "stacks", stacks,
		 "print the whole stack below each block, the innermost frame first, and its "
		 "labels"),
	OPT_END,
};

static const struct allo_option_group group = { "Rows", options };

static const struct allo_option printing_options[] = {
	OPT_FLAG(0, "csv", rows.common.csv, "print comma-separated values"),
	OPT_FLAG(0, "markdown", rows.common.markdown, "print a Markdown table, without stacks"),
	OPT_JSON_LINES(rows.common.json),
	OPT_NO_PAGER(rows.common.no_pager),
	OPT_END,
};

static const struct allo_option_group printing_group = { "Printing", printing_options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_row_group,
	&allo_view_group,
	&allo_filter_group,
	&allo_number_group,
	&printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo blocks server.allo", "the largest blocks" },
	{ "allo blocks --live --sort time -F parse server.allo",
	  "blocks from parse that were never freed" },
	{ "allo blocks --at peak --stacks -n 5 server.allo", "the largest blocks at the peak" },
	{ "allo blocks -n 0 --sort end --csv server.allo > blocks.csv",
	  "all blocks, for a spreadsheet" },
	{ "allo blocks -n 0 --sort end --json server.allo | jq .size",
	  "the sizes of all blocks, for a script" },
	{ NULL, NULL },
};

/* Prints rows: each is a report, so that JSON has an object per line. */
struct printer {
	const struct blocks *opt;
	struct allo_source source;
	struct allo_row_filter filter;
	struct allo_top_rows best;
	struct allo_output *out;
	struct allo_report_options options;
	struct allo_report report; /* of the row */
	uint64_t found, found_bytes, printed;
	struct allo_weighing weighing;
	struct allo_weighed_totals weighed; /* estimates from the sampled blocks */
	size_t width;
};

static void printer_done(struct printer *printer)
{
	allo_source_close(&printer->source);
	allo_report_done(&printer->report);
	allo_row_filter_done(&printer->filter);
	allo_top_rows_done(&printer->best);
}

/* Frames. */

/* A call of a stack; a frame has several if functions were inlined. */
struct call {
	struct allo_text name, file;
	uint32_t line;
	char scratch[ALLO_NAME_SCRATCH];
};

static void get_call(const struct allo_profile *profile, const struct allo_frame *frame,
		     uint32_t index, struct call *call)
{
	struct allo_line line = allo_call_line(profile, frame, index);

	call->name = allo_call_name(profile, frame, index, call->scratch);
	call->file = allo_line_file(profile, line);
	call->line = line.line;
}

static const struct allo_frame *frame_of(const struct allo_profile *profile, allo_stack_id stack)
{
	return &profile->frames.at[profile->stacks.at[stack].frame];
}

/* "4711 worker": the number of a thread, and its name if it has one. */
enum { THREAD_NAME_SIZE = 48 };

static const char *format_thread(const struct allo_recording *recording, uint32_t stream,
				 char out[THREAD_NAME_SIZE])
{
	const struct allo_stream *thread;

	if (stream >= recording->streams.len)
		return strcpy(out, "-");
	thread = &recording->streams.at[stream];
	snprintf(out, THREAD_NAME_SIZE, "%u%s%.*s", thread->thread, thread->name.len > 0 ? " " : "",
		 (int)(thread->name.len < 16 ? thread->name.len : 16),
		 thread->name.data ? thread->name.data : "");
	return out;
}

/* Text. */

enum {
	LEAST_NAME = 20,
	THREAD_COLUMNS = 17,
	CALL_AT = 12 + 2 + 10 + 2 + 11 + 2 + THREAD_COLUMNS + 2,
};

/* "name  file.c:12", cut to the columns that are left of a line. */
static void put_call(struct printer *printer, const struct call *call, size_t used)
{
	struct allo_output *out = printer->out;
	struct allo_text file = allo_source_name(call->file);
	char place[300] = "";
	size_t room = 0;

	if (file.len > 0)
		snprintf(place, sizeof(place), "  %.*s", (int)(file.len < 255 ? file.len : 255),
			 file.data);
	if (file.len > 0 && call->line > 0)
		snprintf(place + strlen(place), 16, ":%u", call->line);
	/* A shorter name is useless: leave out the file instead, or exceed the width. */
	if (printer->width > 0 && printer->width < used + strlen(place) + LEAST_NAME)
		place[0] = '\0';
	used += strlen(place);
	if (printer->width > 0)
		room = printer->width > used + LEAST_NAME ? printer->width - used : LEAST_NAME;
	allo_show_cut(out, allo_report_name(&printer->report, call->name), room, false);
	allo_output_printable(out, allo_text_of(place));
	allo_output_byte(out, '\n');
}

static void put_stack(struct printer *printer, allo_stack_id stack)
{
	const struct allo_profile *profile = &printer->filter.stacks.profile;
	struct call call;

	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame = frame_of(profile, stack);

		for (uint32_t i = 0; i < allo_frame_call_count(frame); i++) {
			get_call(profile, frame, i, &call);
			allo_output_string(printer->out, "        ");
			put_call(printer, &call, 8);
		}
	}
}

/* The lines that --stacks adds. */
static void put_below(struct printer *printer, const struct allo_block_row *row,
		      allo_stack_id stack)
{
	uint32_t labels = allo_row_filter_labels(&printer->filter, row);

	put_stack(printer, stack);
	if (labels == 0)
		return;
	allo_output_string(printer->out, "      ");
	allo_show_labels(printer->out, &printer->source.recording, labels);
	allo_output_byte(printer->out, '\n');
}

static const char *format_lifetime(const struct printer *printer, const struct allo_block_row *row,
				   char out[ALLO_NUMBER_SIZE])
{
	uint64_t ns;

	if (allo_row_lifetime(row, &ns))
		return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS,
				   printer->opt->rows.common.plain, out);
	return strcpy(out, row->free_ns == ALLO_NEVER ? "never freed" : "resized");
}

static void format_seconds(uint64_t ns, char out[32])
{
	snprintf(out, 32, "%llu.%06llu", (unsigned long long)ns / 1000000000,
		 (unsigned long long)ns % 1000000000 / 1000);
}

/* In place of a call. */
static const struct allo_text no_stack = ALLO_TEXT_INIT("(stack not known)");

static void put_titles(const struct printer *printer)
{
	allo_output_printf(printer->out, "%12s  %10s  %11s  %-*s  %s\n", "seconds", "size",
			   "lifetime", THREAD_COLUMNS, "thread", "allocated by");
}

static void put_line(struct printer *printer, const struct allo_block_row *row)
{
	const struct allo_profile *profile = &printer->filter.stacks.profile;
	uint32_t node = allo_row_filter_node(&printer->filter, row);
	allo_stack_id stack = allo_row_stack(&printer->filter.stacks, node);
	struct allo_output *out = printer->out;
	char size[ALLO_NUMBER_SIZE], lifetime[ALLO_NUMBER_SIZE], thread[THREAD_NAME_SIZE];
	char seconds[32];
	struct call call = { .name = no_stack, .file = ALLO_TEXT("") };
	size_t columns;

	format_seconds(row->alloc_ns, seconds);
	allo_output_printf(out, "%12s  %10s  %11s  ", seconds,
			   allo_format((struct allo_number){ row->size, false }, ALLO_UNIT_BYTES,
				       printer->opt->rows.common.plain, size),
			   format_lifetime(printer, row, lifetime));
	format_thread(&printer->source.recording, row->alloc_stream, thread);
	allo_show_cut(out, allo_text_of(thread), printer->width > 0 ? THREAD_COLUMNS : 0, false);
	columns = allo_utf8_columns(allo_text_of(thread));
	allo_output_printf(out, "%*s  ",
			   (int)(columns < THREAD_COLUMNS ? THREAD_COLUMNS - columns : 0), "");
	if (stack != 0)
		get_call(profile, frame_of(profile, stack), 0, &call);
	put_call(printer, &call, CALL_AT);
	if (printer->opt->stacks)
		put_below(printer, row, stack);
}

/* JSON. */

static void add_call(struct allo_report *report, const struct call *call)
{
	allo_report_field_text(report, "name", call->name);
	allo_report_field_short(report, call->name);
	allo_report_field_text(report, "file", call->file);
	if (call->line > 0)
		allo_report_field_u64(report, "line", call->line);
}

static void add_frames(struct printer *printer, allo_stack_id stack)
{
	const struct allo_profile *profile = &printer->filter.stacks.profile;
	struct allo_report *report = &printer->report;
	struct call call;

	allo_report_list(report, "frames");
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame = frame_of(profile, stack);

		for (uint32_t i = 0; i < allo_frame_call_count(frame); i++) {
			get_call(profile, frame, i, &call);
			allo_report_object(report, NULL);
			add_call(report, &call);
			allo_report_close(report);
		}
	}
	allo_report_close(report);
}

static void add_times(struct allo_report *report, const struct allo_block_row *row)
{
	uint64_t lifetime;

	allo_report_field_u64(report, "alloc_ns", row->alloc_ns);
	if (row->flags & ALLO_ROW_RESIZED)
		allo_report_field_u64(report, "first_ns", row->first_ns);
	if (row->free_ns != ALLO_NEVER)
		allo_report_field_u64(report, "free_ns", row->free_ns);
	if (allo_row_lifetime(row, &lifetime))
		allo_report_field_u64(report, "lifetime_ns", lifetime);
}

static void add_threads(struct allo_report *report, const struct allo_recording *recording,
			const struct allo_block_row *row)
{
	if (row->alloc_stream < recording->streams.len) {
		const struct allo_stream *stream = &recording->streams.at[row->alloc_stream];

		allo_report_field_u64(report, "tid", stream->thread);
		allo_report_field_text(report, "thread", stream->name);
	}
	if (row->free_stream < recording->streams.len)
		allo_report_field_u64(report, "free_tid",
				      recording->streams.at[row->free_stream].thread);
}

static void add_flags(struct allo_report *report, const struct allo_block_row *row)
{
	if (row->flags & ALLO_ROW_TEMPORARY)
		allo_report_field_bool(report, "temporary", true);
	if (row->flags & ALLO_ROW_RESIZED)
		allo_report_field_bool(report, "resized", true);
	if (row->flags & ALLO_ROW_RESIZED_ON)
		allo_report_field_bool(report, "resized_on", true);
}

static void add_fields(struct printer *printer, const struct allo_block_row *row)
{
	const struct allo_recording *recording = &printer->source.recording;
	const struct allo_profile *profile = &printer->filter.stacks.profile;
	uint32_t node = allo_row_filter_node(&printer->filter, row);
	allo_stack_id stack = allo_row_stack(&printer->filter.stacks, node);
	struct allo_report *report = &printer->report;
	struct call call;

	allo_report_field_u64(report, "number", row->number);
	add_times(report, row);
	allo_report_field_u64(report, "size", row->size);
	if (allo_is_sampled(&printer->weighing))
		allo_report_field_exact(
			report, "weight",
			allo_weigh(&printer->weighing, row->size, row->alloc_ns).weight);
	add_threads(report, recording, row);
	add_flags(report, row);
	allo_report_field_labels(report, recording, allo_row_filter_labels(&printer->filter, row));
	allo_report_field_u64(report, "stack", node);
	if (stack != 0) {
		get_call(profile, frame_of(profile, stack), 0, &call);
		add_call(report, &call);
	}
	if (printer->opt->stacks)
		add_frames(printer, stack);
}

/* CSV and Markdown. */

enum {
	NUMBER,
	SECONDS,
	ALLOC_NS,
	FREE_NS,
	LIFETIME_NS,
	SIZE,
	LIFETIME,
	TID,
	THREAD,
	BY_THREAD,
	FREE_TID,
	IS_TEMPORARY,
	LABELS,
	STACK,
	NAME,
	FILE_NAME,
	LINE,
	COLUMNS
};

static const struct allo_column columns[COLUMNS] = {
	[NUMBER] = { NULL, "number", NULL, ALLO_CELL_ID },
	[SECONDS] = { "seconds", NULL, NULL, ALLO_CELL_TEXT, ALLO_ALIGN_RIGHT },
	[ALLOC_NS] = { NULL, "alloc_ns", NULL, ALLO_CELL_ID },
	[FREE_NS] = { NULL, "free_ns", NULL, ALLO_CELL_ID },
	[LIFETIME_NS] = { NULL, "lifetime_ns", NULL, ALLO_CELL_ID },
	[SIZE] = { "size", "size", NULL, ALLO_CELL_BYTES },
	[LIFETIME] = { "lifetime", NULL, NULL, ALLO_CELL_TEXT, ALLO_ALIGN_RIGHT },
	[TID] = { NULL, "tid", NULL, ALLO_CELL_ID },
	[THREAD] = { NULL, "thread", NULL, ALLO_CELL_TEXT },
	[BY_THREAD] = { "thread", NULL, NULL, ALLO_CELL_TEXT },
	[FREE_TID] = { NULL, "free_tid", NULL, ALLO_CELL_ID },
	[IS_TEMPORARY] = { NULL, "temporary", NULL, ALLO_CELL_ID },
	[LABELS] = { NULL, "labels", NULL, ALLO_CELL_TEXT },
	[STACK] = { NULL, "stack", NULL, ALLO_CELL_ID },
	[NAME] = { "allocated by", "function", NULL, ALLO_CELL_TEXT },
	[FILE_NAME] = { NULL, "file", NULL, ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", NULL, ALLO_CELL_ID },
};

static const struct allo_report_table table = { NULL, columns, COLUMNS };

static void set_threads(struct allo_report *report, const struct allo_recording *recording,
			const struct allo_block_row *row)
{
	if (row->alloc_stream < recording->streams.len) {
		allo_cell_u64(report, TID, recording->streams.at[row->alloc_stream].thread);
		allo_cell_text(report, THREAD, recording->streams.at[row->alloc_stream].name);
	}
	if (row->free_stream < recording->streams.len)
		allo_cell_u64(report, FREE_TID, recording->streams.at[row->free_stream].thread);
}

/* The cells that Markdown has in place of others. */
static void set_shown(struct printer *printer, const struct allo_block_row *row)
{
	char seconds[32], lifetime[ALLO_NUMBER_SIZE], thread[THREAD_NAME_SIZE];
	struct allo_report *report = &printer->report;

	format_seconds(row->alloc_ns, seconds);
	allo_cell_string(report, SECONDS, seconds);
	allo_cell_string(report, LIFETIME, format_lifetime(printer, row, lifetime));
	allo_cell_string(report, BY_THREAD,
			 format_thread(&printer->source.recording, row->alloc_stream, thread));
}

static void set_place(struct printer *printer, const struct call *call)
{
	struct allo_report *report = &printer->report;
	bool is_csv = allo_report_is(report, ALLO_REPORT_CSV);

	allo_cell_place(report, NAME, is_csv ? call->name : allo_report_name(report, call->name),
			call->file, call->line);
}

static void set_cells(struct printer *printer, const struct allo_block_row *row)
{
	const struct allo_profile *profile = &printer->filter.stacks.profile;
	uint32_t node = allo_row_filter_node(&printer->filter, row);
	allo_stack_id stack = allo_row_stack(&printer->filter.stacks, node);
	struct allo_report *report = &printer->report;
	struct call call;
	uint64_t lifetime;

	allo_report_row(report);
	set_shown(printer, row);
	allo_cell_u64(report, NUMBER, row->number);
	allo_cell_u64(report, ALLOC_NS, row->alloc_ns);
	if (row->free_ns != ALLO_NEVER)
		allo_cell_u64(report, FREE_NS, row->free_ns);
	if (allo_row_lifetime(row, &lifetime))
		allo_cell_u64(report, LIFETIME_NS, lifetime);
	allo_cell_u64(report, SIZE, row->size);
	set_threads(report, &printer->source.recording, row);
	allo_cell_u64(report, IS_TEMPORARY, (row->flags & ALLO_ROW_TEMPORARY) != 0);
	allo_cell_labels(report, LABELS, &printer->source.recording,
			 allo_row_filter_labels(&printer->filter, row));
	allo_cell_u64(report, STACK, node);
	if (stack != 0) {
		get_call(profile, frame_of(profile, stack), 0, &call);
		set_place(printer, &call);
	} else if (!allo_report_is(report, ALLO_REPORT_CSV)) {
		allo_cell_text(report, NAME, no_stack);
	}
}

/* Whether one report has all rows, as a table, and not each its own. */
static bool is_table(const struct blocks *opt)
{
	return opt->rows.common.csv || opt->rows.common.markdown;
}

static void print_row(struct printer *printer, const struct allo_block_row *row)
{
	ALLO_ASSERT(printer->printed < printer->found);
	if (is_table(printer->opt)) {
		set_cells(printer, row);
	} else {
		allo_report_begin(&printer->report, &printer->options, printer->out);
		(printer->opt->rows.common.json ? add_fields : put_line)(printer, row);
		allo_report_end(&printer->report);
	}
	printer->printed++;
}

static bool is_streamed(const struct blocks *opt)
{
	return opt->sort == SORT_END;
}

/* Whether people read it: it ends with the sum of all. */
static bool is_prose(const struct blocks *opt)
{
	return !opt->rows.common.json && !opt->rows.common.csv;
}

/* Whether no further row matters. */
static bool is_done(const struct printer *printer)
{
	return is_streamed(printer->opt) && !is_prose(printer->opt) &&
	       printer->printed == printer->opt->count && printer->opt->count > 0;
}

static bool take_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	struct printer *printer = context;
	uint64_t most = printer->opt->count ? printer->opt->count : UINT64_MAX;

	for (size_t i = 0; i < count && !is_done(printer); i++) {
		if (!allo_row_filter_keeps(&printer->filter, &rows[i]))
			continue;
		printer->found++;
		if (allo_is_sampled(&printer->weighing))
			allo_weighed_totals_add(&printer->weighed, &printer->weighing, rows[i].size,
						rows[i].alloc_ns);
		if (__builtin_add_overflow(printer->found_bytes, rows[i].size,
					   &printer->found_bytes))
			printer->found_bytes = UINT64_MAX;
		if (!is_streamed(printer->opt)) {
			if (!allo_top_rows_add(&printer->best, &rows[i], err))
				return false;
		} else if (printer->printed < most) {
			print_row(printer, &rows[i]);
		}
	}
	/* Stop if the reader of a pipe has closed it, or the disk is full. */
	return !allo_failed(&printer->out->failure) && !is_done(printer);
}

/* The estimates that the blocks of a sampled recording stand for. */
static const char *weighed_words(struct printer *printer)
{
	struct allo_number blocks = { allo_parts_round(printer->weighed.allocations), false, true };
	struct allo_number bytes = { allo_parts_round(printer->weighed.total_bytes), false, true };
	struct allo_report *report = &printer->report;

	if (!allo_is_sampled(&printer->weighing))
		return "";
	return allo_report_string(report, ", which stand for %s of %s",
				  allo_report_format_number(report, blocks, ALLO_UNIT_COUNT),
				  allo_report_format_number(report, bytes, ALLO_UNIT_BYTES));
}

static void print_ending(struct printer *printer)
{
	struct allo_report *report = &printer->report;
	uint64_t rest = printer->found - printer->printed;
	const char *more = rest > 0 ? allo_report_string(report, ", %s more: -n 0 shows all",
							 allo_report_count(report, rest))
				    : "";

	allo_report_line(
		report, "%s of %s in all%s%s", allo_report_counted(report, printer->found, "block"),
		allo_report_bytes(report, printer->found_bytes), weighed_words(printer), more);
}

static void begin_table(struct printer *printer)
{
	allo_report_begin(&printer->report, &printer->options, printer->out);
	allo_report_table(&printer->report, &table);
}

static void end_table(struct printer *printer)
{
	if (is_table(printer->opt))
		allo_report_end_table(&printer->report);
	else
		allo_report_begin(&printer->report, &printer->options, printer->out);
	if (is_prose(printer->opt))
		print_ending(printer);
	allo_report_end(&printer->report);
}

static bool print_rows(struct printer *printer, struct allo_error *err)
{
	struct allo_source *source = &printer->source;

	printer->weighing = allo_weighing_of(&source->recording);
	if (is_table(printer->opt))
		begin_table(printer);
	else if (is_prose(printer->opt))
		put_titles(printer);
	if (!allo_row_filter_rows(&printer->filter, source, take_rows, printer, err) &&
	    (allo_failed(err) || !(allo_failed(&printer->out->failure) || is_done(printer))))
		return false;
	allo_top_rows_sort(&printer->best);
	for (size_t i = 0; i < printer->best.rows.len; i++)
		print_row(printer, &printer->best.rows.at[i]);
	if (!printer->opt->rows.common.json)
		end_table(printer);
	return true;
}

static bool run_blocks(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct blocks *opt = options_given;
	const struct allo_common *common = &opt->rows.common;
	ALLO_DEFER(printer_done) struct printer printer = { .opt = opt, .out = &out };

	printer.width = allo_common_width(common);
	printer.options = allo_common_report_options(common, false);
	printer.options.json_lines = 0;
	if (!is_streamed(opt))
		printer.best = (struct allo_top_rows){ .most = opt->count,
						       .order = (enum allo_row_order)opt->sort };
	if (!allo_common_check(common, err) ||
	    !allo_row_filter_init(&printer.filter, &opt->rows, err) ||
	    !allo_common_open_recording(common, files[0], "single allocations", &printer.source,
					err) ||
	    !allo_row_filter_find_stacks(&printer.filter, &printer.source, err) ||
	    !(common->json || is_table(opt) || opt->count == 0
		      ? allo_common_open_result(&out, err)
		      : allo_common_begin(common, &out, err)))
		return false;
	if (common->json || is_table(opt))
		allo_output_clean_terminal(&out);
	if (!print_rows(&printer, err) || !allo_common_end(common, &out, NULL, err))
		return false;
	allo_common_tell_filter(common, &printer.filter.stacks.filter);
	allo_source_note_gaps(&printer.source);
	return true;
}

const struct allo_command allo_cmd_blocks = {
	.name = "blocks",
	.heading = "Look",
	.summary = "list single allocations of a recording",
	.arguments = "[FILE]",
	.about =
		"Prints blocks of a recording, one per line: the time of the allocation in seconds "
		"since the start, the size, the lifetime, the thread that allocated it, and the "
		"call site. --range selects blocks that were live at some time within it, --at "
		"those that were live at that instant.\n\n"
		"A realloc ends a block as 'resized' and begins another. The lifetime of the last "
		"one begins with the first.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct blocks),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_blocks,
};
