/* cmd_blocks.c - allo blocks: single allocations. */
#include "base/defer.h"
#include "base/json_write.h"
#include "base/utf8.h"
#include "cli/row_filter.h"
#include "cli/show_labels.h"
#include "profile/naming.h"
#include "replay/weights.h"
#include "report/show.h"

#include <stdio.h>

/* The first ones are those of top_rows.h. */
enum sort { SORT_SIZE, SORT_TIME, SORT_LIFETIME, SORT_END };

static const char *const sort_names[] = { "size", "time", "lifetime", "end", NULL };

struct blocks {
	struct allo_row_options rows;
	uint64_t count;
	int sort;
	bool stacks;
};

static const struct blocks defaults = { .count = 20 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many blocks to print, 20 without it; 0 prints all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct blocks, count) },
	{ .name = "sort",
	  .argument = "BY",
	  .help = "which come first: size (the largest, without it), time (the first allocated), "
		  "lifetime (never freed, then the longest-lived) or end (the first freed; needs no "
		  "memory for what it prints)",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct blocks, sort),
	  .choices = sort_names },
	{ .name = "stacks",
	  .help = "print all frames below each block, the innermost first, and its labels",
	  .offset = offsetof(struct blocks, stacks) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Rows", options };

static const struct allo_option printing_options[] = {
	{ .name = "json",
	  .help = "print an object a line: JSON lines",
	  .offset = offsetof(struct blocks, rows.common.json) },
	{ .name = "no-pager",
	  .help = "print all at once, without $PAGER",
	  .offset = offsetof(struct blocks, rows.common.no_pager) },
	{ .name = NULL },
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
	  "what was never freed of what parse allocates" },
	{ "allo blocks --at peak --stacks -n 5 server.allo", "the largest ones at the peak" },
	{ "allo blocks -n 0 --sort end --json server.allo | jq .size",
	  "all of them, for a script" },
	{ NULL, NULL },
};

/* Rows on their way out. */
struct printing {
	const struct blocks *opt;
	struct allo_source source;
	struct allo_row_filter filter;
	struct allo_top_rows best;
	struct allo_output *out;
	uint64_t found, found_bytes, printed;
	struct allo_weighing weighing;
	struct allo_weighed_totals weighed; /* what those found stand for, if they were sampled */
	size_t width;
};

static void printing_done(struct printing *printing)
{
	allo_source_close(&printing->source);
	allo_row_filter_done(&printing->filter);
	allo_top_rows_done(&printing->best);
}

/* Frames. */

/* One of a stack's calls, the innermost first. */
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

/* The number of a thread and its name, if it has one. */
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
static void put_call(const struct printing *printing, const struct call *call, size_t used)
{
	struct allo_output *out = printing->out;
	struct allo_text file = allo_basename(call->file);
	char place[300] = "";
	size_t room = 0;

	if (file.len > 0)
		snprintf(place, sizeof(place), "  %.*s", (int)(file.len < 255 ? file.len : 255),
			 file.data);
	if (file.len > 0 && call->line > 0)
		snprintf(place + strlen(place), 16, ":%u", call->line);
	/* Less than this is no name at all: rather no file, or a line that is too long. */
	if (printing->width > 0 && printing->width < used + strlen(place) + LEAST_NAME)
		place[0] = '\0';
	used += strlen(place);
	if (printing->width > 0)
		room = printing->width > used + LEAST_NAME ? printing->width - used : LEAST_NAME;
	allo_show_cut(out, call->name, room, false);
	allo_output_printable(out, allo_text_of(place));
	allo_output_byte(out, '\n');
}

static void put_stack(const struct printing *printing, allo_stack_id stack)
{
	const struct allo_profile *profile = &printing->filter.stacks.profile;
	struct call call;

	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame = frame_of(profile, stack);

		for (uint32_t i = 0; i < allo_frame_call_count(frame); i++) {
			get_call(profile, frame, i, &call);
			allo_output_string(printing->out, "        ");
			put_call(printing, &call, 8);
		}
	}
}

