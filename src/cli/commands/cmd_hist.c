/* cmd_hist.c - allo hist: histograms of the sizes and lifetimes of blocks. */
#include "analysis/histogram.h"
#include "base/defer.h"
#include "cli/row_filter.h"
#include "cli/show/picture_file.h"
#include "replay/weights.h"
#include "report/bar_chart.h"
#include "report/chart.h"
#include "report/messages.h"

#include <stdlib.h>

enum by { BY_BOTH, BY_SIZE, BY_LIFETIME };

static const char *const by_names[] = { "both", "size", "lifetime", NULL };

struct hist {
	struct allo_row_options rows;
	const char *bins;
	int by;
	bool is_ascii;
	struct allo_picture_options picture;
};

#define AT(field) offsetof(struct hist, field)
static const struct allo_option options[] = {
	OPT_CHOICE('g', "by", "GROUP", by, by_names,
		   "histogram of size, lifetime or both (default: both)"),
	OPT_TEXT(0, "bins", "LIST", bins,
		 "lower limits of the bins: 16,64,1K for sizes, 1us,1ms,1s for lifetimes; needs "
		 "--by (default: powers of two for sizes, of ten for lifetimes)"),
	OPT_FLAG(0, "ascii", is_ascii,
		 "draw with ASCII characters (default where the locale is not UTF-8)"),
	OPT_PICTURE(picture),
	OPT_PLAIN(rows.common.plain),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Histogram", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_row_group,
	&allo_view_group,
	&allo_filter_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo hist server.allo", "sizes and lifetimes of all blocks" },
	{ "allo hist --by size --at peak server.allo",
	  "sizes of the blocks that were live at the peak" },
	{ "allo hist --by lifetime -F parse server.allo",
	  "lifetimes of the blocks that parse allocates" },
	{ "allo hist -o sizes.svg server.allo", "a picture, for a browser or a document" },
	{ NULL, NULL },
};

/* Sizes below this are also counted one by one, to find one that is common. */
enum { SINGLE_SIZES = 1 << 16 };

/* The counted blocks. */
struct tally {
	struct allo_histogram size, lifetime;
	uint64_t common_size, common_blocks; /* the most frequent size below SINGLE_SIZES */
};

struct result {
	const struct hist *opt;
	struct allo_row_filter filter;
	struct tally tally;
	allo_parts *single_sizes; /* blocks, by size */
	struct allo_weighing weighing;
	bool is_estimated;
	bool is_exact;         /* single allocations; else averages of stacks */
	enum allo_clock clock; /* of lifetimes */
	bool has_lifetimes;
};

static void result_done(struct result *result)
{
	allo_row_filter_done(&result->filter);
	free(result->single_sizes);
}

static bool result_init(struct result *result, const struct hist *opt, struct allo_error *err)
{
	const char *size_bins = opt->by == BY_SIZE ? opt->bins : NULL;
	const char *lifetime_bins = opt->by == BY_LIFETIME ? opt->bins : NULL;

	result->opt = opt;
	if (opt->bins && opt->by == BY_BOTH)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--bins needs --by size or --by lifetime");
	result->single_sizes = calloc(SINGLE_SIZES, sizeof(*result->single_sizes));
	if (!result->single_sizes)
		return allo_fail_memory(err);
	allo_histogram_by_two(&result->tally.size);
	allo_histogram_by_ten(&result->tally.lifetime);
	return (!size_bins ||
		allo_histogram_by_list(&result->tally.size, size_bins, allo_parse_bytes, err)) &&
	       (!lifetime_bins || allo_histogram_by_list(&result->tally.lifetime, lifetime_bins,
							 allo_parse_ns, err)) &&
	       allo_row_filter_init(&result->filter, &opt->rows, err);
}

static bool shows(const struct result *result, enum by by)
{
	return result->opt->by == BY_BOTH || result->opt->by == (int)by;
}

/* Recordings. */

/* Adds the blocks that a sampled block stands for.  Each realloc may be in the sample or not, so
 * each ends a lifetime. */
static void estimate_row(struct result *result, const struct allo_block_row *row)
{
	double weight = allo_weigh(&result->weighing, row->size, row->alloc_ns).weight;
	double bytes = weight * (double)row->size;

	allo_histogram_estimate(&result->tally.size, row->size, weight, bytes);
	if (row->free_ns == ALLO_NEVER)
		allo_histogram_estimate_never(&result->tally.lifetime, weight, bytes);
	else
		allo_histogram_estimate(&result->tally.lifetime, row->free_ns - row->alloc_ns,
					weight, bytes);
}

