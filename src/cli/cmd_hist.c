/* cmd_hist.c - allo hist: how large blocks are, and how long they live. */
#include "analysis/histogram.h"
#include "analysis/sum.h"
#include "base/defer.h"
#include "base/json_write.h"
#include "cli/row_filter.h"
#include "replay/weights.h"
#include "report/chart.h"
#include "report/show.h"
#include "report/table.h"

#include <stdio.h>
#include <stdlib.h>

enum by { BY_BOTH, BY_SIZE, BY_LIFETIME };

static const char *const by_names[] = { "both", "size", "lifetime", NULL };

struct hist {
	struct allo_row_options rows;
	const char *bins;
	int by;
	bool is_ascii;
};

static const struct allo_option options[] = {
	{ .letter = 'g',
	  .name = "by",
	  .argument = "WHAT",
	  .help = "size, lifetime or, without it, both, one after the other",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct hist, by),
	  .choices = by_names },
	{ .name = "bins",
	  .argument = "LIST",
	  .help = "where bins begin: 16,64,1K for sizes, 1us,1ms,1s for lifetimes; it needs --by. "
		  "Without it, powers of two for sizes and of ten for lifetimes",
	  .kind = ALLO_OPTION_TEXT,
	  .offset = offsetof(struct hist, bins) },
	{ .name = "ascii",
	  .help = "draw with plain characters, as where the locale is not UTF-8",
	  .offset = offsetof(struct hist, is_ascii) },
	{ .name = "bytes",
	  .help = "print plain numbers, without units and separators",
	  .offset = offsetof(struct hist, rows.common.plain) },
	{ .name = NULL },
};

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
	{ "allo hist server.allo", "how large blocks are, and how long they live" },
	{ "allo hist --by size --at peak server.allo", "sizes of what was live at the peak" },
	{ "allo hist --by lifetime -F parse server.allo", "how long parse's blocks live" },
	{ NULL, NULL },
};

/* Sizes below this are also counted one by one: one of them may be most of all. */
enum { SINGLE_SIZES = 1 << 16 };

struct counting {
	const struct hist *opt;
	struct allo_row_filter filter;
	struct allo_histogram size, lifetime;
	uint64_t *single_sizes; /* blocks, by size */
	struct allo_weighing weighing;
	bool is_estimated;
	bool is_exact;         /* single allocations; else averages of stacks */
	enum allo_clock clock; /* of lifetimes */
	bool has_lifetimes;
};

static void counting_done(struct counting *counting)
{
	allo_row_filter_done(&counting->filter);
	free(counting->single_sizes);
}

static bool counting_init(struct counting *counting, const struct hist *opt, struct allo_error *err)
{
	const char *size_bins = opt->by == BY_SIZE ? opt->bins : NULL;
	const char *lifetime_bins = opt->by == BY_LIFETIME ? opt->bins : NULL;

	counting->opt = opt;
	if (opt->bins && opt->by == BY_BOTH)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--bins needs --by size or --by lifetime");
	counting->single_sizes = calloc(SINGLE_SIZES, sizeof(*counting->single_sizes));
	if (!counting->single_sizes)
		return allo_fail_memory(err);
	allo_histogram_by_two(&counting->size);
	allo_histogram_by_ten(&counting->lifetime);
	return (!size_bins ||
		allo_histogram_by_list(&counting->size, size_bins, allo_parse_bytes, err)) &&
	       (!lifetime_bins ||
		allo_histogram_by_list(&counting->lifetime, lifetime_bins, allo_parse_ns, err)) &&
	       allo_row_filter_init(&counting->filter, &opt->rows, err);
}

static bool shows(const struct counting *counting, enum by by)
{
	return counting->opt->by == BY_BOTH || counting->opt->by == (int)by;
}

/* Recordings. */

/* What a block of a sampled recording stands for.  Each realloc may be there or not, so that each
 * ends a life. */
static void estimate_row(struct counting *counting, const struct allo_block_row *row)
{
	double weight = allo_weigh(&counting->weighing, row->size).weight;
	double bytes = weight * (double)row->size;

	allo_histogram_estimate(&counting->size, row->size, weight, bytes);
	if (row->free_ns == ALLO_NEVER)
		allo_histogram_estimate_never(&counting->lifetime, weight, bytes);
	else
		allo_histogram_estimate(&counting->lifetime, row->free_ns - row->alloc_ns, weight,
					bytes);
}

static bool count_rows(void *context, const struct allo_block_row *rows, size_t count,
		       struct allo_error *err)
{
	struct counting *counting = context;