/* What --stacks adds. */
static void put_below(const struct printing *printing, const struct allo_block_row *row,
		      allo_stack_id stack)
{
	uint32_t labels = allo_row_filter_labels(&printing->filter, row);

	put_stack(printing, stack);
	if (labels == 0)
		return;
	allo_output_string(printing->out, "      ");
	allo_show_labels(printing->out, &printing->source.recording, labels);
	allo_output_byte(printing->out, '\n');
}

static const char *format_lifetime(const struct printing *printing,
				   const struct allo_block_row *row, char out[ALLO_NUMBER_SIZE])
{
	uint64_t ns;

	if (allo_row_lifetime(row, &ns))
		return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS,
				   printing->opt->rows.common.plain, out);
	return strcpy(out, row->free_ns == ALLO_NEVER ? "never freed" : "resized");
}

static void put_titles(const struct printing *printing)
{
	allo_output_printf(printing->out, "%12s  %10s  %11s  %-*s  %s\n", "seconds", "size",
			   "lifetime", THREAD_COLUMNS, "thread", "allocated by");
}

static void print_text(const struct printing *printing, const struct allo_block_row *row)
{
	const struct allo_profile *profile = &printing->filter.stacks.profile;
	uint32_t node = allo_row_filter_node(&printing->filter, row);
	allo_stack_id stack = allo_row_stack(&printing->filter.stacks, node);
	struct allo_output *out = printing->out;
	char size[ALLO_NUMBER_SIZE], lifetime[ALLO_NUMBER_SIZE], thread[THREAD_NAME_SIZE];
	struct call call = { .name = ALLO_TEXT("(stack not known)"), .file = ALLO_TEXT("") };
	size_t columns;

	allo_output_printf(out, "%5llu.%06llu  %10s  %11s  ",
			   (unsigned long long)row->alloc_ns / 1000000000,
			   (unsigned long long)row->alloc_ns % 1000000000 / 1000,
			   allo_format((struct allo_number){ row->size, false }, ALLO_UNIT_BYTES,
				       printing->opt->rows.common.plain, size),
			   format_lifetime(printing, row, lifetime));
	format_thread(&printing->source.recording, row->alloc_stream, thread);
	allo_show_cut(out, allo_text_of(thread), printing->width > 0 ? THREAD_COLUMNS : 0, false);
	columns = allo_utf8_columns(allo_text_of(thread));
	allo_output_printf(out, "%*s  ",
			   (int)(columns < THREAD_COLUMNS ? THREAD_COLUMNS - columns : 0), "");
	if (stack != 0)
		get_call(profile, frame_of(profile, stack), 0, &call);
	put_call(printing, &call, CALL_AT);
	if (printing->opt->stacks)
		put_below(printing, row, stack);
}

/* JSON. */

static void put_json_call(struct allo_json_out *json, const struct call *call)
{
	allo_json_out_member_text(json, "name", call->name);
	allo_json_out_member_text(json, "file", call->file);
	if (call->line > 0)
		allo_json_out_member_u64(json, "line", call->line);
}

static void put_json_frames(struct allo_json_out *json, const struct printing *printing,
			    allo_stack_id stack)
{
	const struct allo_profile *profile = &printing->filter.stacks.profile;
	struct call call;

	allo_json_out_key(json, "frames");
	allo_json_out_begin(json, '[');
	for (; stack != 0; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame = frame_of(profile, stack);

		for (uint32_t i = 0; i < allo_frame_call_count(frame); i++) {
			get_call(profile, frame, i, &call);
			allo_json_out_begin(json, '{');
			put_json_call(json, &call);
			allo_json_out_end(json);
		}
	}
	allo_json_out_end(json);
}

static void put_json_thread(struct allo_json_out *json, const struct allo_recording *recording,
			    const char *key, const char *name_key, uint32_t stream)
{
	if (stream >= recording->streams.len)
		return;
	allo_json_out_member_u64(json, key, recording->streams.at[stream].thread);
	if (name_key)
		allo_json_out_member_text(json, name_key, recording->streams.at[stream].name);
}