static bool count_rows(void *context, const struct allo_block_row *rows, size_t count,
		       struct allo_error *err)
{
	struct result *result = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const struct allo_block_row *row = &rows[i];
		uint64_t ns;

		if (!allo_row_filter_keeps(&result->filter, row))
			continue;
		if (row->size < SINGLE_SIZES)
			result->single_sizes[row->size] +=
				allo_weigh(&result->weighing, row->size, row->alloc_ns).blocks;
		if (result->is_estimated) {
			estimate_row(result, row);
			continue;
		}
		allo_histogram_add(&result->tally.size, row->size, 1, row->size);
		/* A realloc does not end the lifetime. */
		if (row->free_ns == ALLO_NEVER)
			allo_histogram_add_never(&result->tally.lifetime, 1, row->size);
		else if (allo_row_lifetime(row, &ns))
			allo_histogram_add(&result->tally.lifetime, ns, 1, row->size);
	}
	return true;
}

static void find_common_size(struct result *result)
{
	struct tally *tally = &result->tally;

	for (uint64_t i = 0; i < SINGLE_SIZES; i++) {
		uint64_t count = allo_parts_round(result->single_sizes[i]);

		if (count > tally->common_blocks) {
			tally->common_size = i;
			tally->common_blocks = count;
		}
	}
}

/* Counts from the bytes of an answer, if they are valid. */
static bool read_tally(struct tally *tally, const allo_cache_bytes *bytes)
{
	const struct tally *answer = (const struct tally *)bytes->at;

	if (bytes->len != sizeof(*tally) || answer->size.count != tally->size.count ||
	    answer->lifetime.count != tally->lifetime.count)
		return false;
	memcpy(tally, answer, sizeof(*tally));
	return true;
}

static void store_tally(const struct tally *tally, const struct allo_question *question)
{
	allo_cache_bytes bytes = { 0 };

	if (allo_vec_append(&bytes, (const char *)tally, sizeof(*tally)))
		allo_answer_store(question, &bytes);
	allo_vec_done(&bytes);
}

/* Counts rows, or takes the counts of an earlier run. */
static bool count_or_load(struct result *result, struct allo_source *source, struct allo_error *err)
{
	struct allo_question question = allo_question_of(source, "hist");
	allo_cache_bytes bytes = { 0 };
	bool is_found;

	/* It is empty, but for the limits of its bins. */
	allo_question_add(&question, &result->tally, sizeof(result->tally));
	if (!allo_row_filter_ask(&result->filter, source, &question, err))
		return false;
	is_found = allo_answer_load(&question, &bytes) && read_tally(&result->tally, &bytes);
	allo_vec_done(&bytes);
	if (is_found)
		return true;
	if (!allo_row_filter_rows(&result->filter, source, count_rows, result, err))
		return false;
	find_common_size(result);
	store_tally(&result->tally, &question);
	return true;
}

static bool count_recording(struct result *result, struct allo_source *source,
			    struct allo_error *err)
{
	const struct allo_common *common = &result->opt->rows.common;

	result->is_exact = result->has_lifetimes = true;
	result->clock = ALLO_CLOCK_NS;
	result->weighing = allo_weighing_of(&source->recording);
	result->is_estimated = allo_is_sampled(&result->weighing);
	if (common->focus.count + common->ignore.count > 0 &&
	    !allo_row_filter_find_stacks(&result->filter, source, err))
		return false;
	return count_or_load(result, source, err);
}

/* Other profiles have sums only: all blocks of a stack count with their average. */

static bool fail_sums(const char *file, const char *lacks, struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file }, "has no single allocations%s",
		  lacks);
	return allo_hint(err, "'allo run PROGRAM' records them");
}

static bool count_profile(struct result *result, const struct allo_profile *profile,
			  const char *file, struct allo_error *err)
{
	size_t bytes, blocks, lifetime;

	if (!allo_profile_find_metric(profile, ALLO_ALLOC_BYTES, &bytes) ||
	    !allo_profile_find_metric(profile, ALLO_ALLOC_BLOCKS, &blocks))
		return fail_sums(file, ", nor both blocks and bytes of what was allocated", err);
	result->has_lifetimes = allo_profile_find_metric(profile, ALLO_LIFETIME, &lifetime);
	result->clock = profile->meta.clock;
	result->is_estimated = allo_profile_is_estimated(profile);
	if (!result->has_lifetimes && result->opt->by == BY_LIFETIME)
		return fail_sums(file, ", nor lifetimes", err);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		const uint64_t *row = allo_profile_row(profile, i);

		if (row[blocks] == 0)
			continue;
		allo_histogram_add(&result->tally.size, row[bytes] / row[blocks], row[blocks],
				   row[bytes]);
		if (result->has_lifetimes)
			allo_histogram_add(&result->tally.lifetime, row[lifetime] / row[blocks],
					   row[blocks], row[bytes]);
	}
	return true;
}

