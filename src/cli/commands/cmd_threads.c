/* cmd_threads.c - allo threads: the memory that each thread allocated, held and freed. */
#include "base/defer.h"
#include "cli/common.h"
#include "engine/source_answers.h"

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

#define AT(field) offsetof(struct threads, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count, "number of threads (default: 20; 0 for all)"),
	OPT_CHOICE(
		0, "sort", "KEY", sort, sort_names,
		"sort by bytes (allocated), allocs, peak (held at the program's peak), end "
		"(never freed), cross (freed blocks of other threads) or thread number (default: "
		"bytes)"),
	OPT_NO_CACHE(common.no_cache),
	OPT_END,
};
#undef AT

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
	{ "allo threads server.allo", "which thread allocates the most" },
	{ "allo threads --sort cross server.allo", "which thread frees the blocks of others" },
	{ "allo threads --sort peak server.allo", "which thread held the most at the peak" },
	{ NULL, NULL },
};

/* A line of the table. */
struct row {
	const struct allo_stream *stream;
	const struct allo_thread_total *total;
};

struct rows {
	ALLO_VEC(struct row) all;
	struct allo_thread_total sum; /* without the maxima, which do not add up */
};

struct result {
	const struct threads *opt;
	struct allo_source source;
	struct allo_thread_totals totals;
	struct rows rows;
	bool is_estimated;
};

static void result_done(struct result *result)
{
	allo_source_close(&result->source);
	allo_thread_totals_done(&result->totals);
	allo_vec_done(&result->rows.all);
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
	const struct result *result = context;
	const struct row *a = left, *b = right;
	enum sort sort = (enum sort)result->opt->sort;
	uint64_t first = key_of(a->total, sort), second = key_of(b->total, sort);

	if (first != second)
		return first > second ? -1 : 1;
	if (sort == SORT_THREAD && a->stream->thread != b->stream->thread)
		return a->stream->thread < b->stream->thread ? -1 : 1;
	return a->stream < b->stream ? -1 : a->stream > b->stream;
}

static bool make_rows(struct result *result, struct allo_error *err)
{
	struct allo_source *source = &result->source;
	struct rows *rows = &result->rows;
	struct allo_weighing weighing = allo_weighing_of(&source->recording);

	result->is_estimated = allo_is_sampled(&weighing);
	if (!allo_source_thread_totals(source, &result->totals, err))
		return false;
	for (size_t i = 0; i < result->totals.threads.len; i++) {
		struct row row = { &source->recording.streams.at[i],
				   &result->totals.threads.at[i] };

		if (row.stream->kind != ALLO_STREAM_EVENTS || !has_done_anything(row.total))
			continue;
		if (!allo_vec_append(&rows->all, &row, 1))
			return allo_fail_memory(err);
		add_up(&rows->sum, row.total);
	}
	if (rows->all.len > 0)
		qsort_r(rows->all.at, rows->all.len, sizeof(*rows->all.at), compare_rows, result);
	return true;
}

enum { TID, CSV_NAME, FIRST_NUMBER, NAME = FIRST_NUMBER + 11, COLUMNS };

/* People see two tables, each of which fits 80 columns; programs see the first with all columns. */
#define AT(member) ALLO_COLUMN_AT(struct allo_thread_total, member)
static const struct allo_column columns[COLUMNS] = {
	[TID] = { "thread", "tid", "tid", ALLO_CELL_ID },
	[CSV_NAME] = { NULL, "name", NULL, ALLO_CELL_TEXT },
	[FIRST_NUMBER] = { "allocations", "allocations", "allocations", AT(allocations) },
	{ "bytes", "alloc_bytes", "alloc_bytes", ALLO_CELL_BYTES, AT(alloc_bytes) },
	{ "most held", "max_bytes", "max_bytes", ALLO_CELL_BYTES, AT(max_bytes) },
	{ "at the peak", "peak_bytes", "peak_bytes", ALLO_CELL_BYTES, AT(peak_bytes) },
	{ NULL, "peak_blocks", "peak_blocks", AT(peak_blocks) },
	{ "at the end", "end_bytes", "end_bytes", ALLO_CELL_BYTES, AT(live_bytes) },
	{ NULL, "end_blocks", "end_blocks", AT(live_blocks) },
	/* A sample does not show which blocks are temporary. */
	{ NULL, "temporary_blocks", "temporary_blocks", AT(temporary_blocks), .needs_exact = true },
	{ NULL, "frees", "frees", AT(frees) },
	{ NULL, "frees_of_others", "frees_of_others", AT(frees_of_others) },
	{ NULL, "freed_by_others", "freed_by_others", AT(freed_by_others) },
	[NAME] = { "name", NULL, NULL, ALLO_CELL_TEXT },
};

enum { FREES_TID, FREES_NAME = 5, FREES_COLUMNS };

