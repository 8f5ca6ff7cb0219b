/* show_diff.c - the table of 'allo diff'. */
#include "cli/show_diff.h"

#include <math.h>
#include <stdio.h>

struct comparison {
	const struct allo_show_diff *show;
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

/* The change of a row. */
enum state { STATE_NEW, STATE_GONE, STATE_GROWN, STATE_SHRUNK, STATE_SAME };

const char *const allo_diff_changes[] = { "new", "gone", "grown", "shrunk", NULL };

static const char *state_name(enum state state)
{
	return state == STATE_SAME ? "unchanged" : allo_diff_changes[state];
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

static bool is_wanted(const struct allo_show_diff *show, const struct allo_top_row *row)
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
	struct allo_text name = allo_top_name(top, profile, row, scratch);
	struct allo_text file = allo_profile_text(profile, row->key.file);
	uint64_t line = top->by == ALLO_BY_SITE ? row->key.number : 0;

	allo_report_field_name(report, "name", name);
	allo_report_field_name(report, "file", file);
	if (top->by == ALLO_BY_SITE)
		allo_report_field_u64(report, "line", line);
	/* The name of the row is the file. */
	if (top->by == ALLO_BY_FILE)
		file.len = 0;
	allo_cell_place(report, NAME, name, file, line);
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
	allo_report_put(report, ALLO_STYLE_PLAIN, ": base %s%s, new %s, %s",
			allo_report_value(report, figures, sum->before),
			comparison->show->is_normalized ? " (scaled to the new total)" : "",
			allo_report_value(report, figures, sum->value),
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

static struct tally tally_of(const struct allo_show_diff *show, const struct allo_top *top)
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

void allo_report_diff(struct allo_report *report, const struct allo_show_diff *show,
		      const struct allo_top *top, const struct allo_figures *figures)
{
	struct comparison comparison = { show, top, *figures };
	struct tally tally = tally_of(show, top);
	size_t shown = 0;

	describe_heading(report, &comparison);
	describe_fields(report, &comparison, &tally);
	allo_report_table(report, &table);
	allo_report_retitle(report, NAME, allo_by_names[top->by]);
	for (size_t i = 0; i < top->rows.len && (show->count == 0 || shown < show->count); i++) {
		if (!is_wanted(show, &top->rows.at[i]))
			continue;
		describe_row(report, &comparison, &top->rows.at[i]);
		shown++;
	}
	allo_report_end_table(report);
	describe_tally(report, &comparison, &tally, shown);
}
