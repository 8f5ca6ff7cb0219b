/* cmd_diff.c - allo diff: a comparison of two profiles. */
#include "analysis/diff.h"
#include "analysis/top.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/convert_job.h"
#include "engine/view_text.h"
#include "report/call_tree.h"
#include "report/figures.h"
#include "report/messages.h"
#include "report/row_names.h"
#include "report/show.h"
#include "writers/writers.h"

#include <math.h>
#include <stdio.h>

enum view { VIEW_TOP, VIEW_TREE };

/* The change of a row. */
enum state { STATE_NEW, STATE_GONE, STATE_GROWN, STATE_SHRUNK, STATE_SAME };

static const char *const changes[] = { "new", "gone", "grown", "shrunk", NULL };

/* The rows of the table to show. */
struct rows {
	uint64_t count; /* 0: all */
	unsigned only;  /* bits by state; 0: all */
	bool is_normalized;
};

struct diff {
	struct allo_common common;
	struct rows rows;
	struct allo_call_tree tree;
	int view;
	int by, match; /* -1 where none is named */
	const char *output, *to, *between;
	bool force, exit_code;
};

#define NO_COUNT UINT64_MAX /* -n is not given */

static const struct diff defaults = {
	.rows = { .count = NO_COUNT }, .tree = { .min_share = 1 }, .by = -1, .match = -1
};

static const char *const views[] = { "top", "tree", NULL };
static const char *const matches[] = { "function", "line", "address", NULL };
static const char *const grains[] = { "function", "site", "file", "module", NULL };

#define AT(field) offsetof(struct diff, field)
static const struct allo_option options[] = {
	OPT_CHOICE(0, "as", "VIEW", view, views,
		   "top (a table, the largest changes first) or tree"),
	OPT_CHOICE('g', "by", "GROUP", by, grains,
		   "group rows by function, site, file or module (default: function)"),
	OPT_CHOICE(0, "match", "KEY", match, matches,
		   "match frames by function (and file), line or address (default: function; "
		   "line with --by site). Lines move when code is edited"),
	OPT_TEXT(0, "between", "INSTANTS", between,
		 "compare the live memory of two instants of one recording: 2s..end, 1m..peak"),
	OPT_ROWS(rows.count),
	OPT_SET(0, "only", "CHANGES", rows.only, changes,
		"show new, gone, grown or shrunk rows only; several separated by commas: new,grown"),
	OPT_FLAG(0, "normalize", rows.is_normalized,
		 "scale the base so that both totals are equal, to compare shares of runs of "
		 "different length"),
	OPT_PERCENT(0, "min", "PERCENT", tree.min_share,
		    "leave out branches of the tree with less than this share (default: 1)"),
	OPT_FLAG(0, "exit-code", exit_code, "exit with status 3 if anything differs"),
	OPT_FILE('o', "output", "FILE", output,
		 "write the comparison as a profile instead of printing it: as pprof the "
		 "difference, as folded both counts, as svg a flame graph in two colours"),
	OPT_NAME(0, "to", "FORMAT", to, WRITERS,
		 "output format (default: by the name of the output)"),
	OPT_FORCE(force),
	OPT_END,
};

static const struct allo_option_group group = { "Comparison", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_metric_group,
	&allo_view_group,
	&allo_site_group,
	&allo_filter_group,
	&allo_number_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo diff before.pb.gz after.pb.gz",
	  "the functions that hold more or less than before" },
	{ "allo diff --only new,grown -n 0 before.pb.gz after.pb.gz",
	  "everything that holds more now" },
	{ "allo diff --as tree -M alloc_bytes a.json b.json", "the changes in the tree of calls" },
	{ "allo diff --between 2s..end app.allo",
	  "the memory allocated and kept after two seconds" },
	{ "allo diff old.pb.gz new.pb.gz -o diff.svg",
	  "a flame graph: red has grown, blue has shrunk" },
	{ NULL, NULL },
};

static enum allo_match match_of(const struct diff *opt)
{
	if (opt->match >= 0)
		return (enum allo_match)opt->match;
	return opt->by == ALLO_BY_SITE ? ALLO_MATCH_LINE : ALLO_MATCH_FUNCTION;
}

/* The table. */

