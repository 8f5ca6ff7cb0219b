/* cmd_diff.c - allo diff: what has changed between two profiles. */
#include "analysis/diff.h"
#include "analysis/top.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/messages.h"
#include "cli/show.h"
#include "cli/show_tree.h"
#include "cli/table.h"
#include "writers/writers.h"

#include <stdio.h>
#include <unistd.h>

enum view { VIEW_TOP, VIEW_TREE };

struct diff {
	struct allo_common common;
	struct allo_show_tree show;
	uint64_t count;
	int view, match, by;
	const char *output, *to;
	bool force, exit_code;
};

static const struct diff defaults = { .count = 20, .show = { .min_share = 1 } };

static const char *const views[] = { "top", "tree", NULL };
static const char *const matches[] = { "function", "line", "address", NULL };
static const char *const grains[] = { "function", "site", "file", "module", NULL };

static const struct allo_option options[] = {
	{ .name = "as",
	  .argument = "VIEW",
	  .help = "top (a table, the largest changes first) or tree",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct diff, view),
	  .choices = views },
	{ .letter = 'g',
	  .name = "by",
	  .argument = "WHAT",
	  .help = "what a row of the table stands for: function, site, file or module",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct diff, by),
	  .choices = grains },
	{ .name = "match",
	  .argument = "WHAT",
	  .help = "what makes frames of the two equal: function (and file), line or address. Lines "
		  "move when code is edited, so they do not count unless asked for",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct diff, match),
	  .choices = matches },
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many rows to show, 20 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct diff, count) },
	{ .name = "min",
	  .argument = "PERCENT",
	  .help = "leave branches of the tree with less than this out, 1 without it",
	  .kind = ALLO_OPTION_PERCENT,
	  .offset = offsetof(struct diff, show.min_share) },
	{ .name = "exit-code",
	  .help = "exit with 3 if anything differs",
	  .offset = offsetof(struct diff, exit_code) },
	{ .letter = 'o',
	  .name = "output",
	  .argument = "FILE",
	  .help = "write the comparison as a profile instead of printing it: as pprof the difference, "
		  "as folded both counts, as svg a flame graph in two colours",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_FILES,
	  .offset = offsetof(struct diff, output) },
	{ .name = "to",
	  .argument = "FORMAT",
	  .help = "the form to write; without it, the output's name decides",
	  .kind = ALLO_OPTION_TEXT,
	  .completes = ALLO_COMPLETE_WRITERS,
	  .offset = offsetof(struct diff, to) },
	{ .letter = 'f',
	  .name = "force",
	  .help = "replace the output if it exists",
	  .offset = offsetof(struct diff, force) },
	{ .name = NULL },
};

static const struct allo_option_group group = { "Comparison", options };

static const struct allo_option_group *const groups[] = {
	&group, &allo_metric_group, &allo_filter_group, &allo_printing_group, &allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo diff before.pb.gz after.pb.gz", "which functions hold more or less than before" },
	{ "allo diff --as tree -M alloc_bytes a.json b.json", "where in the tree of calls it changed" },
	{ "allo diff old.pb.gz new.pb.gz -o diff.svg", "a flame graph: red has grown, blue has shrunk" },
	{ NULL, NULL },
};

/* Text. */

struct printing {
	const struct diff *opt;
	const struct allo_profile *profile;
	struct allo_columns columns;
	enum allo_unit unit;
	struct allo_style style;
};

static const char *format(const struct printing *p, allo_sum sum, char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_number(sum), p->unit, p->opt->common.plain, out);
}

static const char *format_change(const struct printing *p, allo_sum sum, char out[ALLO_NUMBER_SIZE])
{
	return allo_format_change(allo_sum_number(sum), p->unit, p->opt->common.plain, out);
}

static bool has_changed(const struct allo_top_row *row)
{
	return row->self.value != row->self.before;
}

