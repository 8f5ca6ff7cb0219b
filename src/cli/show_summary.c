/* show_summary.c - see show_summary.h. */
#include "cli/show_summary.h"

#include "base/defer.h"
#include "cli/show_marks.h"
#include "cli/show_recording.h"
#include "report/chart.h"
#include "report/show.h"
#include "report/table.h"

#include <stdio.h>
#include <stdlib.h>

enum { CHART_ROWS = 4 };

void allo_page_done(struct allo_page *page)
{
	for (size_t i = 0; i < page->advice_count; i++)
		free(page->advice[i].command);
	page->advice_count = 0;
	allo_overview_done(&page->overview);
}

static const char *format(const struct allo_page *page, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	bool is_estimated = unit != ALLO_UNIT_NS && allo_profile_is_estimated(page->profile);

	return allo_format((struct allo_number){ value, false, is_estimated }, unit,
			   page->common->plain, out);
}

static const char *format_sum(const struct allo_page *page, size_t metric, allo_sum sum,
			      char out[ALLO_NUMBER_SIZE])
{
	const struct allo_profile *profile = page->profile;
	struct allo_text unit = allo_profile_text(profile, profile->metrics.at[metric].unit);

	return allo_format(allo_sum_estimate(sum, allo_profile_estimates(profile, metric)),
			   allo_unit_of(unit), page->common->plain, out);
}

static const char *format_blocks(const struct allo_page *page, allo_sum blocks,
				 char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_estimate(blocks, allo_profile_is_estimated(page->profile)),
			   ALLO_UNIT_COUNT, page->common->plain, out);
}

static const char *format_margin(const struct allo_page *page, size_t metric,
				 const struct allo_values *values, char out[ALLO_NUMBER_SIZE])
{
	const struct allo_profile *profile = page->profile;
	struct allo_text unit = allo_profile_text(profile, profile->metrics.at[metric].unit);

	return allo_format(allo_sum_number(allo_values_margin(values)), allo_unit_of(unit),
			   page->common->plain, out);
}

/* What the run was. */

static void put_totals(struct allo_output *out, const struct allo_page *page)
{
	const struct allo_summary *summary = page->summary;
	char duration[ALLO_NUMBER_SIZE], count[ALLO_NUMBER_SIZE], total[ALLO_NUMBER_SIZE],
		peak[ALLO_NUMBER_SIZE], when[ALLO_NUMBER_SIZE], end[ALLO_NUMBER_SIZE];

	allo_output_printf(out, "%s, %s allocation%s, %s total, peak %s at %s, %s never freed\n",
			   format(page, summary->duration_ns, ALLO_UNIT_NS, duration),
			   format(page, summary->allocations, ALLO_UNIT_COUNT, count),
			   summary->allocations == 1 ? "" : "s",
			   format(page, summary->total_bytes, ALLO_UNIT_BYTES, total),
			   format(page, summary->peak_bytes, ALLO_UNIT_BYTES, peak),
			   format(page, summary->peak_ns, ALLO_UNIT_NS, when),
			   format(page, summary->end_bytes, ALLO_UNIT_BYTES, end));
	if (allo_summary_is_estimated(summary)) {
		char sampled[ALLO_SAMPLED_SIZE], seen[ALLO_SEEN_SIZE];

		allo_show_sampled(&summary->sampling, sampled);
		allo_show_seen(&summary->sampling, page->common->plain, seen);
		allo_output_printf(out, "sampled: %s%s%s\n", sampled, seen[0] ? "; " : "", seen);
	}
}

static void put_heading(struct allo_output *out, const struct allo_page *page)
{
	const struct allo_meta *meta = &page->profile->meta;
	struct allo_style style = allo_common_style(page->common);
	struct allo_text command = allo_profile_text(page->profile, meta->command);
	size_t width = allo_common_width(page->common);
	char number[ALLO_NUMBER_SIZE];

	allo_output_string(out, style.bold);
	allo_output_printable(out, allo_text_of(page->file));
	allo_output_printf(out, "%s   %s", style.reset, meta->format);
	if (page->summary)
		allo_output_printf(out, ", ended: %s, %s thread%s",
				   allo_end_name(page->recording->head.end),
				   allo_format_count(page->summary->threads, number),
				   page->summary->threads == 1 ? "" : "s");
	allo_output_byte(out, '\n');
	if (command.len > 0) {
		allo_show_cut(out, command, width, false);
		allo_output_byte(out, '\n');
	}
	if (page->summary)
		put_totals(out, page);
}