struct comparison {
	const struct rows *show;
	const struct allo_top *top;
	struct allo_figures figures;
};

static const char *format_change(struct allo_report *report, const struct comparison *comparison,
				 allo_sum sum)
{
	const struct allo_figures *figures = &comparison->figures;
	char text[ALLO_NUMBER_SIZE];

	return allo_report_string(report, "%s",
				  allo_format_change(allo_sum_estimate(sum, figures->is_estimated),
						     figures->unit, report->options.is_plain,
						     text));
}

static const char *state_name(enum state state)
{
	return state == STATE_SAME ? "unchanged" : changes[state];
}

static enum state state_of(const struct allo_top_row *row)
{
	if (row->self.value == row->self.before)
		return STATE_SAME;
	if (row->total.before == 0)
		return STATE_NEW;
	if (row->total.value == 0)
		return STATE_GONE;
	return row->self.value > row->self.before ? STATE_GROWN : STATE_SHRUNK;
}

static bool is_wanted(const struct rows *show, const struct allo_top_row *row)
{
	enum state state = state_of(row);

	return state != STATE_SAME && (show->only == 0 || (show->only >> state & 1));
}

/* "+6.3%", or "" where there was nothing. */
static const char *format_percent(struct allo_report *report, const struct allo_values *values)
{
	double change = (double)(values->value - values->before);
	char share[ALLO_NUMBER_SIZE];

	if (values->before == 0)
		return "";
	return allo_report_string(report, "%s%s", change > 0 ? "+" : "",
				  allo_show_share(change, fabs((double)values->before),
						  allo_report_is(report, ALLO_REPORT_CSV), share));
}

enum { CHANGE, PERCENT, BASE, NEW, STATE, NAME, FILE_NAME, LINE, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[CHANGE] = { "change", "change", "change" },
	[PERCENT] = { "change%", "change%", NULL, ALLO_CELL_SHARE },
	[BASE] = { "base", "base", "base" },
	[NEW] = { "new", "new", "new" },
	[STATE] = { "", "state", "state", ALLO_CELL_TEXT },
	[NAME] = { "function", "function", NULL, ALLO_CELL_TEXT, .is_bold = true },
	[FILE_NAME] = { NULL, "file", NULL, ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", NULL, ALLO_CELL_ID },
};

static const struct allo_report_table table = { "rows", columns, COLUMNS, .needs_rows = true };

static void describe_place(struct allo_report *report, const struct comparison *comparison,
			   const struct allo_top_row *row)
{
	const struct allo_profile *profile = comparison->figures.profile;
	const struct allo_top *top = comparison->top;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name = allo_report_row_name(report, top, profile, row, scratch);
	struct allo_text file = allo_profile_text(profile, row->key.file);
	uint64_t line = top->by == ALLO_BY_SITE ? row->key.number : 0;

	allo_report_field_name(report, "name", name);
	allo_report_field_row_short(report, top, profile, row);
	allo_report_field_name(report, "file", file);
	if (top->by == ALLO_BY_SITE)
		allo_report_field_u64(report, "line", line);
	/* The name of the row is the file. */
	if (top->by == ALLO_BY_FILE)
		file.len = 0;
	allo_cell_place(report, NAME, name, file, line);
	allo_report_style_row(report, NAME, profile, row);
}

/* Growth is red, shrinkage is green. */
static void style_change(struct allo_report *report, allo_sum change)
{
	static const int styled[] = { CHANGE, PERCENT, STATE };
	enum allo_text_style style = change > 0   ? ALLO_STYLE_RED
				     : change < 0 ? ALLO_STYLE_GREEN
						  : ALLO_STYLE_PLAIN;

	for (size_t i = 0; i < sizeof(styled) / sizeof(*styled); i++)
		allo_cell_style(report, (size_t)styled[i], style);
}

static void describe_row(struct allo_report *report, const struct comparison *comparison,
			 const struct allo_top_row *row)
{
	static const char *const marks[] = { "NEW", "GONE", "", "", "" };
	const struct allo_figures *figures = &comparison->figures;
	enum state state = state_of(row);

	allo_report_row(report);
	describe_place(report, comparison, row);
	allo_cell_string(report, STATE,
			 allo_report_is_prose(report) ? marks[state] : state_name(state));
	allo_cell_value(report, BASE, figures, row->self.before);
	allo_cell_value(report, NEW, figures, row->self.value);
	allo_cell_change(
		report, CHANGE,
		allo_sum_estimate(row->self.value - row->self.before, figures->is_estimated),
		figures->unit);
	allo_cell_string(report, PERCENT, format_percent(report, &row->self));
	style_change(report, row->self.value - row->self.before);
}

static void describe_heading(struct allo_report *report, const struct comparison *comparison)
{
	const struct allo_figures *figures = &comparison->figures;
	const struct allo_metric *metric = &figures->profile->metrics.at[figures->columns.metric];
	const struct allo_values *sum = &comparison->top->sum;
	allo_sum difference = sum->value - sum->before;

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_PLAIN,
			     allo_profile_text(figures->profile, metric->name));
	allo_report_put(report, ALLO_STYLE_PLAIN, ": base %s%s, new %s, ",
			allo_report_value(report, figures, sum->before),
			comparison->show->is_normalized ? " (scaled to the new total)" : "",
			allo_report_value(report, figures, sum->value));
	allo_report_put(report,
			difference > 0   ? ALLO_STYLE_RED
			: difference < 0 ? ALLO_STYLE_GREEN
					 : ALLO_STYLE_PLAIN,
			"%s",
			difference == 0 ? "no change in total"
					: format_change(report, comparison, difference));
	if (difference != 0 && sum->before != 0)
		allo_report_put(report, ALLO_STYLE_PLAIN, " (%s)", format_percent(report, sum));
	allo_report_end_line(report);
}