static bool add_row(struct allo_table *table, const struct printing *p, const struct allo_top *top,
		    const struct allo_top_row *row, struct allo_error *err)
{
	char number[ALLO_NUMBER_SIZE], scratch[ALLO_TOP_SCRATCH], place[ALLO_PLACE_SIZE];
	struct allo_text file = top->by == ALLO_BY_FILE
					? (struct allo_text){ 0 }
					: allo_profile_text(p->profile, row->key.file);

	return allo_table_string(table, format_change(p, row->self.value - row->self.before, number),
				 err) &&
	       allo_table_string(table, format(p, row->self.before, number), err) &&
	       allo_table_string(table, format(p, row->self.value, number), err) &&
	       allo_table_string(table,
				 row->total.before == 0	 ? "NEW"
				 : row->total.value == 0 ? "GONE"
							 : "",
				 err) &&
	       allo_table_cell(table,
			       allo_show_place(allo_top_name(top, p->profile, row, scratch), file,
					       top->by == ALLO_BY_SITE ? row->key.number : 0, place),
			       err);
}

static void print_heading(struct allo_output *out, const struct printing *p,
			  const struct allo_values *sum)
{
	const struct allo_metric *metric = &p->profile->metrics.at[p->columns.metric];
	char before[ALLO_NUMBER_SIZE], after[ALLO_NUMBER_SIZE], change[ALLO_NUMBER_SIZE],
		share[ALLO_NUMBER_SIZE];
	allo_sum difference = sum->value - sum->before;

	allo_output_printable(out, allo_profile_text(p->profile, metric->name));
	allo_output_printf(out, ": base %s, new %s, %s", format(p, sum->before, before),
			   format(p, sum->value, after), format_change(p, difference, change));
	if (sum->before != 0)
		allo_output_printf(out, " (%s%s)", difference > 0 ? "+" : "",
				   allo_format_share((double)difference, (double)sum->before,
						     share));
	allo_output_byte(out, '\n');
}

static bool print_rows(struct allo_output *out, const struct printing *p, const struct allo_top *top,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 5,
				    .is_left = { false, false, false, true, true },
				    .style = { [4] = p->style.bold },
				    .style_end = p->style.reset };
	size_t changed = 0, shown = 0;
	char count[ALLO_NUMBER_SIZE];

	for (size_t i = 0; i < top->rows.len; i++)
		changed += has_changed(&top->rows.at[i]);
	print_heading(out, p, &top->sum);
	if (!allo_table_string(&table, "change", err) || !allo_table_string(&table, "base", err) ||
	    !allo_table_string(&table, "new", err) || !allo_table_string(&table, "", err) ||
	    !allo_table_string(&table, grains[top->by], err))
		return false;
	/* The largest changes come first: those that did not change are all at the end. */
	while (shown < changed && (p->opt->count == 0 || shown < p->opt->count)) {
		if (!add_row(&table, p, top, &top->rows.at[shown++], err))
			return false;
	}
	if (shown > 0)
		allo_table_print(&table, out);
	if (changed > shown)
		allo_output_printf(out, "%s more have changed: -n 0 shows all\n",
				   allo_format_count(changed - shown, count));
	allo_output_printf(out, "%s unchanged\n",
			   allo_format_count(top->rows.len - changed, count));
	return true;
}

/* JSON. */

static void put_sums(struct allo_json_out *json, const struct allo_values *values)
{
	allo_json_out_key(json, "base");
	allo_show_json_sum(json, values->before);
	allo_json_out_key(json, "new");
	allo_show_json_sum(json, values->value);
	allo_json_out_key(json, "change");
	allo_show_json_sum(json, values->value - values->before);
}

