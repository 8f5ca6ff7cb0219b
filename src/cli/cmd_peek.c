/* cmd_peek.c - allo peek: callers and callees of some functions. */
#include "analysis/peek.h"
#include "base/defer.h"
#include "cli/figures.h"
#include "report/messages.h"

#include <limits.h>
#include <stdio.h>

struct peek {
	struct allo_common common;
	uint64_t count;
	int by;
};

static const struct peek defaults = { .count = 10 };

static const struct allo_option options[] = {
	{ .letter = 'n',
	  .name = "count",
	  .argument = "N",
	  .help = "how many functions to show at most, and how many callers and callees of each; "
		  "10 without it; 0 shows all",
	  .kind = ALLO_OPTION_COUNT,
	  .offset = offsetof(struct peek, count) },
	{ .letter = 'g',
	  .name = "by",
	  .argument = "WHAT",
	  .help = "what calls what: function, site (a line of a function), file, module or "
		  "address",
	  .kind = ALLO_OPTION_CHOICE,
	  .completes = ALLO_COMPLETE_CHOICES,
	  .offset = offsetof(struct peek, by),
	  .choices = allo_by_names },
	{ .name = NULL },
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
	{ "allo peek parse_config heap.pb.gz", "who calls it, and where what it holds goes" },
	{ "allo peek =main -M alloc_bytes server.allo", "one function of exactly this name" },
	{ "allo peek --keep-allocator malloc heap.pb.gz", "who calls malloc most" },
	{ NULL, NULL },
};

/* What printing needs. */
struct printing {
	const struct peek *opt;
	const char *pattern;
	const struct allo_peek *peek;
	const struct allo_profile *profile;
	struct allo_figures figures;
};

static size_t shown_of(const struct printing *p, size_t count)
{
	return p->opt->count > 0 && p->opt->count < count ? p->opt->count : count;
}

/* Text. */

/* Where a row stands to the function that is looked at. */
enum relation { CALLER, MATCH, CALLEE };
static const char *const relations[] = { "caller", "match", "callee" };

/* A line of a table: what it is, its numbers, its share of `whole`, its name. */
struct line {
	enum relation relation;
	const char *label; /* in front, for people */
	const struct allo_values *values;
	allo_sum whole;
	const struct allo_top_row *row; /* NULL: `name` it is */
	const char *name;
};

static bool add_place(struct allo_table *table, const struct printing *p, const struct line *line,
		      struct allo_error *err)
{
	const struct allo_top *top = &p->peek->top;
	ALLO_DEFER(allo_free_pointer) char *indented = NULL;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name = line->row ? allo_top_name(top, p->profile, line->row, scratch)
					  : allo_text_of(line->name);
	struct allo_text file = line->row && top->by != ALLO_BY_FILE
					? allo_profile_text(p->profile, line->row->key.file)
					: (struct allo_text){ "", 0 };
	bool csv = p->opt->common.csv;
	uint64_t number = line->row && top->by == ALLO_BY_SITE ? line->row->key.number : 0;

	if (csv || line->relation == MATCH)
		return allo_show_place(table, csv, name, file, number, err);
	/* The function that is looked at stands out to the left of its neighbours. */
	if (name.len > INT_MAX / 2 || asprintf(&indented, "  %.*s", (int)name.len, name.data) < 0) {
		indented = NULL;
		return allo_fail_memory(err);
	}
	return allo_show_place(table, csv, allo_text_of(indented), file, number, err);
}

static bool add_line(struct allo_table *table, const struct printing *p, const struct line *line,
		     struct allo_error *err)
{
	bool csv = p->opt->common.csv;
	char text[ALLO_NUMBER_SIZE];

	return allo_table_string(table, csv ? relations[line->relation] : line->label, err) &&
	       allo_figures_cell(&p->figures, table, line->values->value, err) &&
	       allo_figures_margin_cell(&p->figures, table, line->values, err) &&
	       allo_table_string(
		       table,
		       allo_show_share((double)line->values->value, (double)line->whole, csv, text),
		       err) &&
	       allo_figures_blocks_cell(&p->figures, table, line->values->blocks, err) &&
	       add_place(table, p, line, err);
}

/* Neighbours on one side; what is left out is one line. */
static bool add_edges(struct allo_table *table, const struct printing *p, size_t first,
		      size_t count, struct line line, struct allo_error *err)
{
	const char *label = line.label;
	size_t shown = shown_of(p, count);
	struct allo_values rest = { 0 };
	char more[96], number[ALLO_NUMBER_SIZE];

	for (size_t i = 0; i < shown; i++) {
		const struct allo_peek_edge *edge = &p->peek->edges.at[first + i];

		line.label = i == 0 ? label : "";
		line.values = &edge->total;
		line.row = &p->peek->top.rows.at[edge->row];
		if (!add_line(table, p, &line, err))
			return false;
	}
	if (shown == count || p->opt->common.csv)
		return true;
	for (size_t i = shown; i < count; i++)
		allo_values_add(&rest, &p->peek->edges.at[first + i].total);
	snprintf(more, sizeof(more), "[%s more: -n 0 shows all]",
		 allo_format_count(count - shown, number));
	line.label = "";
	line.values = &rest;
	line.row = NULL;
	line.name = more;
	return add_line(table, p, &line, err);
}

