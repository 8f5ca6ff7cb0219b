/* cmd_threads.c - allo threads: who has allocated, held and freed what. */
#include "base/defer.h"
#include "base/json_write.h"
#include "cli/opened.h"
#include "replay/thread_totals.h"
#include "report/show.h"
#include "report/table.h"

#include <stdio.h>
#include <stdlib.h>

enum sort { SORT_BYTES, SORT_ALLOCS, SORT_PEAK, SORT_END, SORT_CROSS, SORT_THREAD };

static const char *const sort_names[] = {
	"bytes", "allocs", "peak", "end", "cross", "thread", NULL
};

struct threads {
	struct allo_common common;
	uint64_t count;
	int sort;
};

static const struct threads defaults = { .count = 20 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many threads to show, 20 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct threads, count) },
	{ .name = "sort",
	  .argument = "WHAT",
	  .help = "what comes first: bytes (allocated most), allocs, peak (held most when the "
		  "program did), end (never freed), cross (freed most of others' blocks) or thread "
		  "(by number)",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct threads, sort),
	  .choices = sort_names },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Rows", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_view_group,
	&allo_number_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo threads server.allo", "which thread allocates most" },
	{ "allo threads --sort cross server.allo", "which one frees what others have allocated" },
	{ "allo threads --sort peak server.allo", "who held most when the program did" },
	{ NULL, NULL },
};

/* A line of the table. */
struct row {
	const struct allo_stream *stream;
	const struct allo_thread_total *total;
};

struct rows {
	ALLO_VEC(struct row) all;
	struct allo_thread_total sum; /* its maxima are of no use */
};

struct making {
	const struct threads *opt;
	struct allo_opened opened;
	struct allo_thread_totals totals;
	struct rows rows;
	bool is_estimated;
};

static void making_done(struct making *making)
{
	allo_opened_close(&making->opened);
	allo_thread_totals_done(&making->totals);
	allo_vec_done(&making->rows.all);
}

static bool has_done_anything(const struct allo_thread_total *total)
{
	return total->allocations > 0 || total->frees > 0 || total->live_blocks > 0 ||
	       total->max_bytes > 0 || total->freed_by_others > 0;
}

static void add_up(struct allo_thread_total *sum, const struct allo_thread_total *more)
{
	sum->allocations += more->allocations;
	sum->alloc_bytes += more->alloc_bytes;
	sum->frees += more->frees;
	sum->frees_of_others += more->frees_of_others;
	sum->temporary_blocks += more->temporary_blocks;
	sum->live_bytes += more->live_bytes;
	sum->live_blocks += more->live_blocks;
	sum->peak_bytes += more->peak_bytes;
	sum->peak_blocks += more->peak_blocks;
}

static uint64_t key_of(const struct allo_thread_total *total, enum sort sort)
{
	switch (sort) {
	case SORT_BYTES:
		return total->alloc_bytes;
	case SORT_ALLOCS:
		return total->allocations;
	case SORT_PEAK:
		return total->peak_bytes;
	case SORT_END:
		return total->live_bytes;
	case SORT_CROSS:
		return total->frees_of_others;
	case SORT_THREAD:
		break;
	}
	return 0;
}

