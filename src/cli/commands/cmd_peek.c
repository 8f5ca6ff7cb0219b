/* cmd_peek.c - allo peek: callers and callees of some functions. */
#include "analysis/peek.h"
#include "base/defer.h"
#include "cli/common.h"
#include "cli/show/other_metric.h"
#include "report/figures.h"
#include "report/messages.h"
#include "report/row_names.h"

#include <limits.h>

struct peek {
	struct allo_common common;
	uint64_t count;
	int by;
};

static const struct peek defaults = { .count = 10 };

#define AT(field) offsetof(struct peek, field)
static const struct allo_option options[] = {
	OPT_COUNT('n', "count", "N", count,
		  "number of functions, and of callers and callees of each (default: 10; 0 for "
		  "all)"),
	OPT_CHOICE('g', "by", "GROUP", by, allo_by_names,
		   "group by function, site (a line of a function), file, module or address "
		   "(default: function)"),
	OPT_END,
};

static const struct allo_option_group group = { "Functions", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_metric_group,
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
	{ "allo peek parse_config heap.pb.gz", "its callers and callees" },
	{ "allo peek =main -M alloc_bytes server.allo", "one function of exactly this name" },
	{ "allo peek --keep-allocator malloc heap.pb.gz", "the callers of malloc" },
	{ NULL, NULL },
};

struct result {
	const struct peek *opt;
	const char *pattern;
	const struct allo_peek *peek;
	const struct allo_profile *profile;
	struct allo_figures figures;
};

static size_t shown_of(const struct result *result, size_t count)
{
	return result->opt->count > 0 && result->opt->count < count ? result->opt->count : count;
}

/* Rows: callers above a function that matches, callees below it. */

enum { LABEL, RELATION, TOTAL, MARGIN, SHARE, BLOCKS, NAME, FILE_NAME, LINE, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[LABEL] = { "relation", NULL, NULL, ALLO_CELL_TEXT, .is_bold = true },
	[RELATION] = { NULL, "relation", NULL, ALLO_CELL_TEXT },
	[TOTAL] = { "total", "total", NULL },
	[MARGIN] = { "+/-", "margin", NULL },
	[SHARE] = { "total%", "total%", NULL, ALLO_CELL_SHARE },
	[BLOCKS] = { "blocks", "blocks", NULL },
	[NAME] = { "function", "function", NULL, ALLO_CELL_TEXT },
	[FILE_NAME] = { NULL, "file", NULL, ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", NULL, ALLO_CELL_ID },
};

static const struct allo_report_table table = { NULL, columns, COLUMNS, .has_no_titles = true,
						.needs_rows = true };

enum relation { CALLER, MATCH, CALLEE };
static const char *const relations[] = { "caller", "match", "callee" };

struct line {
	enum relation relation;
	const char *label; /* for people, who see it once for all callers or callees */
	const struct allo_values *values;
	allo_sum whole;                 /* that the share is of */
	const struct allo_top_row *row; /* NULL: `name` instead */
	const char *name;
};

static void describe_place(struct allo_report *report, const struct result *result,
			   const struct line *line)
{
	const struct allo_top *top = &result->peek->top;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name = line->row ? allo_report_row_name(report, top, result->profile,
								 line->row, scratch)
					  : allo_text_of(line->name);
	struct allo_text file = line->row && top->by != ALLO_BY_FILE
					? allo_profile_text(result->profile, line->row->key.file)
					: (struct allo_text){ "", 0 };
	uint64_t number = line->row && top->by == ALLO_BY_SITE ? line->row->key.number : 0;

	/* Callers and callees are indented below the function. */
	if (allo_report_is(report, ALLO_REPORT_TEXT) && line->relation != MATCH &&
	    name.len < INT_MAX)
		name = allo_text_of(allo_report_string(report, "  %.*s", (int)name.len, name.data));
	allo_cell_place(report, NAME, name, file, number);
	if (line->row)
		allo_report_style_row(report, NAME, result->profile, line->row);
}

static void describe_line(struct allo_report *report, const struct result *result,
			  const struct line *line)
{
	allo_report_row(report);
	allo_cell_string(report, LABEL, line->label);
	allo_cell_string(report, RELATION, relations[line->relation]);
	allo_cell_value(report, TOTAL, &result->figures, line->values->value);
	allo_cell_margin(report, MARGIN, &result->figures, line->values);
	allo_cell_share(report, SHARE, (double)line->values->value, (double)line->whole);
	allo_cell_blocks(report, BLOCKS, &result->figures, line->values->blocks);
	describe_place(report, result, line);
}

/* Callers or callees; a line stands for those that are left out. */
static void describe_edges(struct allo_report *report, const struct result *result, size_t first,
			   size_t count, struct line line)
{
	const char *label = line.label;
	size_t shown = shown_of(result, count);
	struct allo_values rest = { 0 };

	for (size_t i = 0; i < shown; i++) {
		const struct allo_peek_edge *edge = &result->peek->edges.at[first + i];

		line.label = i == 0 ? label : "";
		line.values = &edge->total;
		line.row = &result->peek->top.rows.at[edge->row];
		describe_line(report, result, &line);
	}
	if (shown == count || allo_report_is(report, ALLO_REPORT_CSV))
		return;
	for (size_t i = shown; i < count; i++)
		allo_values_add(&rest, &result->peek->edges.at[first + i].total);
	line.label = "";
	line.values = &rest;
	line.row = NULL;
	line.name = allo_report_string(report, "[%s more: -n 0 shows all]",
				       allo_report_count(report, count - shown));
	describe_line(report, result, &line);
}

/* A line of no function: no caller, or no callee. */
static void describe_own(struct allo_report *report, const struct result *result, struct line line,
			 const struct allo_values *values, const char *name)
{
	line.values = values;
	line.row = NULL;
	line.name = name;
	if (values->value != 0)
		describe_line(report, result, &line);
}

static void add_names(struct allo_report *report, const struct result *result, size_t first,
		      size_t count)
{
	const struct allo_peek *peek = result->peek;

	for (size_t i = 0; i < shown_of(result, count); i++)
		allo_report_add_row_name(report, &peek->top, result->profile,
					 &peek->top.rows.at[peek->edges.at[first + i].row]);
}

static void describe_table(struct allo_report *report, const struct result *result,
			   const struct allo_peek_match *match)
{
	const struct allo_top_row *row = &result->peek->top.rows.at[match->row];
	const char *noun = allo_by_names[result->peek->top.by];
	const struct line caller = { CALLER, "callers", NULL, row->total.value, NULL, NULL };
	const struct line callee = { CALLEE, "callees", NULL, row->total.value, NULL, NULL };
	const struct line own = {
		MATCH, noun, &row->total, result->peek->top.sum.value, row, NULL
	};
	struct line outermost = caller, self = callee;

	outermost.label = match->caller_count ? "" : caller.label;
	self.label = match->callee_count ? "" : callee.label;
	describe_edges(report, result, match->callers, match->caller_count, caller);
	describe_own(report, result, outermost, &match->outermost, "[nobody]");
	describe_line(report, result, &own);
	describe_edges(report, result, match->callees, match->callee_count, callee);
	describe_own(report, result, self, &row->self, "[self]");
}

static void begin_table(struct allo_report *report, const struct result *result)
{
	allo_report_table(report, &table);
	allo_report_retitle(report, NAME, allo_by_names[result->peek->top.by]);
	if (!result->figures.has_margins)
		allo_report_hide(report, MARGIN);
	if (!result->figures.columns.has_blocks)
		allo_report_hide(report, BLOCKS);
}

static void describe_heading(struct allo_report *report, const struct result *result, size_t shown)
{
	size_t count = result->peek->matches.len;

	allo_report_metric_heading(report, &result->figures, &result->peek->top.sum);
	allo_report_put(report, ALLO_STYLE_PLAIN, "%s %s %s \"", allo_report_count(report, count),
			(count == 1 ? allo_by_names : allo_by_plurals)[result->peek->top.by],
			count == 1 ? "matches" : "match");
	allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(result->pattern));
	allo_report_put(report, ALLO_STYLE_PLAIN, "\"");
	if (shown < count)
		allo_report_put(report, ALLO_STYLE_PLAIN,
				", the %zu largest of them are here: -n 0 shows all", shown);
	allo_report_end_line(report);
}

