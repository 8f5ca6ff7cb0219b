/* cmd_top.c - allo top: what holds most. */
#include "analysis/top.h"
#include "base/defer.h"
#include "cli/figures.h"
#include "report/messages.h"

#include <stdio.h>

struct top {
	struct allo_common common;
	uint64_t count;
	bool by_total;
	int by;
	const char *label; /* by its values */
};

static const struct top defaults = { .count = 20 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many rows to show, 20 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct top, count) },
	{ .letter = 'g',
	  .name = "by",
	  .argument = "WHAT",
	  .help = "what a row stands for: function, site (a line of a function), file, module, "
		  "address, or label:KEY for a value of that label",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct top, by),
	  .choices = allo_by_names,
	  .open_choice = "label:",
	  .open_offset = offsetof(struct top, label) },
	{ .name = "cum",
	  .help = "sort by all that passes through a row, its callees included",
	  .offset = offsetof(struct top, by_total) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Rows", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_metric_group,
	&allo_trace_group,
	&allo_view_group,
	&allo_filter_group,
	&allo_number_group,
	&allo_estimate_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo top heap.pb.gz", "the functions that hold most" },
	{ "allo top --by site -M end dhat.out.1234", "the lines whose blocks were never freed" },
	{ "allo top --cum -F parse_config heap.pb.gz", "who allocates on behalf of one function" },
	{ "allo top --by label:request server.allo", "what each kind of request holds" },
	{ NULL, NULL },
};

/* Rows from samples as they come. */
struct counting {
	const struct top *opt;
	struct allo_filter filter;
	struct allo_top top;
	struct allo_figures figures;
	bool has_figures;
};

static void counting_done(struct counting *counting)
{
	allo_filter_done(&counting->filter);
	allo_top_done(&counting->top);
}

static bool count_portion(void *context, struct allo_profile *portion, struct allo_error *err)
{
	struct counting *counting = context;
	size_t metric;

	if (!counting->has_figures) {
		if (!allo_common_metric(&counting->opt->common, portion, &metric, err))
			return false;
		counting->figures = allo_figures_of(&counting->opt->common, portion, metric);
		counting->has_figures = true;
	}
	if (!allo_filter_is_empty(&counting->filter) &&
	    !allo_filter_apply(&counting->filter, portion, err))
		return false;
	if (counting->opt->label && !allo_stacks_from_label(portion, counting->opt->label, err))
		return false;
	return allo_top_add(&counting->top, portion, &counting->figures.columns, err);
}

static bool read_rows(struct counting *counting, char **files, struct allo_profile *profile,
		      struct allo_error *err)
{
	struct allo_drain drain = { count_portion, counting };
	/* Only one file at a time comes in portions: the tables of two are not the same. */
	const char *label = counting->opt->label;
	struct allo_read_options reading = { .drain = files[1] || label ? NULL : &drain,
					     .by_thread = label != NULL };

	/* The table sees past the allocator by itself, which is cheaper than rewriting all stacks.
	 */
	counting->top.trims_allocator = !counting->opt->common.keep_allocator && !label;
	if (!allo_common_filter(&counting->opt->common, false, &counting->filter, err) ||
	    !allo_common_read_all(&counting->opt->common, files, &reading, profile, err) ||
	    !count_portion(counting, profile, err))
		return false;
	counting->figures.profile = profile; /* portions are gone */
	return true;
}

/* What a row stands for, and what several do. */
static const char *row_name(const struct counting *counting, bool is_one)
{
	if (counting->opt->label)
		return is_one ? "value" : "values";
	return (is_one ? allo_by_names : allo_by_plurals)[counting->top.by];
}

/* Text. */