	(void)err;
	for (size_t i = 0; i < count; i++) {
		const struct allo_block_row *row = &rows[i];
		uint64_t ns;

		if (!allo_row_filter_keeps(&counting->filter, row))
			continue;
		if (row->size < SINGLE_SIZES)
			counting->single_sizes[row->size]++;
		if (counting->is_estimated) {
			estimate_row(counting, row);
			continue;
		}
		allo_histogram_add(&counting->size, row->size, 1, row->size);
		/* What a realloc has ended lives on. */
		if (row->free_ns == ALLO_NEVER)
			allo_histogram_add_never(&counting->lifetime, 1, row->size);
		else if (allo_row_lifetime(row, &ns))
			allo_histogram_add(&counting->lifetime, ns, 1, row->size);
	}
	return true;
}

static void estimate_single_sizes(struct counting *counting)
{
	for (uint64_t i = 0; i < SINGLE_SIZES; i++) {
		uint64_t *count = &counting->single_sizes[i];

		*count = allo_parts_round(*count * allo_weigh(&counting->weighing, i).blocks);
	}
}

static bool count_recording(struct counting *counting, struct allo_opened *opened,
			    struct allo_error *err)
{
	const struct allo_common *common = &counting->opt->rows.common;

	counting->is_exact = counting->has_lifetimes = true;
	counting->clock = ALLO_CLOCK_NS;
	counting->weighing = allo_weighing_of(&opened->recording);
	counting->is_estimated = allo_is_sampled(&counting->weighing);
	if (allo_row_stacks_are_filtered(common) &&
	    !allo_row_stacks_find(&counting->filter.stacks, common, &opened->recording, err))
		return false;
	if (!allo_row_filter_rows(&counting->filter, opened, count_rows, counting, err))
		return false;
	if (counting->is_estimated)
		estimate_single_sizes(counting);
	return true;
}

/* Other profiles have sums: each stack's blocks are taken to be of its average. */

static bool fail_sums(const char *file, const char *lacks, struct allo_error *err)
{
	allo_fail(err, ALLO_USAGE, (struct allo_pos){ .file = file }, "has no single allocations%s",
		  lacks);
	return allo_hint(err, "'allo run PROGRAM' records them");
}

static bool count_profile(struct counting *counting, const struct allo_profile *profile,
			  const char *file, struct allo_error *err)
{
	size_t bytes, blocks, lifetime;

	if (!allo_profile_find_metric(profile, ALLO_ALLOC_BYTES, &bytes) ||
	    !allo_profile_find_metric(profile, ALLO_ALLOC_BLOCKS, &blocks))
		return fail_sums(file, ", nor both blocks and bytes of what was allocated", err);
	counting->has_lifetimes = allo_profile_find_metric(profile, ALLO_LIFETIME, &lifetime);
	counting->clock = profile->meta.clock;
	counting->is_estimated = allo_profile_is_estimated(profile);
	if (!counting->has_lifetimes && counting->opt->by == BY_LIFETIME)
		return fail_sums(file, ", nor lifetimes", err);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		const uint64_t *row = allo_profile_row(profile, i);

		if (row[blocks] == 0)
			continue;
		allo_histogram_add(&counting->size, row[bytes] / row[blocks], row[blocks],
				   row[bytes]);
		if (counting->has_lifetimes)
			allo_histogram_add(&counting->lifetime, row[lifetime] / row[blocks],
					   row[blocks], row[bytes]);
	}
	return true;
}

static bool read_profile(struct counting *counting, struct allo_opened *opened, const char *file,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	const struct allo_row_options *rows = &counting->opt->rows;

	if (rows->size || rows->lifetime || rows->is_live)
		return fail_sums(file, " that --size, --lifetime and --live could pick", err);
	if (!allo_common_filter(&rows->common, false, &filter, err) ||
	    !allo_opened_read(opened, &rows->common, &profile, err) ||
	    (!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, &profile, err)) ||
	    !count_profile(counting, &profile, file, err))
		return false;
	allo_common_tell_filter(&rows->common, &filter);
	if (!rows->common.quiet)
		allo_say_note("the file has sums, no single allocations: each stack's blocks count "
			      "with their average");
	return true;
}

/* Text. */

static const char *format(const struct counting *counting, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ value, false }, unit,
			   counting->opt->rows.common.plain, out);
}

/* Of blocks that were counted. */
static const char *format_sum(const struct counting *counting, uint64_t sum, enum allo_unit unit,
			      char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ sum, false, counting->is_estimated }, unit,
			   counting->opt->rows.common.plain, out);
}

/* Instructions have no unit. */
static enum allo_unit unit_of(const struct counting *counting,
			      const struct allo_histogram *histogram)
{
	if (histogram == &counting->size)
		return ALLO_UNIT_BYTES;
	return counting->clock == ALLO_CLOCK_INSTRUCTIONS ? ALLO_UNIT_COUNT : ALLO_UNIT_NS;
}

enum { RANGE_SIZE = 2 * ALLO_NUMBER_SIZE + 8 };

