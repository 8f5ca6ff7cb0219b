/* cmd_top.c - allo top: the functions, sites, files or modules that hold the most memory. */
#include "analysis/sites/wrappers.h"
#include "analysis/top.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show/other_metric.h"
#include "report/figures.h"
#include "report/messages.h"
#include "report/row_names.h"

#include <stdio.h>

struct top {
	struct allo_common common;
	uint64_t count;
	bool by_total;
	int by;
	const char *label; /* the key, with --by label:KEY */
};

static const struct top defaults = { .count = 20 };

/* As in enum allo_by, and one more. */
enum { BY_LEAF = ALLO_BY_ADDRESS + 1 };
static const char *const groups_by[] = { "function", "site", "file", "module",
					 "address",  "leaf", NULL };

#define AT(field) offsetof(struct top, field)
static const struct allo_option options[] = {
	OPT_ROWS(count),
	OPT_CHOICE_OR_TEXT(
		'g', "by", "GROUP", by, groups_by, "label:", label,
		"group by function, site (a line of a function), file, module, address, leaf "
		"(the caller of malloc, even if it is a wrapper), or label:KEY for the values "
		"of a label (default: function)"),
	OPT_FLAG(0, "cum", by_total, "sort by the total, callees included"),
	OPT_END,
};

static const struct allo_option_group group = { "Rows", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_metric_group,
	&allo_view_group,
	&allo_site_group,
	&allo_filter_group,
	&allo_number_group,
	&allo_estimate_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_trace_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo top heap.pb.gz", "the functions that hold the most memory" },
	{ "allo top --by site -M end dhat.out.1234", "the lines whose blocks were never freed" },
	{ "allo top --cum -F parse_config heap.pb.gz", "the functions that allocate for another" },
	{ "allo top --by label:request server.allo", "the memory of each kind of request" },
	{ NULL, NULL },
};

struct result {
	const struct top *opt;
	struct allo_filter filter;
	struct allo_attribution attribution;
	struct allo_top top;
	struct allo_figures figures;
	bool has_figures;
	size_t portion; /* samples of the next one */
};

static void result_done(struct result *result)
{
	allo_attribution_done(&result->attribution);
	allo_filter_done(&result->filter);
	allo_top_done(&result->top);
}

/* Adds samples; a large file comes in portions. */
static bool add_portion(void *context, struct allo_profile *portion, struct allo_error *err)
{
	struct result *result = context;
	size_t metric;

	if (!result->has_figures) {
		if (!allo_common_metric(&result->opt->common, portion, &metric, err))
			return false;
		result->figures = allo_figures_of(portion, metric, result->opt->common.verbose);
		result->has_figures = true;
	}
	/* Before the filter: a function is a wrapper in all views or in none. */
	if (result->top.attribution && !allo_attribution_learn(&result->attribution, portion, err))
		return false;
	result->portion = ALLO_PORTION_SAMPLES;
	if (!allo_filter_is_empty(&result->filter) &&
	    !allo_filter_apply(&result->filter, portion, err))
		return false;
	if (result->opt->label && !allo_stacks_from_label(portion, result->opt->label, err))
		return false;
	return allo_top_add(&result->top, portion, &result->figures.columns, err);
}

static bool read_rows(struct result *result, char **files, struct allo_profile *profile,
		      struct allo_error *err)
{
	struct allo_drain drain = { add_portion, result, &result->portion };
	const char *label = result->opt->label;
	/* Portions of two files cannot be mixed: their tables differ. */
	struct allo_profile_request reading = { .drain = files[1] || label ? NULL : &drain,
						.by_thread = label != NULL };

	result->portion = ALLO_WRAPPERS_SAMPLES;
	if (!result->opt->common.keep_allocator && !label)
		result->top.attribution = &result->attribution;
	if (!allo_common_attribution(&result->opt->common, &result->attribution, err))
		return false;
	if (result->opt->by == BY_LEAF)
		result->attribution.wrappers = ALLO_WRAPPERS_NONE;
	if (!allo_common_filter(&result->opt->common, false, &result->filter, err) ||
	    !allo_common_read_all(&result->opt->common, files, &reading, profile, err) ||
	    !add_portion(result, profile, err))
		return false;
	result->figures.profile = profile; /* portions are gone */
	return true;
}

enum {
	SELF,
	SELF_MARGIN,
	SELF_SHARE,
	RUNNING_SHARE,
	TOTAL,
	SELF_BLOCKS,
	NAME,
	FILE_NAME,
	LINE,
	MODULE,
	ADDRESS,
	TOTAL_MARGIN,
	TOTAL_BLOCKS,
	COLUMNS
};