static bool read_profile(struct result *result, struct allo_source *source, const char *file,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	const struct allo_row_options *rows = &result->opt->rows;

	if (rows->size || rows->lifetime || rows->is_live)
		return fail_sums(file, " that --size, --lifetime and --live could pick", err);
	if (!allo_common_filter(&rows->common, false, &filter, err) ||
	    !allo_source_profile(source, NULL, &profile, err) ||
	    (!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, &profile, err)) ||
	    !count_profile(result, &profile, file, err))
		return false;
	allo_common_tell_filter(&rows->common, &filter);
	if (!rows->common.quiet)
		allo_say_note(
			"the file has sums instead of single allocations: each stack's blocks "
			"count with their average");
	return true;
}

/* Counts are exact here, even where the report is of estimates: sizes and limits of bins. */
static const char *format(struct allo_report *report, uint64_t value, enum allo_unit unit)
{
	return allo_report_format_number(report, (struct allo_number){ value }, unit);
}

/* Instructions have no unit. */
static enum allo_unit unit_of(const struct result *result, const struct allo_histogram *histogram)
{
	if (histogram == &result->tally.size)
		return ALLO_UNIT_BYTES;
	return result->clock == ALLO_CLOCK_INSTRUCTIONS ? ALLO_UNIT_COUNT : ALLO_UNIT_NS;
}

/* "17 - 32 B", "1.00 ms - 10.0 ms", "above 1,000 s".  Sizes are integers, so both ends are in the
 * bin. */
static const char *format_range(struct allo_report *report, const struct result *result,
				const struct allo_histogram *histogram, const struct allo_bin *bin)
{
	enum allo_unit unit = unit_of(result, histogram);
	bool is_size = unit == ALLO_UNIT_BYTES;
	const char *from = format(report, bin->from, unit), *to;

	if (bin->to == UINT64_MAX)
		return allo_report_string(report, "%s and more", from);
	if (bin->from == bin->to)
		return from;
	to = format(report, is_size ? bin->to : bin->to + 1, unit);
	if (bin->from == 0 && !is_size)
		return allo_report_string(report, "below %s", to);
	return allo_report_string(report, "%s - %s", from, to);
}

/* A line has 60 columns besides the bar. */
enum { RANGE_WIDTH = 23, OTHER_WIDTH = 60, BAR_LEAST = 10, BAR_MOST = 30 };

enum { BY, FROM, TO, RANGE, BLOCKS, SHARE, BAR, BYTES, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[BY] = { NULL, "by", NULL, ALLO_CELL_TEXT },
	[FROM] = { NULL, "from", "from", ALLO_CELL_ID },
	[TO] = { NULL, "to", "to", ALLO_CELL_ID },
	[RANGE] = { "size", NULL, NULL, ALLO_CELL_TEXT, ALLO_ALIGN_RIGHT,
		    .min_width = RANGE_WIDTH },
	[BLOCKS] = { "blocks", "blocks", "blocks", .min_width = 13 },
	[SHARE] = { "", NULL, NULL, ALLO_CELL_SHARE, .min_width = 6 },
	[BAR] = { "", NULL, NULL, ALLO_CELL_TEXT, .is_green = true },
	[BYTES] = { "bytes", "bytes", "bytes", ALLO_CELL_BYTES, .min_width = 10 },
};

static const struct allo_report_table table = { "bins", columns, COLUMNS };

static uint64_t most_blocks(const struct allo_histogram *histogram)
{
	uint64_t most = histogram->never_blocks;

	for (size_t i = 0; i < histogram->count; i++)
		most = histogram->bins[i].blocks > most ? histogram->bins[i].blocks : most;
	return most;
}

static size_t bar_width(const struct allo_report *report)
{
	size_t width = report->options.max_width;

	if (width == 0 || width >= OTHER_WIDTH + BAR_MOST)
		return BAR_MOST;
	return width > OTHER_WIDTH + BAR_LEAST ? width - OTHER_WIDTH : BAR_LEAST;
}

static void describe_numbers(struct allo_report *report, const struct result *result,
			     const struct allo_histogram *histogram, uint64_t blocks,
			     uint64_t bytes)
{
	bool is_ascii = result->opt->is_ascii || !allo_terminal_is_utf8();
	char bar[4 * BAR_MOST + 1];

	allo_cell_string(report, BY, histogram == &result->tally.size ? "size" : "lifetime");
	allo_cell_u64(report, BLOCKS, blocks);
	allo_cell_share(report, SHARE, (double)blocks,
			(double)histogram->blocks + (double)histogram->never_blocks);
	allo_cell_string(
		report, BAR,
		allo_chart_bar(bar, blocks, most_blocks(histogram), bar_width(report), is_ascii));
	allo_cell_u64(report, BYTES, bytes);
}

