/* show_diff.c - see show_diff.h. */
#include "cli/show_diff.h"

#include "base/defer.h"
#include "report/show.h"

#include <math.h>
#include <stdio.h>

struct printing {
	const struct allo_show_diff *show;
	const struct allo_common *common;
	const struct allo_top *top;
	const struct allo_profile *profile;
	const struct allo_metric *metric;
	enum allo_unit unit;
	bool is_estimated;
};

static bool is_plain(const struct printing *p)
{
	return p->common->plain || p->common->csv;
}

static const char *format(const struct printing *p, allo_sum sum, char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_estimate(sum, p->is_estimated), p->unit, is_plain(p), out);
}

static const char *format_change(const struct printing *p, allo_sum sum, char out[ALLO_NUMBER_SIZE])
{
	return allo_format_change(allo_sum_estimate(sum, p->is_estimated), p->unit, is_plain(p),
				  out);
}

/* What has become of a row. */
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

/* +6.3%; nothing where there was nothing. */
static const char *format_percent(const struct printing *p, const struct allo_values *values,
				  char out[ALLO_NUMBER_SIZE])
{
	double change = (double)(values->value - values->before);
	char share[ALLO_NUMBER_SIZE] = "";

	if (values->before != 0)
		allo_show_share(change, fabs((double)values->before), p->common->csv, share);
	snprintf(out, ALLO_NUMBER_SIZE, "%s%.*s", share[0] && change > 0 ? "+" : "",
		 ALLO_NUMBER_SIZE - 2, share);
	return out;
}

static bool add_row(struct allo_table *table, const struct printing *p,
		    const struct allo_top_row *row, struct allo_error *err)
{
	const struct allo_top *top = p->top;
	static const char *const marks[] = { "NEW", "GONE", "", "", "" };
	enum state state = state_of(row);
	bool csv = p->common->csv;
	char text[ALLO_NUMBER_SIZE], scratch[ALLO_TOP_SCRATCH];
	struct allo_text file = top->by == ALLO_BY_FILE
					? (struct allo_text){ 0 }
					: allo_profile_text(p->profile, row->key.file);

	return allo_table_string(table, format_change(p, row->self.value - row->self.before, text),
				 err) &&
	       allo_table_string(table, format_percent(p, &row->self, text), err) &&
	       allo_table_string(table, format(p, row->self.before, text), err) &&
	       allo_table_string(table, format(p, row->self.value, text), err) &&
	       allo_table_string(table, csv ? state_name(state) : marks[state], err) &&
	       allo_show_place(table, csv, allo_top_name(top, p->profile, row, scratch), file,
			       top->by == ALLO_BY_SITE ? row->key.number : 0, err);
}

static bool add_titles(struct allo_table *table, const struct printing *p, struct allo_error *err)
{
	bool csv = p->common->csv;

	return allo_table_string(table, "change", err) &&
	       allo_table_string(table, "change%", err) && allo_table_string(table, "base", err) &&
	       allo_table_string(table, "new", err) &&
	       allo_table_string(table, csv ? "state" : "", err) &&
	       allo_table_string(table, allo_by_names[p->top->by], err) &&
	       (!csv ||
		(allo_table_string(table, "file", err) && allo_table_string(table, "line", err)));
}

static void print_heading(struct allo_output *out, const struct printing *p)
{
	const struct allo_values *sum = &p->top->sum;
	char before[ALLO_NUMBER_SIZE], after[ALLO_NUMBER_SIZE], change[ALLO_NUMBER_SIZE],
		percent[ALLO_NUMBER_SIZE];
	allo_sum difference = sum->value - sum->before;

	allo_output_printable(out, allo_profile_text(p->profile, p->metric->name));
	allo_output_printf(out, ": base %s%s, new %s, ", format(p, sum->before, before),
			   p->show->is_normalized ? " (scaled to the new total)" : "",
			   format(p, sum->value, after));
	if (difference == 0)
		allo_output_string(out, "no change in total");
	else
		allo_output_string(out, format_change(p, difference, change));
	if (difference != 0 && sum->before != 0)
		allo_output_printf(out, " (%s)", format_percent(p, sum, percent));
	allo_output_byte(out, '\n');
}

/* How many rows became what. */
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
static void print_none(struct allo_output *out, const struct printing *p)
{
	const char *before = "is";

	allo_output_printf(out, "no %s ", allo_by_names[p->top->by]);
	for (int state = 0; state < STATE_SAME; state++) {
		if (p->show->only >> state & 1) {
			allo_output_printf(out, "%s %s", before, state_name(state));
			before = " or";
		}
	}
	allo_output_byte(out, '\n');
}