/* JSON. */

static void describe_name(struct allo_report *report, const struct result *result,
			  const struct allo_top_row *row)
{
	const struct allo_profile *profile = result->profile;
	const struct allo_top *top = &result->peek->top;
	char scratch[ALLO_TOP_SCRATCH];

	allo_report_field_name(report, "name", allo_top_name(top, profile, row, scratch));
	allo_report_field_row_short(report, top, profile, row);
	allo_report_field_text(report, "file", allo_profile_text(profile, row->key.file));
	allo_report_field_text(report, "module", allo_profile_text(profile, row->key.module));
	if (row->key.number)
		allo_report_field_u64(
			report, row->key.function && top->by == ALLO_BY_SITE ? "line" : "address",
			row->key.number);
}

static void describe_list(struct allo_report *report, const struct result *result, const char *name,
			  size_t first, size_t count)
{
	allo_report_list(report, name);
	for (size_t i = 0; i < shown_of(result, count); i++) {
		const struct allo_peek_edge *edge = &result->peek->edges.at[first + i];

		allo_report_object(report, NULL);
		describe_name(report, result, &result->peek->top.rows.at[edge->row]);
		allo_report_field_values(report, &result->figures, "total", &edge->total);
		allo_report_close(report);
	}
	allo_report_close(report);
}

static void describe_match(struct allo_report *report, const struct result *result,
			   const struct allo_peek_match *match)
{
	const struct allo_top_row *row = &result->peek->top.rows.at[match->row];

	allo_report_object(report, NULL);
	describe_name(report, result, row);
	allo_report_field_values(report, &result->figures, "self", &row->self);
	allo_report_field_values(report, &result->figures, "total", &row->total);
	allo_report_field_values(report, &result->figures, "outermost", &match->outermost);
	allo_report_field_u64(report, "caller_count", match->caller_count);
	describe_list(report, result, "callers", match->callers, match->caller_count);
	allo_report_field_u64(report, "callee_count", match->callee_count);
	describe_list(report, result, "callees", match->callees, match->callee_count);
	allo_report_close(report);
}