static void describe_bins(struct allo_report *report, const struct result *result,
			  const struct allo_histogram *histogram, const char *title)
{
	size_t first, end;

	allo_histogram_used(histogram, &first, &end);
	allo_report_table(report, &table);
	allo_report_retitle(report, RANGE, title);
	for (size_t i = first; i < end; i++) {
		const struct allo_bin *bin = &histogram->bins[i];

		allo_report_row(report);
		allo_cell_u64(report, FROM, bin->from);
		allo_cell_u64(report, TO, bin->to);
		allo_cell_string(report, RANGE, format_range(report, result, histogram, bin));
		describe_numbers(report, result, histogram, bin->blocks, bin->bytes);
	}
	if (histogram->never_blocks > 0 && !allo_report_is(report, ALLO_REPORT_JSON)) {
		allo_report_row(report);
		allo_cell_string(report, RANGE, "never freed");
		describe_numbers(report, result, histogram, histogram->never_blocks,
				 histogram->never_bytes);
	}
	allo_report_end_table(report);
	if (first == end && histogram->never_blocks == 0)
		allo_report_line(report, "%*s", RANGE_WIDTH, "no blocks");
}

static void describe_histogram(struct allo_report *report, const struct result *result,
			       const struct allo_histogram *histogram)
{
	static const char *const units[] = { "instructions", "bytes", "nanoseconds" };
	bool is_size = histogram == &result->tally.size;
	const char *name = is_size ? "size" : "lifetime";

	allo_report_object(report, name);
	allo_report_field_string(report, "unit", units[unit_of(result, histogram)]);
	allo_report_field_u64(report, "blocks", histogram->blocks);
	allo_report_field_u64(report, "bytes", histogram->bytes);
	if (!is_size && result->is_exact) {
		allo_report_field_u64(report, "never_blocks", histogram->never_blocks);
		allo_report_field_u64(report, "never_bytes", histogram->never_bytes);
	}
	describe_bins(report, result, histogram,
		      allo_report_string(report, "%s%s", result->is_exact ? "" : "average ", name));
	allo_report_close(report);
}

/* A size that is a tenth of all blocks or more deserves a line; NULL: there is none. */
static const char *single_size(struct allo_report *report, const struct result *result)
{
	uint64_t all = result->tally.size.blocks, count = result->tally.common_blocks;

	if (count < all / 10 || count == 0 || count == all)
		return NULL;
	return allo_report_string(report, "%s: %s blocks, %s of all",
				  format(report, result->tally.common_size, ALLO_UNIT_BYTES),
				  allo_report_number(report, count, ALLO_UNIT_COUNT),
				  allo_report_share(report, (double)count, (double)all));
}

static void describe_single(struct allo_report *report, const struct result *result)
{
	const char *single = single_size(report, result);

	if (single)
		allo_report_note(report, "exactly %s", single);
}

static void describe(struct allo_report *report, const struct result *result)
{
	allo_report_json_lines(report, 3);
	allo_report_field_bool(report, "exact", result->is_exact);
	if (shows(result, BY_SIZE)) {
		describe_histogram(report, result, &result->tally.size);
		describe_single(report, result);
	}
	if (!shows(result, BY_LIFETIME) || !result->has_lifetimes)
		return;
	if (shows(result, BY_SIZE))
		allo_report_blank(report);
	describe_histogram(report, result, &result->tally.lifetime);
}

/* The picture. */

/* The bins of a histogram, and what was never freed. */
static struct allo_bar_group make_bars(struct allo_report *report, const struct result *result,
				       const struct allo_histogram *histogram,
				       struct allo_bar bars[ALLO_HISTOGRAM_BINS + 1])
{
	const char *name = histogram == &result->tally.size ? "size" : "lifetime";
	struct allo_bar_group made = { allo_report_string(report, "%s%s",
							  result->is_exact ? "" : "average ", name),
				       bars, 0 };
	size_t first, end;

	allo_histogram_used(histogram, &first, &end);
	for (size_t i = first; i < end; i++) {
		const struct allo_bin *bin = &histogram->bins[i];

		bars[made.count++] = (struct allo_bar){
			format_range(report, result, histogram, bin), bin->blocks, bin->bytes
		};
	}
	if (histogram->never_blocks > 0)
		bars[made.count++] = (struct allo_bar){ "never freed", histogram->never_blocks,
							histogram->never_bytes };
	return made;
}