static const struct allo_column columns[COLUMNS] = {
	[SELF] = { "self", "self", "self" },
	[SELF_MARGIN] = { "+/-", "margin", "self_margin" },
	[SELF_SHARE] = { "self%", "self%", NULL, ALLO_CELL_SHARE },
	[RUNNING_SHARE] = { "sum%", "sum%", NULL, ALLO_CELL_SHARE },
	[TOTAL] = { "total", "total", "total" },
	[SELF_BLOCKS] = { "blocks", "blocks", "self_blocks" },
	[NAME] = { "function", "function", "name", ALLO_CELL_TEXT, .is_bold = true },
	[FILE_NAME] = { NULL, "file", "file", ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", "line", ALLO_CELL_ID },
	[MODULE] = { NULL, NULL, "module", ALLO_CELL_TEXT },
	[ADDRESS] = { NULL, NULL, "address", ALLO_CELL_ID },
	[TOTAL_MARGIN] = { NULL, NULL, "total_margin" },
	[TOTAL_BLOCKS] = { NULL, NULL, "total_blocks" },
};

static const struct allo_report_table table = { "rows", columns, COLUMNS, .needs_rows = true };

/* The word for one row, or for several. */
static const char *row_noun(const struct result *result, size_t count)
{
	if (result->opt->label)
		return count == 1 ? "value" : "values";
	return (count == 1 ? allo_by_names : allo_by_plurals)[result->top.by];
}

static void describe_place(struct allo_report *report, const struct result *result,
			   const struct allo_profile *profile, const struct allo_top_row *row)
{
	const struct allo_top *top = &result->top;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name = allo_report_row_name(report, top, profile, row, scratch);
	struct allo_text file = allo_profile_text(profile, row->key.file);
	bool has_line = top->by == ALLO_BY_SITE && row->key.function;

	/* The name of the row is the file. */
	if (top->by == ALLO_BY_FILE && !allo_report_is(report, ALLO_REPORT_JSON))
		file.len = 0;
	if (top->by == ALLO_BY_ADDRESS && row->key.function && row->key.number != 0 &&
	    !allo_report_is(report, ALLO_REPORT_JSON))
		name = allo_text_of(allo_report_string(report, "0x%llx %.*s",
						       (unsigned long long)row->key.number,
						       (int)name.len, name.data));
	allo_cell_place(report, NAME, name, file, has_line ? row->key.number : 0);
	if (!result->opt->label)
		allo_report_style_row(report, NAME, profile, row);
	allo_report_field_row_short(report, top, profile, row);
	if (row->key.module)
		allo_cell_text(report, MODULE, allo_profile_text(profile, row->key.module));
	if (row->key.number && !has_line)
		allo_cell_u64(report, ADDRESS, row->key.number);
}

static void describe_row(struct allo_report *report, const struct result *result,
			 const struct allo_profile *profile, const struct allo_top_row *row,
			 allo_sum running)
{
	const struct allo_figures *figures = &result->figures;
	double sum = (double)result->top.sum.value;

	allo_report_row(report);
	describe_place(report, result, profile, row);
	allo_cell_value(report, SELF, figures, row->self.value);
	allo_cell_margin(report, SELF_MARGIN, figures, &row->self);
	allo_cell_blocks(report, SELF_BLOCKS, figures, row->self.blocks);
	allo_cell_share(report, SELF_SHARE, (double)row->self.value, sum);
	allo_cell_share(report, RUNNING_SHARE, (double)running, sum);
	allo_cell_value(report, TOTAL, figures, row->total.value);
	allo_cell_margin(report, TOTAL_MARGIN, figures, &row->total);
	allo_cell_blocks(report, TOTAL_BLOCKS, figures, row->total.blocks);
}

static void describe_table(struct allo_report *report, const struct result *result,
			   const struct allo_profile *profile, size_t shown)
{
	allo_sum running = 0;

	allo_report_table(report, &table);
	if (!result->figures.has_margins) {
		allo_report_hide(report, SELF_MARGIN);
		allo_report_hide(report, TOTAL_MARGIN);
	}
	if (!result->figures.columns.has_blocks) {
		allo_report_hide(report, SELF_BLOCKS);
		allo_report_hide(report, TOTAL_BLOCKS);
	}
	allo_report_retitle(report, NAME,
			    result->opt->label ? result->opt->label : row_noun(result, 1));
	for (size_t i = 0; i < shown; i++)
		allo_report_add_row_name(report, &result->top, profile, &result->top.rows.at[i]);
	for (size_t i = 0; i < shown; i++) {
		running += result->top.rows.at[i].self.value;
		describe_row(report, result, profile, &result->top.rows.at[i], running);
	}
	allo_report_end_table(report);
}

static void describe_fields(struct allo_report *report, const struct result *result,
			    const struct allo_profile *profile)
{
	const struct allo_top *top = &result->top;
	const char *label = result->opt->label;

	allo_report_field_metric(report, profile, result->figures.columns.metric);
	allo_report_field_string(report, "by", label ? "label" : groups_by[result->opt->by]);
	if (label)
		allo_report_field_text(report, "label", allo_text_of(label));
	allo_report_field_values(report, &result->figures, "sum", &top->sum);
	allo_report_field_values(report, &result->figures, "frameless", &top->frameless);
	allo_report_field_u64(report, "row_count", top->rows.len);
}

/* Rows that the table does not show, and stacks without a frame, such as --hide leaves. */
static void describe_rest(struct allo_report *report, const struct result *result, size_t shown,
			  allo_sum shown_sum)
{
	const struct allo_top *top = &result->top;
	allo_sum frameless = top->frameless.value, rest = top->sum.value - shown_sum - frameless;
	size_t more = top->rows.len - shown;

	/* Totals of several rows overlap, so they do not add up. */
	if (more > 0 && result->opt->by_total)
		allo_report_note(report, "%s more: -n 0 shows all",
				 allo_report_count(report, more));
	else if (more > 0)
		allo_report_note(report, "%s more %s, %s (%s): -n 0 shows all",
				 allo_report_count(report, more), row_noun(result, more),
				 allo_report_value(report, &result->figures, rest),
				 allo_report_share(report, (double)rest, (double)top->sum.value));
	if (frameless != 0)
		allo_report_note(
			report, "without %s: %s (%s)",
			result->opt->label ? "the label" : "any frame",
			allo_report_value(report, &result->figures, frameless),
			allo_report_share(report, (double)frameless, (double)top->sum.value));
}

static void describe(struct allo_report *report, const struct result *result,
		     const struct allo_profile *profile, size_t shown)
{
	const struct allo_top *top = &result->top;
	allo_sum shown_sum = 0;

	for (size_t i = 0; i < shown; i++)
		shown_sum += top->rows.at[i].self.value;
	allo_report_metric_heading(report, &result->figures, &top->sum);
	if (shown < top->rows.len && !result->opt->by_total)
		allo_report_line(
			report, "%zu of %s %s %s %s", shown,
			allo_report_count(report, top->rows.len), row_noun(result, top->rows.len),
			shown == 1 ? "holds" : "hold",
			allo_report_share(report, (double)shown_sum, (double)top->sum.value));
	describe_fields(report, result, profile);
	describe_table(report, result, profile, shown);
	describe_rest(report, result, shown, shown_sum);
	if (top->attribution)
		allo_common_tell_passed(report, top->attribution, profile);
}

static void note_maxima(const struct result *result, const struct allo_profile *profile)
{
	const struct allo_metric *metric = &profile->metrics.at[result->figures.columns.metric];

	if (!allo_metric_kinds[metric->meaning].is_additive)
		allo_say_note("%.*s is the maximum of each site, at different times: the program "
			      "never held the sum at once",
			      ALLO_TEXT_WHOLE(allo_profile_text(profile, metric->name)));
}

/* People see no functions that only call others, unless they ask for all or for totals. */
static size_t shown_rows(const struct result *result, bool is_prose)
{
	const struct allo_top *top = &result->top;
	size_t count = top->rows.len, most = result->opt->count;

	while (is_prose && most > 0 && !result->opt->by_total && count > 0 &&
	       top->rows.at[count - 1].self.value == 0)
		count--;
	return most > 0 && most < count ? most : count;
}

static bool run_top(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct top *opt = options_given;
	ALLO_DEFER(result_done)
	struct result result = { .opt = opt };
	size_t shown;

	if (opt->by != BY_LEAF)
		result.top.by = (enum allo_by)opt->by;
	if (!allo_common_check(&opt->common, err) || !read_rows(&result, files, &profile, err) ||
	    !allo_common_report(&opt->common, &report, result.figures.is_estimated, err))
		return false;
	/* Values of labels are not names of functions. */
	report.options.has_full_names |= opt->label != NULL;
	allo_top_sort(&result.top, &profile, opt->by_total ? ALLO_TOP_BY_TOTAL : ALLO_TOP_BY_SELF);
	shown = shown_rows(&result, allo_report_is_prose(&report));
	describe(&report, &result, &profile, shown);
	if (!allo_common_finish(&opt->common, &report, &profile.notes, err))
		return false;
	allo_common_tell_filter(&opt->common, &result.filter);
	if (opt->common.quiet)
		return true;
	note_maxima(&result, &profile);
	if (result.top.sum.value == 0)
		allo_tell_other_metric(&profile, result.figures.columns.metric);
	return true;
}

const struct allo_command allo_cmd_top = {
	.name = "top",
	.heading = "Look",
	.summary = "show the functions, sites, files or modules that hold the most",
	.arguments = "[FILE...]",
	.about = "Prints a table of functions (or sites, files, modules, addresses), the largest "
		 "first. Each row shows the memory it holds itself, the total with its callees, "
		 "and the share of all rows so far. A row is the code that is responsible for "
		 "the memory: allocators, their wrappers, containers and language runtimes count "
		 "as part of their callers, and a line below the table names them. --by leaf "
		 "shows the callers of malloc, --keep-allocator malloc itself.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct top),
	.defaults = &defaults,
	.finds_newest = true,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_top,
};