/* The number of rows in each state. */
struct tally {
	size_t of[STATE_SAME + 1];
	size_t changed, wanted;
};

static struct tally tally_of(const struct rows *show, const struct allo_top *top)
{
	struct tally tally = { 0 };

	for (size_t i = 0; i < top->rows.len; i++) {
		enum state state = state_of(&top->rows.at[i]);

		tally.of[state]++;
		tally.changed += state != STATE_SAME;
		tally.wanted += is_wanted(show, &top->rows.at[i]);
	}
	return tally;
}

/* "no function is new or gone" */
static void note_none(struct allo_report *report, const struct comparison *comparison)
{
	const char *states = "";

	for (int state = 0; state < STATE_SAME; state++) {
		if (comparison->show->only >> state & 1)
			states = allo_report_string(report, "%s%s %s", states,
						    states[0] ? " or" : "", state_name(state));
	}
	allo_report_note(report, "no %s is%s", allo_by_names[comparison->top->by], states);
}

/* "3 new, 1 gone, 12 grown, 4 shrunk, 80 unchanged" */
static void describe_tally(struct allo_report *report, const struct comparison *comparison,
			   const struct tally *tally, size_t shown)
{
	const struct allo_top *top = comparison->top;
	const char *states = "";

	if (shown < tally->wanted)
		allo_report_note(report, "%s more: -n 0 shows all",
				 allo_report_count(report, tally->wanted - shown));
	if (tally->changed == 0) {
		allo_report_note(report, "nothing has changed: %s %s, all the same",
				 allo_report_count(report, top->rows.len),
				 (top->rows.len == 1 ? allo_by_names : allo_by_plurals)[top->by]);
		return;
	}
	if (tally->wanted == 0)
		note_none(report, comparison);
	for (int state = 0; state < STATE_SAME; state++) {
		if (tally->of[state] > 0)
			states = allo_report_string(report, "%s%s %s, ", states,
						    allo_report_count(report, tally->of[state]),
						    state_name(state));
	}
	allo_report_note(report, "%s%s unchanged", states,
			 allo_report_count(report, tally->of[STATE_SAME]));
}

static void describe_fields(struct allo_report *report, const struct comparison *comparison,
			    const struct tally *tally)
{
	const struct allo_figures *figures = &comparison->figures;
	const struct allo_values *sum = &comparison->top->sum;
	char name[24];

	allo_report_field_metric(report, figures->profile, figures->columns.metric);
	allo_report_field_string(report, "by", allo_by_names[comparison->top->by]);
	allo_report_field_bool(report, "normalized", comparison->show->is_normalized);
	allo_report_field_sum(report, "base", sum->before);
	allo_report_field_sum(report, "new", sum->value);
	allo_report_field_sum(report, "change", sum->value - sum->before);
	for (int state = 0; state <= STATE_SAME; state++) {
		snprintf(name, sizeof(name), "%s_count", state_name(state));
		allo_report_field_u64(report, name, tally->of[state]);
	}
}