/* Largest first, equal ones in the order in which they began. */
static int compare_rows(const void *left, const void *right, void *context)
{
	const struct making *making = context;
	const struct row *a = left, *b = right;
	enum sort sort = (enum sort)making->opt->sort;
	uint64_t first = key_of(a->total, sort), second = key_of(b->total, sort);

	if (first != second)
		return first > second ? -1 : 1;
	if (sort == SORT_THREAD && a->stream->thread != b->stream->thread)
		return a->stream->thread < b->stream->thread ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static bool make_rows(struct making *making, struct allo_error *err)
{
	struct allo_opened *opened = &making->opened;
	struct rows *rows = &making->rows;
	struct allo_weighing weighing = allo_weighing_of(&opened->recording);

	making->is_estimated = allo_is_sampled(&weighing);
	if (!allo_thread_totals_of(&making->totals, &opened->recording, &opened->window, err))
		return false;
	making->totals.peak_ns = allo_window_peak_ns(&opened->window, &opened->recording,
						     making->totals.peak_bytes,
						     making->totals.peak_ns);
	allo_opened_end_bar(opened);
	for (size_t i = 0; i < making->totals.threads.len; i++) {
		struct row row = { &opened->recording.streams.at[i],
				   &making->totals.threads.at[i] };

		if (row.stream->kind != ALLO_STREAM_EVENTS || !has_done_anything(row.total))
			continue;
		if (!allo_vec_append(&rows->all, &row, 1))
			return allo_fail_memory(err);
		add_up(&rows->sum, row.total);
	}
	if (rows->all.len > 0)
		qsort_r(rows->all.at, rows->all.len, sizeof(*rows->all.at), compare_rows, making);
	return true;
}

/* Text. */

/* Columns between the thread's number and its name. */
struct column {
	const char *title;
	enum allo_unit unit;
	size_t offset;
};

#define IN(field) offsetof(struct allo_thread_total, field)
static const struct column columns[] = {
	{ "allocations", ALLO_UNIT_COUNT, IN(allocations) },
	{ "bytes", ALLO_UNIT_BYTES, IN(alloc_bytes) },
	{ "most held", ALLO_UNIT_BYTES, IN(max_bytes) },
	{ "at the peak", ALLO_UNIT_BYTES, IN(peak_bytes) },
	{ "in the end", ALLO_UNIT_BYTES, IN(live_bytes) },
	{ "temporary", ALLO_UNIT_COUNT, IN(temporary_blocks) },
	{ "frees", ALLO_UNIT_COUNT, IN(frees) },
	{ "of others", ALLO_UNIT_COUNT, IN(frees_of_others) },
	{ "by others", ALLO_UNIT_COUNT, IN(freed_by_others) },
};

/* Names in CSV and JSON are those of all numbers. */
static const struct column members[] = {
	{ "allocations", ALLO_UNIT_COUNT, IN(allocations) },
	{ "alloc_bytes", ALLO_UNIT_COUNT, IN(alloc_bytes) },
	{ "max_bytes", ALLO_UNIT_COUNT, IN(max_bytes) },
	{ "peak_bytes", ALLO_UNIT_COUNT, IN(peak_bytes) },
	{ "peak_blocks", ALLO_UNIT_COUNT, IN(peak_blocks) },
	{ "end_bytes", ALLO_UNIT_COUNT, IN(live_bytes) },
	{ "end_blocks", ALLO_UNIT_COUNT, IN(live_blocks) },
	{ "temporary_blocks", ALLO_UNIT_COUNT, IN(temporary_blocks) },
	{ "frees", ALLO_UNIT_COUNT, IN(frees) },
	{ "frees_of_others", ALLO_UNIT_COUNT, IN(frees_of_others) },
	{ "freed_by_others", ALLO_UNIT_COUNT, IN(freed_by_others) },
};
#undef IN
enum {
	COLUMNS = sizeof(columns) / sizeof(*columns),
	MEMBERS = sizeof(members) / sizeof(*members),
};

static uint64_t number_in(const struct allo_thread_total *total, const struct column *column)
{
	uint64_t number;

	memcpy(&number, (const char *)total + column->offset, sizeof(number));
	return number;
}

/* A sampled recording does not tell which blocks are temporary. */
static bool is_known(const struct making *making, const struct column *column)
{
	return !making->is_estimated ||
	       column->offset != offsetof(struct allo_thread_total, temporary_blocks);
}

static const char *format(const struct making *making, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ value, false, making->is_estimated }, unit,
			   making->opt->common.plain, out);
}

static bool add_row(struct allo_table *table, const struct making *making, const struct row *row,
		    struct allo_error *err)
{
	char number[ALLO_NUMBER_SIZE];

	snprintf(number, sizeof(number), "%u", row->stream->thread);
	if (!allo_table_string(table, number, err))
		return false;
	for (size_t i = 0; i < COLUMNS; i++) {
		const char *text = format(making, number_in(row->total, &columns[i]),
					  columns[i].unit, number);

		if (!allo_table_string(table, is_known(making, &columns[i]) ? text : "-", err))
			return false;
	}
	return allo_table_cell(table, row->stream->name, err);
}

/* In a sentence, which has separators always. */
static const char *format_count(const struct making *making, uint64_t count,
				char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ count, false, making->is_estimated },
			   ALLO_UNIT_COUNT, false, out);
}

static void print_heading(struct allo_output *out, const struct making *making)
{
	const struct allo_thread_total *sum = &making->rows.sum;
	char threads[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE], bytes[ALLO_NUMBER_SIZE];
	char frees[ALLO_NUMBER_SIZE];

	allo_output_printf(
		out, "%s thread%s, %s allocation%s of %s; %s block%s freed by another thread\n",
		allo_format_count(making->rows.all.len, threads),
		making->rows.all.len == 1 ? "" : "s", format_count(making, sum->allocations, count),
		sum->allocations == 1 ? "" : "s",
		format(making, sum->alloc_bytes, ALLO_UNIT_BYTES, bytes),
		format_count(making, sum->frees_of_others, frees),
		sum->frees_of_others == 1 ? " was" : "s were");
}