/* The heap over time. */
static bool put_chart(struct allo_output *out, const struct allo_page *page, struct allo_error *err)
{
	const struct allo_timeline *timeline = page->timeline;
	ALLO_DEFER(allo_free_pointer) uint64_t *values = NULL;
	char mark[2 * ALLO_NUMBER_SIZE + 16], peak[ALLO_NUMBER_SIZE], when[ALLO_NUMBER_SIZE];
	struct allo_chart chart = {
		.unit = ALLO_UNIT_BYTES,
		.unit_end = "",
		.mark = mark,
		.columns = allo_terminal_columns(),
		.rows = CHART_ROWS,
		.is_ascii = page->is_ascii,
		.is_plain = page->common->plain,
		.is_estimated = allo_profile_is_estimated(page->profile),
		.style = allo_common_style(page->common),
	};

	if (!timeline || page->summary->allocations == 0)
		return true;
	values = calloc(timeline->steps.len + 1, sizeof(*values));
	if (!values)
		return allo_fail_memory(err);
	for (size_t i = 0; i < timeline->steps.len; i++)
		values[i] = timeline->steps.at[i].max_bytes;
	chart.values = values;
	chart.count = timeline->steps.len;
	chart.from_ns = timeline->from_ns;
	chart.step_ns = timeline->step_ns;
	chart.end_ns = timeline->end_ns;
	chart.mark_ns = page->summary->peak_ns;
	snprintf(mark, sizeof(mark), "peak %s at %s",
		 format(page, page->summary->peak_bytes, ALLO_UNIT_BYTES, peak),
		 format(page, page->summary->peak_ns, ALLO_UNIT_NS, when));
	allo_output_byte(out, '\n');
	allo_chart_draw(&chart, out);
	if (page->marks->list.len > 0) {
		allo_output_string(out, "marks ");
		allo_show_marks(out, page->recording, page->marks, page->common->plain);
	}
	return true;
}

/* Tables. */

/* What a metric's numbers are of. */
static const char *what_of(const struct allo_page *page, size_t metric)
{
	const struct allo_metric *of = &page->profile->metrics.at[metric];

	if (allo_unit_of(allo_profile_text(page->profile, of->unit)) == ALLO_UNIT_BYTES)
		return "bytes";
	return of->meaning == ALLO_TEMPORARY_BLOCKS ? "blocks" : "count";
}

static void put_title(struct allo_output *out, const struct allo_page *page, const char *title,
		      size_t metric, const struct allo_values *sum, bool has_blocks)
{
	struct allo_style style = allo_common_style(page->common);
	char number[ALLO_NUMBER_SIZE], blocks[ALLO_NUMBER_SIZE];

	allo_output_printf(out, "\n%s%s%s: %s", style.bold, title, style.reset,
			   sum->value == 0 ? "nothing"
					   : format_sum(page, metric, sum->value, number));
	if (allo_page_has_margins(page) && sum->value != 0)
		allo_output_printf(out, " +/- %s", format_margin(page, metric, sum, number));
	if (has_blocks && sum->value != 0)
		allo_output_printf(out, " in %s block%s", format_blocks(page, sum->blocks, blocks),
				   sum->blocks == 1 ? "" : "s");
	else if (sum->value != 0 && strcmp(what_of(page, metric), "blocks") == 0)
		allo_output_printf(out, " block%s", sum->value == 1 ? "" : "s");
	allo_output_byte(out, '\n');
}

static bool add_numbers(struct allo_table *table, const struct allo_page *page, size_t metric,
			const struct allo_values *values, const struct allo_values *sum,
			bool has_blocks, struct allo_error *err)
{
	char text[ALLO_NUMBER_SIZE];

	return allo_table_string(table, format_sum(page, metric, values->value, text), err) &&
	       (!allo_page_has_margins(page) ||
		allo_table_string(table, format_margin(page, metric, values, text), err)) &&
	       allo_table_string(table,
				 allo_format_share((double)values->value, (double)sum->value, text),
				 err) &&
	       (!has_blocks ||
		allo_table_string(table, format_blocks(page, values->blocks, text), err));
}

static struct allo_table new_table(const struct allo_page *page, size_t columns)
{
	struct allo_style style = allo_common_style(page->common);
	struct allo_table table = { .columns = columns,
				    .style_end = style.reset,
				    .max_width = allo_common_width(page->common) };

	table.is_left[columns - 1] = true;
	table.style[columns - 1] = style.bold;
	return table;
}

static bool add_titles(struct allo_table *table, const struct allo_page *page, const char *of,
		       bool has_blocks, const char *what, struct allo_error *err)
{
	return allo_table_string(table, of, err) &&
	       (!allo_page_has_margins(page) || allo_table_string(table, "+/-", err)) &&
	       allo_table_string(table, "share", err) &&
	       (!has_blocks || allo_table_string(table, "blocks", err)) &&
	       allo_table_string(table, what, err);
}

static void put_rest(struct allo_output *out, size_t count, size_t shown, const char *what)
{
	char number[ALLO_NUMBER_SIZE];

	if (shown < count)
		allo_output_printf(out, "%s more %s: -n 0 shows all\n",
				   allo_format_count(count - shown, number), what);
}