static void add_names(struct allo_report *report, const struct comparison *comparison)
{
	const struct allo_top *top = comparison->top;
	size_t most = comparison->show->count, added = 0;

	for (size_t i = 0; i < top->rows.len && (most == 0 || added < most); i++) {
		if (!is_wanted(comparison->show, &top->rows.at[i]))
			continue;
		allo_report_add_row_name(report, top, comparison->figures.profile,
					 &top->rows.at[i]);
		added++;
	}
}

static void describe_rows(struct allo_report *report, const struct rows *show,
			  const struct allo_top *top, const struct allo_figures *figures)
{
	struct comparison comparison = { show, top, *figures };
	struct tally tally = tally_of(show, top);
	size_t shown = 0;

	describe_heading(report, &comparison);
	describe_fields(report, &comparison, &tally);
	allo_report_table(report, &table);
	allo_report_retitle(report, NAME, allo_by_names[top->by]);
	add_names(report, &comparison);
	for (size_t i = 0; i < top->rows.len && (show->count == 0 || shown < show->count); i++) {
		if (!is_wanted(show, &top->rows.at[i]))
			continue;
		describe_row(report, &comparison, &top->rows.at[i]);
		shown++;
	}
	allo_report_end_table(report);
	describe_tally(report, &comparison, &tally, shown);
}

static bool print_top(const struct diff *opt, const struct allo_profile *profile, size_t metric,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	ALLO_DEFER(allo_top_done)
	struct allo_top top = { .by = opt->by >= 0 ? (enum allo_by)opt->by : ALLO_BY_FUNCTION };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_figures figures = allo_figures_of(profile, metric, opt->common.verbose);
	struct rows rows = opt->rows;

	if (rows.count == NO_COUNT)
		rows.count = 20;
	if (!opt->common.keep_allocator)
		top.attribution = &attribution;
	if (!allo_common_attribution(&opt->common, &attribution, err) ||
	    !allo_top_add(&top, profile, &figures.columns, err) ||
	    !allo_common_report(&opt->common, &report, figures.is_estimated, err))
		return false;
	allo_top_sort(&top, profile, ALLO_TOP_BY_CHANGE);
	describe_rows(&report, &rows, &top, &figures);
	if (top.attribution)
		allo_common_tell_passed(&report, top.attribution, profile);
	return allo_common_finish(&opt->common, &report, &profile->notes, err);
}

static bool print_tree(const struct diff *opt, const struct allo_profile *profile, size_t metric,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_tree_options tree_options = { .grain = (enum allo_tree_grain)match_of(opt) };
	struct allo_figures figures = allo_figures_of(profile, metric, opt->common.verbose);

	if (!allo_tree_from_profile(&tree, profile, &figures.columns, &tree_options, err) ||
	    !allo_common_report(&opt->common, &report, figures.is_estimated, err))
		return false;
	allo_report_tree(&report, &opt->tree, &tree, &figures);
	return allo_common_finish(&opt->common, &report, &profile->notes, err);
}

/* A profile. */

static bool write_profile(const struct diff *opt, char **files, struct allo_profile *profile,
			  size_t metric, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const char *path = opt->output ? opt->output : "-";
	const struct allo_writer *writer = opt->to ? allo_writer_find(opt->to, err)
						   : allo_writer_find_by_path(path);
	struct allo_output_options output = { .replace = opt->force, .sources = files };
	struct allo_notes notes = { 0 };
	char size[ALLO_NUMBER_SIZE];

	if (!writer) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s does not tell which format to write",
			  path);
		return allo_hint(err, "add --to FORMAT; 'allo formats' lists them");
	}
	/* Formats with room for one number take that of the metric that is asked for. */
	profile->meta.default_metric = metric + 1;
	output.packing = allo_writer_packing(writer, path);
	if (!allo_output_open(&out, path, &output, err) ||
	    !allo_write(writer, profile, NULL, &out, &notes, err) || !allo_output_finish(&out, err))
		return false;
	if (opt->common.quiet)
		return true;
	if (opt->output)
		allo_say("wrote %s (%s)", opt->output,
			 allo_format_bytes(allo_output_size(&out), size));
	allo_say_notes(&notes);
	allo_note_lost(writer, allo_profile_holds(profile) & ~writer->holds);
	return true;
}