static const char *subtitle_of(struct allo_report *report, const struct result *result)
{
	if (result->tally.size.blocks == 0)
		return "There is nothing to draw: no block was counted.";
	return allo_report_string(
		report, "%s%s in %s", result->is_exact ? "" : "sums of stacks: ",
		allo_report_number(report, result->tally.size.bytes, ALLO_UNIT_BYTES),
		allo_report_counted(report, result->tally.size.blocks, "block"));
}

static bool draw(struct allo_report *report, const struct result *result, char **files,
		 struct allo_error *err)
{
	const struct hist *opt = result->opt;
	const char *what = opt->by == BY_SIZE       ? "Sizes of blocks"
			   : opt->by == BY_LIFETIME ? "Lifetimes of blocks"
						    : "Sizes and lifetimes of blocks";
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_bar sizes[ALLO_HISTOGRAM_BINS + 1], lifetimes[ALLO_HISTOGRAM_BINS + 1];
	struct allo_bar_group shown[2];
	char title[ALLO_PICTURE_TEXT_SIZE];
	const char *single = shows(result, BY_SIZE) ? single_size(report, result) : NULL;
	struct allo_bar_chart chart = {
		.title = allo_picture_title(what, files[0], title),
		.subtitle = allo_text_of(subtitle_of(report, result)),
		.groups = shown,
		.remark = single ? allo_report_string(report, "Exactly %s. ", single) : "",
		.is_estimated = result->is_estimated,
	};

	if (shows(result, BY_SIZE))
		shown[chart.group_count++] = make_bars(report, result, &result->tally.size, sizes);
	if (shows(result, BY_LIFETIME) && result->has_lifetimes)
		shown[chart.group_count++] = make_bars(report, result, &result->tally.lifetime,
						       lifetimes);
	if (!allo_picture_open(&opt->picture, files, &out, err))
		return false;
	allo_bar_chart_write(&chart, &out);
	return allo_picture_finish(&opt->picture, &opt->rows.common, &out, err);
}

/* The report only formats numbers: it prints nothing. */
static bool draw_picture(const struct result *result, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output nothing = { .fd = -1 };
	const struct allo_report_options numbers = allo_common_report_options(
		&result->opt->rows.common, result->is_estimated);

	if (!allo_output_open_memory(&nothing, &(const struct allo_output_options){ 0 }, err))
		return false;
	allo_report_begin(&report, &numbers, &nothing);
	return draw(&report, result, files, err);
}

static bool print(const struct result *result, struct allo_source *source, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = &result->opt->rows.common;

	if (!allo_common_report(common, &report, result->is_estimated, err))
		return false;
	describe(&report, result);
	allo_source_note_gaps(source);
	return allo_common_finish(common, &report, NULL, err);
}

static bool run_hist(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_source_close) struct allo_source source = { 0 };
	struct allo_source_options reading;
	ALLO_DEFER(result_done) struct result result = { 0 };
	const struct hist *opt = options_given;
	const struct allo_common *common = &opt->rows.common;
	const char *file;

	if (!allo_picture_check(&opt->picture, common, err) || !allo_common_check(common, err) ||
	    !result_init(&result, opt, err))
		return false;
	if (!allo_common_source(common, &reading, err) ||
	    !(file = allo_common_one_file(common, files[0], err)) ||
	    !allo_source_open(&source, file, &reading, err) ||
	    !(source.is_recording ? count_recording(&result, &source, err)
				  : read_profile(&result, &source, file, err)))
		return false;
	if (!(opt->picture.output ? draw_picture(&result, files, err)
				  : print(&result, &source, err)))
		return false;
	if (opt->picture.output)
		allo_source_note_gaps(&source);
	allo_common_tell_filter(common, &result.filter.stacks.filter);
	return true;
}

const struct allo_command allo_cmd_hist = {
	.name = "hist",
	.heading = "Look",
	.summary = "show histograms of block sizes and lifetimes",
	.arguments = "[FILE]",
	.about =
		"Prints histograms of block sizes and lifetimes, in blocks and bytes. In a "
		"recording every allocation counts, and a realloc counts as an allocation of its "
		"new size; a lifetime begins with the first allocation and ends when the block "
		"is freed. With --range, blocks count that were live at some time in it; with "
		"--at, those that were live at that instant.\n\n"
		"Other profiles have sums only: each stack's blocks count with their average "
		"size and lifetime.\n\n"
		"-o draws the histograms into an SVG file that needs no script, with exact numbers "
		"as tooltips.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct hist),
	.finds_newest = true,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_hist,
};