static bool put_top(struct allo_output *out, const struct allo_page *page, const char *title,
		    const struct allo_top *top, const struct allo_columns *columns,
		    struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = new_table(page, 3 + (size_t)columns->has_blocks +
							  allo_page_has_margins(page));
	size_t own = allo_top_own_rows(top), shown = allo_page_rows(page, own);

	put_title(out, page, title, columns->metric, &top->sum, columns->has_blocks);
	if (shown == 0)
		return true;
	if (!add_titles(&table, page, what_of(page, columns->metric), columns->has_blocks,
			allo_by_names[top->by], err))
		return false;
	for (size_t i = 0; i < shown; i++) {
		const struct allo_top_row *row = &top->rows.at[i];
		char scratch[ALLO_TOP_SCRATCH];

		if (!add_numbers(&table, page, columns->metric, &row->self, &top->sum,
				 columns->has_blocks, err) ||
		    !allo_show_place(&table, false, allo_top_name(top, page->profile, row, scratch),
				     allo_profile_text(page->profile, row->key.file),
				     top->by == ALLO_BY_SITE ? row->key.number : 0, err))
			return false;
	}
	allo_table_print(&table, out);
	put_rest(out, own, shown, allo_by_plurals[top->by]);
	return true;
}

static void format_thread(const struct allo_page *page, const struct allo_label_sum *row, char *out,
			  size_t room)
{
	const struct allo_profile *profile = page->profile;
	const struct allo_label *thread = allo_labels_find(profile, row->labels, "thread");
	const struct allo_label *name = allo_labels_find(profile, row->labels, "thread name");
	struct allo_text text = name ? allo_profile_text(profile, name->text)
				     : (struct allo_text){ "", 0 };

	if (!thread->is_number)
		snprintf(out, room, "%.*s",
			 ALLO_TEXT_ARG(allo_profile_text(profile, thread->text)));
	else
		snprintf(out, room, "%lld%s%.*s", (long long)thread->number,
			 text.len > 0 ? " " : "", ALLO_TEXT_ARG(text));
}

static bool put_threads(struct allo_output *out, const struct allo_page *page,
			struct allo_error *err)
{
	const struct allo_label_sums *threads = &page->overview.threads;
	const struct allo_overview_table *first = &page->overview.tables[0];
	const struct allo_columns *columns = &first->columns;
	ALLO_DEFER(allo_table_done)
	struct allo_table table = new_table(page, 3 + (size_t)columns->has_blocks +
							  allo_page_has_margins(page));
	size_t shown = allo_page_rows(page, threads->rows.len);
	struct allo_style style = allo_common_style(page->common);

	allo_output_printf(out, "\n%s%s, by thread%s\n", style.bold, first->title, style.reset);
	if (!add_titles(&table, page, what_of(page, columns->metric), columns->has_blocks, "thread",
			err))
		return false;
	for (size_t i = 0; i < shown; i++) {
		const struct allo_label_sum *row = &threads->rows.at[i];
		struct allo_values values = allo_thread_values(row, columns);
		char name[256];

		format_thread(page, row, name, sizeof(name));
		if (!add_numbers(&table, page, columns->metric, &values, &first->top.sum,
				 columns->has_blocks, err) ||
		    !allo_table_string(&table, name, err))
			return false;
	}
	allo_table_print(&table, out);
	put_rest(out, threads->rows.len, shown, "threads");
	return true;
}

static void put_advice(struct allo_output *out, const struct allo_page *page)
{
	struct allo_style style = allo_common_style(page->common);
	size_t width = 0;

	for (size_t i = 0; i < page->advice_count; i++) {
		size_t len = strlen(page->advice[i].command);

		width = len > width ? len : width;
	}
	if (page->advice_count > 0)
		allo_output_printf(out, "\n%snext%s\n", style.bold, style.reset);
	for (size_t i = 0; i < page->advice_count; i++) {
		size_t len = strlen(page->advice[i].command);

		allo_output_string(out, "  ");
		allo_output_printable(out, allo_text_of(page->advice[i].command));
		allo_output_printf(out, "%*s   %s\n", (int)(width - len), "",
				   page->advice[i].about);
	}
}

bool allo_show_summary(struct allo_output *out, const struct allo_page *page,
		       struct allo_error *err)
{
	const struct allo_overview *overview = &page->overview;

	put_heading(out, page);
	if (!put_chart(out, page, err))
		return false;
	for (size_t i = 0; i < overview->count; i++) {
		const struct allo_overview_table *table = &overview->tables[i];

		if (!put_top(out, page, table->title, &table->top, &table->columns, err))
			return false;
	}
	/* One thread is no news: then modules tell more. */
	if (overview->threads.rows.len > 1) {
		if (!put_threads(out, page, err))
			return false;
	} else if (overview->count > 0 && overview->modules.sum.value != 0) {
		char title[64];

		snprintf(title, sizeof(title), "%s, by module", overview->tables[0].title);
		if (!put_top(out, page, title, &overview->modules, &overview->tables[0].columns,
			     err))
			return false;
	}
	put_advice(out, page);
	return true;
}