/* "17 - 32 B", "1.00 ms - 10.0 ms", "above 1,000 s"; sizes are whole, so both ends are named. */
static const char *format_range(const struct counting *counting,
				const struct allo_histogram *histogram, const struct allo_bin *bin,
				char out[RANGE_SIZE])
{
	enum allo_unit unit = unit_of(counting, histogram);
	bool is_size = unit == ALLO_UNIT_BYTES;
	char from[ALLO_NUMBER_SIZE], to[ALLO_NUMBER_SIZE];

	format(counting, bin->from, unit, from);
	format(counting, is_size ? bin->to : bin->to + 1, unit, to);
	if (bin->to == UINT64_MAX)
		snprintf(out, RANGE_SIZE, "%s and more", from);
	else if (bin->from == bin->to)
		snprintf(out, RANGE_SIZE, "%s", from);
	else if (bin->from == 0 && !is_size)
		snprintf(out, RANGE_SIZE, "below %s", to);
	else
		snprintf(out, RANGE_SIZE, "%s - %s", from, to);
	return out;
}

static uint64_t most_blocks(const struct allo_histogram *histogram)
{
	uint64_t most = histogram->never_blocks;

	for (size_t i = 0; i < histogram->count; i++)
		most = histogram->bins[i].blocks > most ? histogram->bins[i].blocks : most;
	return most;
}

enum { RANGE_COLUMNS = 23, BAR_COLUMNS = 30 };

static void print_line(struct allo_output *out, const struct counting *counting, const char *range,
		       uint64_t blocks, uint64_t bytes, const struct allo_histogram *histogram)
{
	struct allo_style style = allo_common_style(&counting->opt->rows.common);
	bool is_ascii = counting->opt->is_ascii || !allo_terminal_is_utf8();
	char count[ALLO_NUMBER_SIZE], sum[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];
	size_t width;

	allo_output_printf(
		out, "%*s  %13s  %6s  %s", RANGE_COLUMNS, range,
		format_sum(counting, blocks, ALLO_UNIT_COUNT, count),
		allo_format_share((double)blocks,
				  (double)histogram->blocks + (double)histogram->never_blocks,
				  share),
		style.green);
	width = allo_chart_bar(out, blocks, most_blocks(histogram), BAR_COLUMNS, is_ascii);
	allo_output_printf(out, "%s%*s  %10s\n", style.reset, (int)(BAR_COLUMNS - width), "",
			   format_sum(counting, bytes, ALLO_UNIT_BYTES, sum));
}

/* A size that is a tenth of all blocks or more deserves a line. */
static void print_single(struct allo_output *out, const struct counting *counting)
{
	const uint64_t *counts = counting->single_sizes;
	uint64_t all = counting->size.blocks;
	char size[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];
	size_t at = 0;

	for (size_t i = 1; i < SINGLE_SIZES; i++)
		at = counts[i] > counts[at] ? i : at;
	if (counts[at] < all / 10 || counts[at] == 0 || counts[at] == all)
		return;
	allo_output_printf(out, "exactly %s: %s blocks, %s of all\n",
			   format(counting, at, ALLO_UNIT_BYTES, size),
			   format_sum(counting, counts[at], ALLO_UNIT_COUNT, count),
			   allo_format_share((double)counts[at], (double)all, share));
}

static void print_histogram(struct allo_output *out, const struct counting *counting,
			    const struct allo_histogram *histogram, const char *title)
{
	struct allo_style style = allo_common_style(&counting->opt->rows.common);
	char range[RANGE_SIZE];
	size_t first, end;

	allo_histogram_used(histogram, &first, &end);
	allo_output_printf(out, "%s%*s  %13s  %6s  %-*s  %10s%s\n", style.bold, RANGE_COLUMNS,
			   title, "blocks", "", BAR_COLUMNS, "", "bytes", style.reset);
	for (size_t i = first; i < end; i++)
		print_line(out, counting,
			   format_range(counting, histogram, &histogram->bins[i], range),
			   histogram->bins[i].blocks, histogram->bins[i].bytes, histogram);
	if (histogram->never_blocks > 0)
		print_line(out, counting, "never freed", histogram->never_blocks,
			   histogram->never_bytes, histogram);
	if (first == end && histogram->never_blocks == 0)
		allo_output_printf(out, "%*s\n", RANGE_COLUMNS, "no blocks");
}

static void print_text(struct allo_output *out, const struct counting *counting)
{
	if (shows(counting, BY_SIZE)) {
		print_histogram(out, counting, &counting->size,
				counting->is_exact ? "size" : "average size");
		print_single(out, counting);
	}
	if (!shows(counting, BY_LIFETIME) || !counting->has_lifetimes)
		return;
	if (shows(counting, BY_SIZE))
		allo_output_byte(out, '\n');
	print_histogram(out, counting, &counting->lifetime,
			counting->is_exact ? "lifetime" : "average lifetime");
}