/* One that is no function's: nobody calls it, it calls nobody. */
static bool add_own(struct allo_table *table, const struct printing *p, struct line line,
		    const struct allo_values *values, const char *name, struct allo_error *err)
{
	line.values = values;
	line.row = NULL;
	line.name = name;
	return values->value == 0 || add_line(table, p, &line, err);
}

static bool add_block(struct allo_table *table, const struct printing *p,
		      const struct allo_peek_match *match, struct allo_error *err)
{
	const struct allo_top_row *row = &p->peek->top.rows.at[match->row];
	const struct line caller = { CALLER, "callers", NULL, row->total.value, NULL, NULL };
	const struct line callee = { CALLEE, "callees", NULL, row->total.value, NULL, NULL };
	const struct line own = { MATCH,       allo_by_names[p->peek->top.by],
				  &row->total, p->peek->top.sum.value,
				  row,         NULL };
	struct line outermost = caller, self = callee;

	outermost.label = match->caller_count ? "" : caller.label;
	self.label = match->callee_count ? "" : callee.label;
	return add_edges(table, p, match->callers, match->caller_count, caller, err) &&
	       add_own(table, p, outermost, &match->outermost, "[nobody]", err) &&
	       add_line(table, p, &own, err) &&
	       add_edges(table, p, match->callees, match->callee_count, callee, err) &&
	       add_own(table, p, self, &row->self, "[self]", err);
}

static void set_up_table(struct allo_table *table, const struct printing *p)
{
	struct allo_style style = allo_common_style(&p->opt->common);

	table->columns = 4u + p->figures.columns.has_blocks + p->figures.has_margins +
			 (p->opt->common.csv ? 2 : 0);
	table->is_left[0] = table->is_left[table->columns - 1] = true;
	table->style[0] = style.bold;
	table->style_end = style.reset;
	table->max_width = allo_common_width(&p->opt->common);
}

static bool print_csv(struct allo_output *out, const struct printing *p, size_t shown,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_table_done) struct allo_table table = { 0 };

	set_up_table(&table, p);
	if (!allo_table_string(&table, "relation", err) ||
	    !allo_table_string(&table, "total", err) ||
	    !allo_figures_margin_title(&p->figures, &table, err) ||
	    !allo_table_string(&table, "total%", err) ||
	    (p->figures.columns.has_blocks && !allo_table_string(&table, "blocks", err)) ||
	    !allo_table_string(&table, allo_by_names[p->peek->top.by], err) ||
	    !allo_table_string(&table, "file", err) || !allo_table_string(&table, "line", err))
		return false;
	for (size_t i = 0; i < shown; i++) {
		if (!add_block(&table, p, &p->peek->matches.at[i], err))
			return false;
	}
	allo_table_print_csv(&table, out);
	return true;
}

static void print_heading(struct allo_output *out, const struct printing *p, size_t shown)
{
	size_t count = p->peek->matches.len;
	const char *what = (count == 1 ? allo_by_names : allo_by_plurals)[p->peek->top.by];
	char number[ALLO_NUMBER_SIZE];

	allo_figures_heading(&p->figures, &p->peek->top.sum, out);
	allo_output_printf(out, "%s %s %s \"", allo_format_count(count, number), what,
			   count == 1 ? "matches" : "match");
	allo_output_printable(out, allo_text_of(p->pattern));
	allo_output_string(out, "\"");
	if (shown < count)
		allo_output_printf(out, ", the %zu largest of them are here: -n 0 shows all",
				   shown);
	allo_output_byte(out, '\n');
}

static bool print_text(struct allo_output *out, const struct printing *p, size_t shown,
		       struct allo_error *err)
{
	print_heading(out, p, shown);
	for (size_t i = 0; i < shown; i++) {
		ALLO_DEFER(allo_table_done) struct allo_table table = { 0 };

		set_up_table(&table, p);
		if (!add_block(&table, p, &p->peek->matches.at[i], err))
			return false;
		allo_output_byte(out, '\n');
		allo_table_print(&table, out);
	}
	return true;
}

/* JSON. */

static void put_json_place(struct allo_json_out *json, const struct printing *p,
			   const struct allo_top_row *row)
{
	const struct allo_top *top = &p->peek->top;
	char scratch[ALLO_TOP_SCRATCH];

	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_top_name(top, p->profile, row, scratch));
	allo_json_out_member_text(json, "file", allo_profile_text(p->profile, row->key.file));
	allo_json_out_member_text(json, "module", allo_profile_text(p->profile, row->key.module));
	if (row->key.number)
		allo_json_out_member_u64(
			json, row->key.function && top->by == ALLO_BY_SITE ? "line" : "address",
			row->key.number);
}