static void describe(struct allo_report *report, const struct result *result)
{
	size_t count = result->peek->matches.len, shown = shown_of(result, count);
	bool is_csv = allo_report_is(report, ALLO_REPORT_CSV);

	allo_report_json_lines(report, 4);
	describe_heading(report, result, shown);
	allo_report_field_metric(report, result->profile, result->figures.columns.metric);
	allo_report_field_string(report, "by", allo_by_names[result->peek->top.by]);
	allo_report_field_values(report, &result->figures, "sum", &result->peek->top.sum);
	allo_report_field_u64(report, "match_count", count);
	allo_report_list(report, "matches");
	for (size_t i = 0; i < shown; i++)
		describe_match(report, result, &result->peek->matches.at[i]);
	allo_report_close(report);
	if (allo_report_is(report, ALLO_REPORT_JSON))
		return;
	/* One table for programs, and one of each function for people. */
	if (is_csv)
		begin_table(report, result);
	for (size_t i = 0; i < shown; i++) {
		const struct allo_peek_match *match = &result->peek->matches.at[i];

		allo_report_add_row_name(report, &result->peek->top, result->profile,
					 &result->peek->top.rows.at[match->row]);
		add_names(report, result, match->callers, match->caller_count);
		add_names(report, result, match->callees, match->callee_count);
	}
	for (size_t i = 0; i < shown; i++) {
		if (!is_csv) {
			allo_report_blank(report);
			begin_table(report, result);
		}
		describe_table(report, result, &result->peek->matches.at[i]);
		if (!is_csv)
			allo_report_end_table(report);
	}
	if (is_csv)
		allo_report_end_table(report);
}

/* A pattern without a field matches the names of the rows. */
static void choose_field(struct allo_pattern *pattern, enum allo_by by)
{
	if (pattern->field == ALLO_FIELD_ANY)
		pattern->field = by == ALLO_BY_FILE     ? ALLO_FIELD_FILE
				 : by == ALLO_BY_MODULE ? ALLO_FIELD_MODULE
							: ALLO_FIELD_FUNCTION;
}

static bool print(const struct result *result, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const struct allo_common *common = &result->opt->common;

	if (!allo_common_report(common, &report, result->figures.is_estimated, err))
		return false;
	describe(&report, result);
	return allo_common_finish(common, &report, &result->profile->notes, err);
}

static void note_no_match(const struct result *result, struct allo_pattern *pattern)
{
	if (result->peek->matches.len > 0 || result->opt->common.quiet ||
	    allo_tell_other_metric_of(result->profile, result->figures.columns.metric, pattern))
		return;
	allo_say_note("no %s matches \"%s\"; 'allo top -n 0' lists them%s",
		      allo_by_names[result->peek->top.by], result->pattern,
		      result->opt->common.keep_allocator
			      ? ""
			      : ", --keep-allocator keeps malloc and similar functions");
}

static bool run_peek(const void *options_given, char **arguments, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	const struct peek *opt = options_given;
	ALLO_DEFER(allo_peek_done)
	struct allo_peek peek = { .top = { .by = (enum allo_by)opt->by } };
	/* A wrapper that is asked for must not be passed over. */
	ALLO_DEFER(allo_attribution_done)
	struct allo_attribution attribution = { .wrappers = ALLO_WRAPPERS_NONE };
	struct result result = { opt, arguments[0], &peek, &profile, { 0 } };
	size_t metric;

	if (!allo_common_check(&opt->common, err) ||
	    !allo_pattern_init(&pattern, arguments[0], err) ||
	    !allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read_all(&opt->common, arguments + 1, NULL, &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err))
		return false;
	if (!opt->common.keep_allocator)
		peek.top.attribution = &attribution;
	choose_field(&pattern, peek.top.by);
	result.figures = allo_figures_of(&profile, metric, opt->common.verbose);
	if ((!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, &profile, err)) ||
	    !allo_peek_profile(&peek, &profile, &result.figures.columns, &pattern, err) ||
	    !print(&result, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	note_no_match(&result, &pattern);
	return true;
}

const struct allo_command allo_cmd_peek = {
	.name = "peek",
	.heading = "Look",
	.summary = "show the callers and callees of functions",
	.arguments = "PATTERN FILE...",
	.about =
		"Prints a block for each function that matches, the largest first: its callers above "
		"it, its callees below, each with the memory that passes between the two. The "
		"share of the function is of everything, the others are of the function's total. "
		"[self] is the memory it holds itself, [nobody] the memory it holds without a "
		"caller.\n\n"
		"The pattern is a part of a function's name, =NAME for a whole name, or /REGEX/, "
		"as in --focus. A recursive function is not its own caller. A stack that passes "
		"through a function several times counts for each caller, so callers may add up "
		"to more than the function.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct peek),
	.defaults = &defaults,
	.files_least = 2,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_peek,
};