/* "3 new, 1 gone, 12 grown, 4 shrunk, 80 unchanged" */
static void print_tally(struct allo_output *out, const struct printing *p,
			const struct tally *tally, size_t shown)
{
	const struct allo_top *top = p->top;
	char count[ALLO_NUMBER_SIZE];

	if (shown < tally->wanted)
		allo_output_printf(out, "%s more: -n 0 shows all\n",
				   allo_format_count(tally->wanted - shown, count));
	if (tally->changed == 0) {
		allo_output_printf(out, "nothing has changed: %s %s, all the same\n",
				   allo_format_count(top->rows.len, count),
				   top->rows.len == 1 ? allo_by_names[top->by]
						      : allo_by_plurals[top->by]);
		return;
	}
	if (tally->wanted == 0)
		print_none(out, p);
	for (int state = 0; state < STATE_SAME; state++) {
		if (tally->of[state] > 0)
			allo_output_printf(out, "%s %s, ",
					   allo_format_count(tally->of[state], count),
					   state_name(state));
	}
	allo_output_printf(out, "%s unchanged\n", allo_format_count(tally->of[STATE_SAME], count));
}

bool allo_show_diff_text(const struct allo_show_diff *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_top *top,
			 const struct allo_profile *profile, const struct allo_columns *columns,
			 struct allo_error *err)
{
	const struct allo_metric *metric = &profile->metrics.at[columns->metric];
	struct printing p = {
		.show = show,
		.common = common,
		.top = top,
		.profile = profile,
		.metric = metric,
		.unit = allo_unit_of(allo_profile_text(profile, metric->unit)),
		.is_estimated = allo_profile_estimates(profile, columns->metric) && !common->csv,
	};
	struct allo_style style = allo_common_style(common);
	struct tally tally = tally_of(show, top);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = common->csv ? 8 : 6,
				    .is_left = { [4] = true, [5] = true },
				    .style = { [5] = style.bold },
				    .style_end = style.reset,
				    .max_width = allo_common_width(common) };
	size_t shown = 0;

	if (!add_titles(&table, &p, err))
		return false;
	for (size_t i = 0; i < top->rows.len && (show->count == 0 || shown < show->count); i++) {
		if (!is_wanted(show, &top->rows.at[i]))
			continue;
		if (!add_row(&table, &p, &top->rows.at[i], err))
			return false;
		shown++;
	}
	if (common->csv) {
		allo_table_print_csv(&table, out);
		return true;
	}
	print_heading(out, &p);
	if (shown > 0)
		allo_table_print(&table, out);
	print_tally(out, &p, &tally, shown);
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

static void put_row(struct allo_json_out *json, const struct allo_profile *profile,
		    const struct allo_top *top, const struct allo_top_row *row)
{
	char scratch[ALLO_TOP_SCRATCH];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_top_name(top, profile, row, scratch));
	allo_json_out_key(json, "file");
	allo_json_out_text(json, allo_profile_text(profile, row->key.file));
	if (top->by == ALLO_BY_SITE) {
		allo_json_out_key(json, "line");
		allo_json_out_u64(json, row->key.number);
	}
	allo_json_out_key(json, "state");
	allo_json_out_string(json, state_name(state_of(row)));
	put_sums(json, &row->self);
	allo_json_out_end(json);
}

void allo_show_diff_json(const struct allo_show_diff *show, struct allo_output *out,
			 const struct allo_top *top, const struct allo_profile *profile,
			 const struct allo_columns *columns)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	struct tally tally = tally_of(show, top);
	size_t shown = 0;

	allo_show_json_begin_numbers(&json, allo_profile_estimates(profile, columns->metric));
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, profile, columns->metric);
	allo_json_out_key(&json, "by");
	allo_json_out_string(&json, allo_by_names[top->by]);
	allo_json_out_key(&json, "normalized");
	allo_json_out_bool(&json, show->is_normalized);
	put_sums(&json, &top->sum);
	for (int state = 0; state <= STATE_SAME; state++) {
		char key[24];

		snprintf(key, sizeof(key), "%s_count", state_name(state));
		allo_json_out_key(&json, key);
		allo_json_out_u64(&json, tally.of[state]);
	}
	allo_json_out_key(&json, "rows");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < top->rows.len && (show->count == 0 || shown < show->count); i++) {
		if (!is_wanted(show, &top->rows.at[i]))
			continue;
		put_row(&json, profile, top, &top->rows.at[i]);
		shown++;
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}