static void put_json_flag(struct allo_json_out *json, const struct allo_block_row *row,
			  const char *key, enum allo_row_flag flag)
{
	if (!(row->flags & flag))
		return;
	allo_json_out_key(json, key);
	allo_json_out_bool(json, true);
}

static void put_json_times(struct allo_json_out *json, const struct allo_block_row *row)
{
	uint64_t lifetime;

	allo_json_out_member_u64(json, "alloc_ns", row->alloc_ns);
	if (row->flags & ALLO_ROW_RESIZED)
		allo_json_out_member_u64(json, "first_ns", row->first_ns);
	if (row->free_ns != ALLO_NEVER)
		allo_json_out_member_u64(json, "free_ns", row->free_ns);
	if (allo_row_lifetime(row, &lifetime))
		allo_json_out_member_u64(json, "lifetime_ns", lifetime);
}

static void print_json(const struct printing *printing, const struct allo_block_row *row)
{
	const struct allo_recording *recording = &printing->source.recording;
	const struct allo_profile *profile = &printing->filter.stacks.profile;
	uint32_t node = allo_row_filter_node(&printing->filter, row);
	allo_stack_id stack = allo_row_stack(&printing->filter.stacks, node);
	struct allo_json_out json = { .out = printing->out };
	struct call call;

	allo_show_json_begin(&json);
	allo_json_out_member_u64(&json, "number", row->number);
	put_json_times(&json, row);
	allo_json_out_member_u64(&json, "size", row->size);
	if (allo_is_sampled(&printing->weighing)) {
		allo_json_out_key(&json, "weight");
		allo_json_out_exact_double(&json,
					   allo_weigh(&printing->weighing, row->size).weight);
	}
	put_json_thread(&json, recording, "tid", "thread", row->alloc_stream);
	put_json_thread(&json, recording, "free_tid", NULL, row->free_stream);
	put_json_flag(&json, row, "temporary", ALLO_ROW_TEMPORARY);
	put_json_flag(&json, row, "resized", ALLO_ROW_RESIZED);
	put_json_flag(&json, row, "resized_on", ALLO_ROW_RESIZED_ON);
	allo_show_json_labels(&json, recording, allo_row_filter_labels(&printing->filter, row));
	allo_json_out_member_u64(&json, "stack", node);
	if (stack != 0) {
		get_call(profile, frame_of(profile, stack), 0, &call);
		put_json_call(&json, &call);
	}
	if (printing->opt->stacks)
		put_json_frames(&json, printing, stack);
	allo_json_out_end(&json);
	allo_output_byte(printing->out, '\n');
}

/* Both. */

static void print_row(struct printing *printing, const struct allo_block_row *row)
{
	if (printing->opt->rows.common.json)
		print_json(printing, row);
	else
		print_text(printing, row);
	printing->printed++;
}

static bool is_streamed(const struct blocks *opt)
{
	return opt->sort == SORT_END;
}

static bool take_rows(void *context, const struct allo_block_row *rows, size_t count,
		      struct allo_error *err)
{
	struct printing *printing = context;
	uint64_t most = printing->opt->count ? printing->opt->count : UINT64_MAX;

	for (size_t i = 0; i < count; i++) {
		if (!allo_row_filter_keeps(&printing->filter, &rows[i]))
			continue;
		printing->found++;
		if (allo_is_sampled(&printing->weighing))
			allo_weighed_totals_add(&printing->weighed, &printing->weighing,
						rows[i].size);
		if (__builtin_add_overflow(printing->found_bytes, rows[i].size,
					   &printing->found_bytes))
			printing->found_bytes = UINT64_MAX;
		if (!is_streamed(printing->opt)) {
			if (!allo_top_rows_add(&printing->best, &rows[i], err))
				return false;
		} else if (printing->printed < most) {
			print_row(printing, &rows[i]);
		}
	}
	/* Who reads this may have seen enough, or the disk may be full: then it ends here. */
	return !allo_failed(&printing->out->failure);
}