static void print_heading(struct allo_output *out, const struct counting *counting, size_t shown,
			  allo_sum shown_sum)
{
	const struct allo_top *top = &counting->top;
	char rows[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	allo_figures_heading(&counting->figures, &top->sum, out);
	/* Rows that are sorted by what passes through them share it: that adds up to nothing. */
	if (shown < top->rows.len && !counting->opt->by_total)
		allo_output_printf(
			out, "%zu of %s %s %s %s\n", shown, allo_format_count(top->rows.len, rows),
			row_name(counting, false), shown == 1 ? "holds" : "hold",
			allo_format_share((double)shown_sum, (double)top->sum.value, share));
}

static bool add_row(struct allo_table *table, const struct counting *counting,
		    const struct allo_profile *profile, const struct allo_top_row *row,
		    allo_sum running, struct allo_error *err)
{
	const struct allo_top *top = &counting->top;
	bool csv = counting->opt->common.csv;
	char text[ALLO_NUMBER_SIZE], scratch[ALLO_TOP_SCRATCH], address[4096];
	struct allo_text name = allo_top_name(top, profile, row, scratch);
	struct allo_text file = top->by == ALLO_BY_FILE ? (struct allo_text){ 0 }
							: allo_profile_text(profile, row->key.file);
	double self = (double)row->self.value, sum = (double)top->sum.value;

	if (top->by == ALLO_BY_ADDRESS && row->key.function && row->key.number != 0) {
		snprintf(address, sizeof(address), "0x%llx %.*s",
			 (unsigned long long)row->key.number, ALLO_TEXT_ARG(name));
		name = allo_text_of(address);
	}
	return allo_figures_cell(&counting->figures, table, row->self.value, err) &&
	       allo_figures_margin_cell(&counting->figures, table, &row->self, err) &&
	       allo_table_string(table, allo_show_share(self, sum, csv, text), err) &&
	       allo_table_string(table, allo_show_share((double)running, sum, csv, text), err) &&
	       allo_figures_cell(&counting->figures, table, row->total.value, err) &&
	       allo_figures_blocks_cell(&counting->figures, table, row->self.blocks, err) &&
	       allo_show_place(table, csv, name, file,
			       top->by == ALLO_BY_SITE ? row->key.number : 0, err);
}

static bool add_titles(struct allo_table *table, const struct counting *counting,
		       struct allo_error *err)
{
	return allo_table_string(table, "self", err) &&
	       allo_figures_margin_title(&counting->figures, table, err) &&
	       allo_table_string(table, "self%", err) && allo_table_string(table, "sum%", err) &&
	       allo_table_string(table, "total", err) &&
	       (!counting->figures.columns.has_blocks || allo_table_string(table, "blocks", err)) &&
	       allo_table_string(table,
				 counting->opt->label ? counting->opt->label
						      : row_name(counting, true),
				 err) &&
	       (!counting->opt->common.csv ||
		(allo_table_string(table, "file", err) && allo_table_string(table, "line", err)));
}

/* Stacks without any frame, such as --show and --hide leave. */
static void print_frameless(struct allo_output *out, const struct counting *counting)
{
	allo_sum frameless = counting->top.frameless.value;
	char sum[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	if (frameless != 0)
		allo_output_printf(out, "without %s: %s (%s)\n",
				   counting->opt->label ? "the label" : "any frame",
				   allo_figures_value(&counting->figures, frameless, sum),
				   allo_format_share((double)frameless,
						     (double)counting->top.sum.value, share));
}

static void print_rest(struct allo_output *out, const struct counting *counting, size_t shown,
		       allo_sum shown_sum)
{
	const struct allo_top *top = &counting->top;
	allo_sum rest_sum = top->sum.value - shown_sum - top->frameless.value;
	char rest[ALLO_NUMBER_SIZE], sum[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	if (shown == top->rows.len)
		return;
	if (counting->opt->by_total) {
		allo_output_printf(out, "%s more: -n 0 shows all\n",
				   allo_format_count(top->rows.len - shown, rest));
		return;
	}
	allo_output_printf(out, "%s more %s, %s (%s): -n 0 shows all\n",
			   allo_format_count(top->rows.len - shown, rest),
			   row_name(counting, top->rows.len - shown == 1),
			   allo_figures_value(&counting->figures, rest_sum, sum),
			   allo_format_share((double)rest_sum, (double)top->sum.value, share));
}

static bool print_text(struct allo_output *out, const struct counting *counting,
		       const struct allo_profile *profile, size_t shown, struct allo_error *err)
{
	const struct allo_common *common = &counting->opt->common;
	struct allo_style style = allo_common_style(common);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = {
		.columns = 5u + counting->figures.columns.has_blocks +
			   counting->figures.has_margins + (common->csv ? 2 : 0),
		.style_end = style.reset,
		.max_width = allo_common_width(common),
	};
	const struct allo_top *top = &counting->top;
	allo_sum running = 0;

	table.is_left[table.columns - 1] = true;
	table.style[table.columns - 1] = style.bold;
	if (!add_titles(&table, counting, err))
		return false;
	for (size_t i = 0; i < shown; i++) {
		running += top->rows.at[i].self.value;
		if (!add_row(&table, counting, profile, &top->rows.at[i], running, err))
			return false;
	}
	if (common->csv) {
		allo_table_print_csv(&table, out);
		return true;
	}
	print_heading(out, counting, shown, running);
	allo_table_print(&table, out);
	print_rest(out, counting, shown, running);
	print_frameless(out, counting);
	return true;
}

/* JSON. */

static void print_json_row(struct allo_json_out *json, const struct counting *counting,
			   const struct allo_profile *profile, const struct allo_top_row *row)
{
	const struct allo_top *top = &counting->top;
	char scratch[ALLO_TOP_SCRATCH];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_top_name(top, profile, row, scratch));
	if (row->key.file) {
		allo_json_out_key(json, "file");
		allo_json_out_text(json, allo_profile_text(profile, row->key.file));
	}
	if (row->key.module) {
		allo_json_out_key(json, "module");
		allo_json_out_text(json, allo_profile_text(profile, row->key.module));
	}
	if (row->key.number) {
		allo_json_out_key(json, row->key.function && top->by == ALLO_BY_SITE ? "line"
										     : "address");
		allo_json_out_u64(json, row->key.number);
	}
	allo_figures_json(&counting->figures, json, "self", &row->self);
	allo_figures_json(&counting->figures, json, "total", &row->total);
	allo_json_out_end(json);
}

static void print_json(struct allo_output *out, const struct counting *counting,
		       const struct allo_profile *profile, size_t shown)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	const struct allo_top *top = &counting->top;

	allo_show_json_begin_numbers(&json, counting->figures.is_estimated);
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, profile, counting->figures.columns.metric);
	allo_json_out_key(&json, "by");
	allo_json_out_string(&json, counting->opt->label ? "label" : allo_by_names[top->by]);
	if (counting->opt->label)
		allo_json_out_member_text(&json, "label", allo_text_of(counting->opt->label));
	allo_figures_json(&counting->figures, &json, "sum", &top->sum);
	allo_figures_json(&counting->figures, &json, "frameless", &top->frameless);
	allo_json_out_key(&json, "row_count");
	allo_json_out_u64(&json, top->rows.len);
	allo_json_out_key(&json, "rows");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < shown; i++)
		print_json_row(&json, counting, profile, &top->rows.at[i]);
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static void say_of_maxima(const struct counting *counting, const struct allo_profile *profile)
{
	const struct allo_metric *metric = &profile->metrics.at[counting->figures.columns.metric];

	if (!allo_metric_kinds[metric->meaning].is_additive)
		allo_say_note(
			"%.*s is each site's own maximum, at different times: sums of it were "
			"never held at once",
			ALLO_TEXT_ARG(allo_profile_text(profile, metric->name)));
}