static bool print_text(struct allo_output *out, const struct making *making, size_t shown,
		       struct allo_error *err)
{
	const struct allo_common *common = &making->opt->common;
	struct allo_style style = allo_common_style(common);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = COLUMNS + 2,
				    .style_end = style.reset,
				    .max_width = allo_common_width(common) };
	char number[ALLO_NUMBER_SIZE];

	table.is_left[COLUMNS + 1] = true;
	table.style[COLUMNS + 1] = style.bold;
	if (!allo_table_string(&table, "thread", err))
		return false;
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!allo_table_string(&table, columns[i].title, err))
			return false;
	}
	if (!allo_table_string(&table, "name", err))
		return false;
	for (size_t i = 0; i < shown; i++) {
		if (!add_row(&table, making, &making->rows.all.at[i], err))
			return false;
	}
	print_heading(out, making);
	if (shown > 0)
		allo_table_print(&table, out);
	if (shown < making->rows.all.len)
		allo_output_printf(out, "%s more: -n 0 shows all\n",
				   allo_format_count(making->rows.all.len - shown, number));
	return true;
}

/* For programs. */

static bool print_csv(struct allo_output *out, const struct making *making, size_t shown,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_table_done) struct allo_table table = { .columns = MEMBERS + 2 };
	char number[24];
	bool ok = allo_table_string(&table, "tid", err) && allo_table_string(&table, "name", err);

	for (size_t k = 0; k < MEMBERS && ok; k++)
		ok = allo_table_string(&table, members[k].title, err);
	for (size_t i = 0; i < shown && ok; i++) {
		const struct row *row = &making->rows.all.at[i];

		snprintf(number, sizeof(number), "%u", row->stream->thread);
		ok = allo_table_string(&table, number, err) &&
		     allo_table_cell(&table, row->stream->name, err);
		for (size_t k = 0; k < MEMBERS && ok; k++) {
			snprintf(number, sizeof(number), "%llu",
				 (unsigned long long)number_in(row->total, &members[k]));
			ok = allo_table_string(&table, is_known(making, &members[k]) ? number : "",
					       err);
		}
	}
	if (ok)
		allo_table_print_csv(&table, out);
	return ok;
}

static void print_json(struct allo_output *out, const struct making *making, size_t shown)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };

	allo_show_json_begin_numbers(&json, making->is_estimated);
	allo_json_out_member_u64(&json, "peak_bytes", making->totals.peak_bytes);
	allo_json_out_member_u64(&json, "peak_ns", making->totals.peak_ns);
	allo_json_out_member_u64(&json, "thread_count", making->rows.all.len);
	allo_json_out_key(&json, "threads");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < shown; i++) {
		const struct row *row = &making->rows.all.at[i];

		allo_json_out_begin(&json, '{');
		allo_json_out_member_u64(&json, "tid", row->stream->thread);
		allo_json_out_member_text(&json, "name", row->stream->name);
		for (size_t k = 0; k < MEMBERS; k++) {
			if (is_known(making, &members[k]))
				allo_json_out_member_u64(&json, members[k].title,
							 number_in(row->total, &members[k]));
		}
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool check(const struct threads *opt, struct allo_error *err)
{
	if (!opt->common.at)
		return allo_common_check(&opt->common, err);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "--at is a single moment, and threads need more: see --range");
	return allo_hint(err, "'at the peak' is a column of the table, and with --range ..2s 'in "
			      "the end' is what was live after two seconds");
}

static bool run_threads(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct threads *opt = options_given;
	ALLO_DEFER(making_done) struct making making = { .opt = opt };
	size_t shown;
	bool ok = true;

	if (!check(opt, err) ||
	    !allo_opened_open_recording(&making.opened, &opt->common, files[0], "threads", err) ||
	    !make_rows(&making, err) || !allo_common_begin(&opt->common, &out, err))
		return false;
	shown = making.rows.all.len;
	if (opt->count > 0 && opt->count < shown)
		shown = opt->count;
	if (opt->common.json)
		print_json(&out, &making, shown);
	else
		ok = opt->common.csv ? print_csv(&out, &making, shown, err)
				     : print_text(&out, &making, shown, err);
	if (!ok || !allo_common_end(&opt->common, &out, NULL, err))
		return false;
	allo_tell_lacks(&making.opened.recording, &opt->common);
	return true;
}

const struct allo_command allo_cmd_threads = {
	.name = "threads",
	.heading = "Look",
	.summary = "show what each thread of a recording allocated, held and freed",
	.arguments = "FILE",
	.about = "Prints a line for each thread of a recording: its number, its allocations and "
		 "their bytes, the most that it held at once, what it held when the whole program "
		 "held most and in the end, how many of its blocks were temporary (freed before it "
		 "allocated again), how many blocks it has freed, how many of those had been "
		 "allocated by others, and how many of its own blocks others have freed. A block "
		 "belongs to the thread that allocated it.\n\n"
		 "A realloc is an allocation and frees the block that it was; one of another "
		 "thread's block takes it over.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct threads),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_threads,
};