/* What the blocks of a sampled recording stand for. */
static void put_weighed(const struct printing *printing)
{
	struct allo_number blocks = { allo_parts_round(printing->weighed.allocations), false,
				      true };
	struct allo_number bytes = { allo_parts_round(printing->weighed.total_bytes), false, true };
	bool is_plain = printing->opt->rows.common.plain;
	char count[ALLO_NUMBER_SIZE], size[ALLO_NUMBER_SIZE];

	if (allo_is_sampled(&printing->weighing))
		allo_output_printf(printing->out, ", which stand for %s of %s",
				   allo_format(blocks, ALLO_UNIT_COUNT, is_plain, count),
				   allo_format(bytes, ALLO_UNIT_BYTES, is_plain, size));
}

static void print_ending(const struct printing *printing)
{
	char count[ALLO_NUMBER_SIZE], bytes[ALLO_NUMBER_SIZE], more[ALLO_NUMBER_SIZE];
	uint64_t rest = printing->found - printing->printed;

	allo_output_printf(printing->out, "%s block%s of %s in all",
			   allo_format_count(printing->found, count),
			   printing->found == 1 ? "" : "s",
			   allo_format((struct allo_number){ printing->found_bytes, false },
				       ALLO_UNIT_BYTES, printing->opt->rows.common.plain, bytes));
	put_weighed(printing);
	if (rest > 0)
		allo_output_printf(printing->out, ", %s more: -n 0 shows all",
				   allo_format_count(rest, more));
	allo_output_byte(printing->out, '\n');
}

static bool print_rows(struct printing *printing, struct allo_error *err)
{
	struct allo_source *source = &printing->source;
	bool is_text = !printing->opt->rows.common.json;

	printing->weighing = allo_weighing_of(&source->recording);
	if (is_text)
		put_titles(printing);
	if (!allo_row_filter_rows(&printing->filter, source, take_rows, printing, err) &&
	    (allo_failed(err) || !allo_failed(&printing->out->failure)))
		return false;
	allo_top_rows_sort(&printing->best);
	for (size_t i = 0; i < printing->best.rows.len; i++)
		print_row(printing, &printing->best.rows.at[i]);
	if (is_text)
		print_ending(printing);
	return true;
}

static bool run_blocks(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct blocks *opt = options_given;
	const struct allo_common *common = &opt->rows.common;
	ALLO_DEFER(printing_done) struct printing printing = { .opt = opt, .out = &out };

	printing.width = allo_common_width(common);
	if (!is_streamed(opt))
		printing.best = (struct allo_top_rows){ .most = opt->count,
							.order = (enum allo_row_order)opt->sort };
	if (!allo_row_filter_init(&printing.filter, &opt->rows, err) ||
	    !allo_common_open_recording(common, files[0], "single allocations", &printing.source,
					err) ||
	    !allo_row_filter_find_stacks(&printing.filter, &printing.source, err) ||
	    !(common->json || opt->count == 0 ? allo_common_open_result(&out, err)
					      : allo_common_begin(common, &out, err)) ||
	    !print_rows(&printing, err) || !allo_common_end(common, &out, NULL, err))
		return false;
	allo_common_tell_filter(common, &printing.filter.stacks.filter);
	allo_source_note_gaps(&printing.source);
	return true;
}

const struct allo_command allo_cmd_blocks = {
	.name = "blocks",
	.heading = "Look",
	.summary = "list single allocations of a recording",
	.arguments = "FILE",
	.about = "Prints blocks of a recording that the options leave, one a line: when it was "
		 "allocated, in seconds from the start; its size; how long it lived; which thread "
		 "allocated it, and where. With --range, those that were live at some moment of "
		 "it; with --at, those that were live then.\n\n"
		 "A realloc makes another block of one, which ends as 'resized'; the lifetime of "
		 "the last one begins with the first.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct blocks),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_blocks,
};