static void print_json(struct allo_output *out, const struct printing *p, const struct allo_top *top)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	char scratch[ALLO_TOP_SCRATCH];

	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, p->profile, p->columns.metric);
	allo_json_out_key(&json, "by");
	allo_json_out_string(&json, grains[top->by]);
	put_sums(&json, &top->sum);
	allo_json_out_key(&json, "rows");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < top->rows.len && has_changed(&top->rows.at[i]); i++) {
		const struct allo_top_row *row = &top->rows.at[i];

		if (p->opt->count > 0 && i == p->opt->count)
			break;
		allo_json_out_begin(&json, '{');
		allo_json_out_key(&json, "name");
		allo_json_out_text(&json, allo_top_name(top, p->profile, row, scratch));
		allo_json_out_key(&json, "file");
		allo_json_out_text(&json, allo_profile_text(p->profile, row->key.file));
		put_sums(&json, &row->self);
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

static bool print_top(struct allo_output *out, const struct printing *p, struct allo_error *err)
{
	ALLO_DEFER(allo_top_done) struct allo_top top = { .by = (enum allo_by)p->opt->by };

	if (!allo_top_add(&top, p->profile, &p->columns, err))
		return false;
	allo_top_sort(&top, p->profile, ALLO_TOP_BY_CHANGE);
	if (!p->opt->common.json)
		return print_rows(out, p, &top, err);
	print_json(out, p, &top);
	return true;
}

static bool print_tree(struct allo_output *out, const struct printing *p, struct allo_error *err)
{
	ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
	struct allo_tree_options tree_options = { .grain = (enum allo_tree_grain)p->opt->match };

	if (!allo_tree_from_profile(&tree, p->profile, &p->columns, &tree_options, err))
		return false;
	if (p->opt->common.json)
		allo_show_tree_json(&p->opt->show, out, &tree, p->profile, &p->columns);
	else
		allo_show_tree_text(&p->opt->show, &p->opt->common, out, &tree, p->profile,
				    &p->columns);
	return true;
}

static bool print(const struct diff *opt, const struct allo_profile *profile, size_t metric,
		  struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct printing p = {
		.opt = opt,
		.profile = profile,
		.columns = allo_columns_of(profile, metric),
		.unit = allo_unit_of(allo_profile_text(profile, profile->metrics.at[metric].unit)),
		.style = allo_common_style(&opt->common),
	};

	return allo_common_open_result(&out, err) &&
	       (opt->view == VIEW_TREE ? print_tree(&out, &p, err) : print_top(&out, &p, err)) &&
	       allo_output_finish(&out, err);
}

/* A profile. */

static bool write_profile(const struct diff *opt, struct allo_profile *profile, size_t metric,
			  struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	const char *path = opt->output ? opt->output : "-";
	const struct allo_writer *writer = opt->to ? allo_writer_find(opt->to, err)
						   : allo_writer_find_by_path(path);
	struct allo_output_options output = { .replace = opt->force };

	if (!writer) {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "%s does not tell which form to write", path);
		return allo_hint(err, "add --to FORMAT; 'allo formats' lists them");
	}
	/* What is asked for is what forms with room for one number take. */
	profile->meta.default_metric = metric + 1;
	output.packing = allo_writer_packing(writer, path);
	if (!allo_output_open(&out, path, &output, err) ||
	    !allo_write(writer, profile, NULL, &out, NULL, err) || !allo_output_finish(&out, err))
		return false;
	if (!opt->common.quiet && opt->output)
		allo_say("wrote %s", opt->output);
	return true;
}

/* Whether any stack differs in the metric. */
static bool differs(const struct allo_profile *profile, size_t metric)
{
	struct allo_columns columns = allo_columns_of(profile, metric);

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, &columns, i);

		if (values.value != values.before)
			return true;
	}
	return false;
}

static bool read_side(const struct diff *opt, const char *file, struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };

	return allo_common_filter(&opt->common, true, &filter, err) &&
	       allo_common_read(&opt->common, file, NULL, profile, err) &&
	       allo_filter_apply(&filter, profile, err);
}

static bool run_diff(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile base = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile changed = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct diff *opt = options_given;
	size_t metric;

	if (!read_side(opt, files[0], &base, err) || !read_side(opt, files[1], &changed, err) ||
	    !allo_diff_profiles(&base, &changed, (enum allo_match)opt->match, &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err))
		return false;
	if (!(opt->output || opt->to ? write_profile(opt, &profile, metric, err)
				     : print(opt, &profile, metric, err)))
		return false;
	if (opt->exit_code && differs(&profile, metric))
		return allo_fail(err, ALLO_UNMET, ALLO_NOWHERE, "the profiles differ");
	return true;
}

const struct allo_command allo_cmd_diff = {
	.name = "diff",
	.heading = "Compare",
	.summary = "show what has changed between two profiles",
	.arguments = "BASE NEW",
	.about = "Compares two profiles of any formats in the metrics that both have. Functions are "
		 "matched by name and file, so that edited lines make no difference by themselves.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct diff),
	.defaults = &defaults,
	.files_least = 2,
	.files_most = 2,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_diff,
};