/* Whether any stack differs in the metric. */
static bool differs(const struct allo_profile *profile, size_t metric)
{
	struct allo_metric_columns compared = allo_metric_columns_of(profile, metric);

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, &compared, i);

		if (values.value != values.before)
			return true;
	}
	return false;
}

/* `view` may be NULL for what the command line says. */
static bool read_side(const struct diff *opt, const char *file, const struct allo_view *view,
		      struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	struct allo_common common = opt->common;

	common.view = view;
	if (!allo_common_filter(&opt->common, true, &filter, err) ||
	    !allo_common_read(&common, file, NULL, profile, err) ||
	    !allo_filter_apply(&filter, profile, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	return true;
}

/* An option that is given and that only the table has a use for; NULL: none. */
static const char *table_option(const struct diff *opt)
{
	return opt->rows.only                ? "--only"
	       : opt->common.csv             ? "--csv"
	       : opt->rows.count != NO_COUNT ? "--count"
	       : opt->by >= 0                ? "--by"
					     : NULL;
}

/* The two sides: two files, or two moments of one. */
static bool read_sides(const struct diff *opt, char **files, struct allo_profile *base,
		       struct allo_profile *changed, struct allo_error *err)
{
	struct allo_view first, second;

	if (!opt->between)
		return read_side(opt, files[0], NULL, base, err) &&
		       read_side(opt, files[1], NULL, changed, err);
	if (!allo_common_view(&opt->common, &first, err))
		return false;
	second = first;
	return allo_view_parse_instants(&first, &second, allo_text_of(opt->between), err) &&
	       read_side(opt, files[0], &first, base, err) &&
	       read_side(opt, files[0], &second, changed, err);
}

/* Options that make no sense together. */
static bool check_options(const struct diff *opt, char **files, struct allo_error *err)
{
	bool is_table = opt->view == VIEW_TOP && !opt->output && !opt->to;

	if (opt->between && (files[1] || opt->common.range || opt->common.at))
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--between compares moments of one recording, without --range "
				 "and --at");
	if (!opt->between && !files[1]) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
			  "one file is not enough to compare: name the base and the new one");
		return allo_hint(err, "--between 2s..end compares two moments of one recording");
	}
	if (table_option(opt) && !is_table) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s is for the table", table_option(opt));
		return allo_hint(err, "leave out --as, -o and --to; --match line, not --by site, "
				      "tells lines apart in all formats");
	}
	return allo_common_check(&opt->common, err);
}

static bool run_diff(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile base = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile changed = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct diff *opt = options_given;
	size_t metric;

	if (!check_options(opt, files, err) || !read_sides(opt, files, &base, &changed, err) ||
	    !allo_diff_profiles(&base, &changed, match_of(opt), &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err))
		return false;
	metric += profile.metrics.at[metric].is_before; /* both are shown */
	if (opt->rows.is_normalized)
		allo_diff_normalize(&profile);
	if (!(opt->output || opt->to   ? write_profile(opt, files, &profile, metric, err)
	      : opt->view == VIEW_TREE ? print_tree(opt, &profile, metric, err)
				       : print_top(opt, &profile, metric, err)))
		return false;
	if (opt->exit_code && differs(&profile, metric))
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the profiles differ");
	return true;
}

const struct allo_command allo_cmd_diff = {
	.name = "diff",
	.heading = "Compare",
	.summary = "compare two profiles",
	.arguments = "BASE [NEW]",
	.about = "Compares two profiles of any formats in the metrics that both have. Functions "
		 "are matched by name and file, so edited lines alone make no difference. A row "
		 "has grown or shrunk by the memory it holds itself, without its callees. A row "
		 "is NEW if nothing passed through it in the base, and GONE if nothing does "
		 "now.\n\n"
		 "With --between, one recording is enough: its live memory at one instant is the "
		 "base, that at the other is the new profile.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct diff),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 2,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_diff,
};