/* For programs. */

static void print_csv_histogram(struct allo_output *out, const struct allo_histogram *histogram,
				const char *by)
{
	size_t first, end;

	allo_histogram_used(histogram, &first, &end);
	for (size_t i = first; i < end; i++) {
		const struct allo_bin *bin = &histogram->bins[i];

		allo_output_printf(out, "%s,%llu,%llu,%llu,%llu\n", by,
				   (unsigned long long)bin->from, (unsigned long long)bin->to,
				   (unsigned long long)bin->blocks, (unsigned long long)bin->bytes);
	}
	if (histogram->never_blocks > 0)
		allo_output_printf(out, "%s,,,%llu,%llu\n", by,
				   (unsigned long long)histogram->never_blocks,
				   (unsigned long long)histogram->never_bytes);
}

static void print_csv(struct allo_output *out, const struct counting *counting)
{
	allo_output_string(out, "by,from,to,blocks,bytes\n");
	if (shows(counting, BY_SIZE))
		print_csv_histogram(out, &counting->size, "size");
	if (shows(counting, BY_LIFETIME) && counting->has_lifetimes)
		print_csv_histogram(out, &counting->lifetime, "lifetime");
}

static void print_json_histogram(struct allo_json_out *json, const struct counting *counting,
				 const struct allo_histogram *histogram, const char *key)
{
	static const char *const units[] = { "instructions", "bytes", "nanoseconds" };
	size_t first, end;

	allo_histogram_used(histogram, &first, &end);
	allo_json_out_key(json, key);
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "unit");
	allo_json_out_string(json, units[unit_of(counting, histogram)]);
	allo_json_out_member_u64(json, "blocks", histogram->blocks);
	allo_json_out_member_u64(json, "bytes", histogram->bytes);
	if (histogram == &counting->lifetime && counting->is_exact) {
		allo_json_out_member_u64(json, "never_blocks", histogram->never_blocks);
		allo_json_out_member_u64(json, "never_bytes", histogram->never_bytes);
	}
	allo_json_out_key(json, "bins");
	allo_json_out_begin(json, '[');
	for (size_t i = first; i < end; i++) {
		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "from", histogram->bins[i].from);
		allo_json_out_member_u64(json, "to", histogram->bins[i].to);
		allo_json_out_member_u64(json, "blocks", histogram->bins[i].blocks);
		allo_json_out_member_u64(json, "bytes", histogram->bins[i].bytes);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
	allo_json_out_end(json);
}

static void print_json(struct allo_output *out, const struct counting *counting)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 3 };

	allo_show_json_begin_numbers(&json, counting->is_estimated);
	allo_json_out_key(&json, "exact");
	allo_json_out_bool(&json, counting->is_exact);
	if (shows(counting, BY_SIZE))
		print_json_histogram(&json, counting, &counting->size, "size");
	if (shows(counting, BY_LIFETIME) && counting->has_lifetimes)
		print_json_histogram(&json, counting, &counting->lifetime, "lifetime");
	allo_json_out_end(&json);
}

static bool print(const struct counting *counting, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct allo_common *common = &counting->opt->rows.common;

	if (!allo_common_begin(common, &out, err))
		return false;
	if (common->json)
		print_json(&out, counting);
	else if (common->csv)
		print_csv(&out, counting);
	else
		print_text(&out, counting);
	return allo_common_end(common, &out, NULL, err);
}

static bool run_hist(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_opened_close) struct allo_opened opened = { 0 };
	ALLO_DEFER(counting_done) struct counting counting = { 0 };
	const struct hist *opt = options_given;
	const struct allo_common *common = &opt->rows.common;

	if (!allo_common_check(common, err) || !counting_init(&counting, opt, err))
		return false;
	if (!allo_opened_open(&opened, common, files[0], err) ||
	    !(opened.is_recording ? count_recording(&counting, &opened, err)
				  : read_profile(&counting, &opened, files[0], err)))
		return false;
	if (!print(&counting, err))
		return false;
	allo_common_tell_filter(common, &counting.filter.stacks.filter);
	allo_tell_lacks(&opened.recording, common);
	return true;
}

const struct allo_command allo_cmd_hist = {
	.name = "hist",
	.heading = "Look",
	.summary = "show how large blocks are and how long they live",
	.arguments = "FILE",
	.about = "Prints how many blocks, and how many bytes, are of which size and lived how "
		 "long. Of a recording every allocation counts, a realloc as one of its new size; "
		 "its lifetime begins with the first allocation and ends when the block is freed. "
		 "With --range, blocks count that were live at some moment of it; with --at, those "
		 "that were live then.\n\n"
		 "Of other profiles, which have sums, each stack's blocks count with their average "
		 "size and lifetime.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct hist),
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_hist,
};