static bool run_top(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const struct top *opt = options_given;
	ALLO_DEFER(counting_done)
	struct counting counting = { .opt = opt, .top = { .by = (enum allo_by)opt->by } };
	size_t shown;

	if (!allo_common_check(&opt->common, err) || !read_rows(&counting, files, &profile, err) ||
	    !allo_common_begin(&opt->common, &out, err))
		return false;
	allo_top_sort(&counting.top, &profile,
		      opt->by_total ? ALLO_TOP_BY_TOTAL : ALLO_TOP_BY_SELF);
	shown = counting.top.rows.len;
	if (opt->count > 0 && opt->count < shown)
		shown = opt->count;
	if (opt->common.json)
		print_json(&out, &counting, &profile, shown);
	else if (!print_text(&out, &counting, &profile, shown, err))
		return false;
	if (!allo_common_end(&opt->common, &out, &profile.notes, err))
		return false;
	allo_common_tell_filter(&opt->common, &counting.filter);
	if (!opt->common.quiet)
		say_of_maxima(&counting, &profile);
	return true;
}

const struct allo_command allo_cmd_top = {
	.name = "top",
	.heading = "Look",
	.summary = "show what holds most: functions, sites, files, modules",
	.arguments = "FILE...",
	.about = "Prints a table of functions (or sites, files, modules, addresses), those that "
		 "hold most first: what each holds itself, what passes through it, and how much "
		 "the rows so far cover. Frames of the allocator itself are taken off the inner "
		 "end of stacks first, so that the row is whoever called malloc; "
		 "--keep-allocator leaves them on.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct top),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_top,
};