static const struct allo_column frees_columns[FREES_COLUMNS] = {
	[FREES_TID] = { "thread", NULL, NULL, ALLO_CELL_ID },
	{ "temporary", NULL, NULL, AT(temporary_blocks), .needs_exact = true },
	{ "frees", NULL, NULL, AT(frees) },
	{ "of others' blocks", NULL, NULL, AT(frees_of_others) },
	{ "own freed by others", NULL, NULL, AT(freed_by_others) },
	[FREES_NAME] = { "name", NULL, NULL, ALLO_CELL_TEXT },
};
#undef AT

static const struct allo_report_table table = { "threads", columns, COLUMNS, .needs_rows = true };
static const struct allo_report_table frees_table = { NULL, frees_columns, FREES_COLUMNS,
						      .needs_rows = true };

/* In a sentence, which has separators always. */
static const char *counted(struct allo_report *report, uint64_t count, const char *noun)
{
	char number[ALLO_NUMBER_SIZE];

	allo_format((struct allo_number){ count, false, report->options.is_estimated },
		    ALLO_UNIT_COUNT, false, number);
	return allo_report_string(report, "%s %s%s", number, noun, allo_plural(count));
}

static void describe_row(struct allo_report *report, const struct row *row)
{
	allo_report_row(report);
	allo_cell_u64(report, TID, row->stream->thread);
	allo_report_field_text(report, "name", row->stream->name);
	allo_cell_text(report, CSV_NAME, row->stream->name);
	allo_report_numbers(report, row->total);
	allo_cell_text(report, NAME, row->stream->name);
}

static void describe_frees(struct allo_report *report, const struct rows *rows, size_t shown)
{
	allo_report_blank(report);
	allo_report_table(report, &frees_table);
	for (size_t i = 0; i < shown; i++) {
		const struct row *row = &rows->all.at[i];

		allo_report_row(report);
		allo_cell_u64(report, FREES_TID, row->stream->thread);
		allo_report_numbers(report, row->total);
		allo_cell_text(report, FREES_NAME, row->stream->name);
	}
	allo_report_end_table(report);
	allo_report_note(report,
			 "a block belongs to the thread that allocated it; temporary blocks are "
			 "freed before the thread allocates again");
}

static void describe(struct allo_report *report, const struct result *result)
{
	const struct rows *rows = &result->rows;
	size_t count = rows->all.len, wanted = result->opt->count;
	size_t shown = wanted > 0 && wanted < count ? wanted : count;

	allo_report_heading(report);
	allo_report_line(report, "%s, %s of %s; %s %s freed by another thread",
			 allo_report_counted(report, count, "thread"),
			 counted(report, rows->sum.allocations, "allocation"),
			 allo_report_bytes(report, rows->sum.alloc_bytes),
			 counted(report, rows->sum.frees_of_others, "block"),
			 rows->sum.frees_of_others == 1 ? "was" : "were");
	allo_report_field_u64(report, "peak_bytes", result->totals.peak_bytes);
	allo_report_field_u64(report, "peak_ns", result->totals.peak_ns);
	allo_report_field_u64(report, "thread_count", count);
	allo_report_table(report, &table);
	for (size_t i = 0; i < shown; i++)
		describe_row(report, &rows->all.at[i]);
	allo_report_end_table(report);
	if (shown > 0 && allo_report_is_prose(report))
		describe_frees(report, rows, shown);
	if (shown < count)
		allo_report_note(report, "%s: -n 0 shows all",
				 allo_report_counted(report, count - shown, "more thread"));
}

static bool check(const struct threads *opt, struct allo_error *err)
{
	if (!opt->common.at)
		return allo_common_check(&opt->common, err);
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
		  "--at is a single instant; use --range for a period");
	return allo_hint(err, "'at the peak' is a column of the table, and with --range ..2s 'in "
			      "the end' is what was live after two seconds");
}

static bool run_threads(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct threads *opt = options_given;
	ALLO_DEFER(result_done) struct result result = { .opt = opt };

	if (!check(opt, err) ||
	    !allo_common_open_recording(&opt->common, files[0], "threads", &result.source, err) ||
	    !make_rows(&result, err) ||
	    !allo_common_report(&opt->common, &report, result.is_estimated, err))
		return false;
	describe(&report, &result);
	allo_source_note_gaps(&result.source);
	return allo_common_finish(&opt->common, &report, NULL, err);
}

const struct allo_command allo_cmd_threads = {
	.name = "threads",
	.heading = "Look",
	.summary = "show the memory that each thread allocated, held and freed",
	.arguments = "[FILE]",
	.about = "Prints two tables with a line for each thread of a recording. The first has its "
		 "allocations and their bytes, the most it held at once, and the bytes it held at "
		 "the program's peak and at the end. The second has its temporary blocks (freed "
		 "before its next allocation), the blocks it freed, those of them that other "
		 "threads had allocated, and its own blocks that others freed. A block belongs to "
		 "the thread that allocated it.\n\n"
		 "A realloc counts as an allocation and a free of the old block. A realloc of "
		 "another thread's block takes the block over.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct threads),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_threads,
};