static void put_json_edges(struct allo_json_out *json, const struct printing *p, const char *name,
			   size_t first, size_t count)
{
	size_t shown = shown_of(p, count);
	char counted[32];

	snprintf(counted, sizeof(counted), "%.*s_count", (int)strlen(name) - 1, name);
	allo_json_out_member_u64(json, counted, count);
	allo_json_out_key(json, name);
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < shown; i++) {
		const struct allo_peek_edge *edge = &p->peek->edges.at[first + i];

		allo_json_out_begin(json, '{');
		put_json_place(json, p, &p->peek->top.rows.at[edge->row]);
		allo_figures_json(&p->figures, json, "total", &edge->total);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_json_match(struct allo_json_out *json, const struct printing *p,
			   const struct allo_peek_match *match)
{
	const struct allo_top_row *row = &p->peek->top.rows.at[match->row];

	allo_json_out_begin(json, '{');
	put_json_place(json, p, row);
	allo_figures_json(&p->figures, json, "self", &row->self);
	allo_figures_json(&p->figures, json, "total", &row->total);
	allo_figures_json(&p->figures, json, "outermost", &match->outermost);
	put_json_edges(json, p, "callers", match->callers, match->caller_count);
	put_json_edges(json, p, "callees", match->callees, match->callee_count);
	allo_json_out_end(json);
}

static void print_json(struct allo_output *out, const struct printing *p, size_t shown)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 4 };

	allo_show_json_begin_numbers(&json, p->figures.is_estimated);
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, p->profile, p->figures.columns.metric);
	allo_json_out_key(&json, "by");
	allo_json_out_string(&json, allo_by_names[p->peek->top.by]);
	allo_figures_json(&p->figures, &json, "sum", &p->peek->top.sum);
	allo_json_out_member_u64(&json, "match_count", p->peek->matches.len);
	allo_json_out_key(&json, "matches");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < shown; i++)
		put_json_match(&json, p, &p->peek->matches.at[i]);
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

/* A pattern that names no field is for what the rows stand for. */
static void choose_field(struct allo_pattern *pattern, enum allo_by by)
{
	if (pattern->field == ALLO_FIELD_ANY)
		pattern->field = by == ALLO_BY_FILE     ? ALLO_FIELD_FILE
				 : by == ALLO_BY_MODULE ? ALLO_FIELD_MODULE
							: ALLO_FIELD_FUNCTION;
}

static bool print(const struct printing *p, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	size_t shown = shown_of(p, p->peek->matches.len);

	if (!allo_common_begin(&p->opt->common, &out, err))
		return false;
	if (p->opt->common.json)
		print_json(&out, p, shown);
	else if (!(p->opt->common.csv ? print_csv(&out, p, shown, err)
				      : print_text(&out, p, shown, err)))
		return false;
	return allo_common_end(&p->opt->common, &out, &p->profile->notes, err);
}

static void tell_of_nothing(const struct printing *p)
{
	if (p->peek->matches.len > 0 || p->opt->common.quiet)
		return;
	allo_say_note("no %s matches \"%s\"; 'allo top -n 0' lists them%s",
		      allo_by_names[p->peek->top.by], p->pattern,
		      p->opt->common.keep_allocator
			      ? ""
			      : ", --keep-allocator leaves malloc and its like among them");
}

static bool run_peek(const void *options_given, char **arguments, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_filter_done) struct allo_filter filter = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	const struct peek *opt = options_given;
	ALLO_DEFER(allo_peek_done)
	struct allo_peek peek = { .top = { .by = (enum allo_by)opt->by,
					   .trims_allocator = !opt->common.keep_allocator } };
	struct printing p = { opt, arguments[0], &peek, &profile, { 0 } };
	size_t metric;

	if (!allo_common_check(&opt->common, err) ||
	    !allo_pattern_init(&pattern, arguments[0], err) ||
	    !allo_common_filter(&opt->common, false, &filter, err) ||
	    !allo_common_read_all(&opt->common, arguments + 1, NULL, &profile, err) ||
	    !allo_common_metric(&opt->common, &profile, &metric, err))
		return false;
	choose_field(&pattern, peek.top.by);
	p.figures = allo_figures_of(&opt->common, &profile, metric);
	if ((!allo_filter_is_empty(&filter) && !allo_filter_apply(&filter, &profile, err)) ||
	    !allo_peek_profile(&peek, &profile, &p.figures.columns, &pattern, err) ||
	    !print(&p, err))
		return false;
	allo_common_tell_filter(&opt->common, &filter);
	tell_of_nothing(&p);
	return true;
}

const struct allo_command allo_cmd_peek = {
	.name = "peek",
	.heading = "Look",
	.summary = "show who calls some functions, and whom they call",
	.arguments = "PATTERN FILE...",
	.about =
		"Prints a block for each function that matches, the largest first: the callers above "
		"it, the callees below, each with what passes between the two. The function's own "
		"share is of everything, the others' are of what passes through the function. [self] "
		"is what it holds itself, [nobody] what no function called it for.\n\n"
		"The pattern is a part of a function's name, =NAME for a whole one, or /REGEX/, as in "
		"--focus. A recursion does not count as a caller of itself; a stack that passes "
		"through a function several times counts for each of its callers there, so that they "
		"may add up to more than the function.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct peek),
	.defaults = &defaults,
	.files_least = 2,
	.files_most = (size_t)-1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_peek,
};
