/* show_summary_json.c - see show_summary.h. */
#include "cli/show_marks.h"
#include "cli/show_recording.h"
#include "cli/show_summary.h"
#include "report/show.h"

static void put_json_totals(struct allo_json_out *json, const struct allo_page *page)
{
	const struct allo_summary *summary = page->summary;

	allo_json_out_key(json, "end");
	allo_json_out_string(json, allo_end_name(page->recording->head.end));
	allo_json_out_member_u64(json, "duration_ns", summary->duration_ns);
	allo_json_out_member_u64(json, "events", summary->events);
	allo_json_out_member_u64(json, "allocations", summary->allocations);
	allo_json_out_member_u64(json, "reallocs", summary->resizes);
	allo_json_out_member_u64(json, "frees", summary->frees);
	allo_json_out_member_u64(json, "alloc_bytes", summary->total_bytes);
	allo_json_out_member_u64(json, "peak_bytes", summary->peak_bytes);
	allo_json_out_member_u64(json, "peak_blocks", summary->peak_blocks);
	allo_json_out_member_u64(json, "peak_ns", summary->peak_ns);
	allo_json_out_member_u64(json, "end_bytes", summary->end_bytes);
	allo_json_out_member_u64(json, "end_blocks", summary->end_blocks);
	allo_json_out_member_u64(json, "thread_count", summary->threads);
	allo_json_out_member_u64(json, "stacks", summary->stacks);
	allo_json_out_member_u64(json, "dropped_events", summary->dropped_events);
	allo_show_json_sampling(json, summary);
	allo_show_json_marks(json, page->recording, page->marks);
}

static void put_json_timeline(struct allo_json_out *json, const struct allo_timeline *timeline)
{
	allo_json_out_key(json, "timeline");
	allo_json_out_begin(json, '{');
	allo_json_out_member_u64(json, "from_ns", timeline->from_ns);
	allo_json_out_member_u64(json, "end_ns", timeline->end_ns);
	allo_json_out_member_u64(json, "step_ns", timeline->step_ns);
	allo_json_out_key(json, "max_bytes");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < timeline->steps.len; i++)
		allo_json_out_u64(json, timeline->steps.at[i].max_bytes);
	allo_json_out_end(json);
	allo_json_out_end(json);
}

static void put_json_values(struct allo_json_out *json, const struct allo_page *page,
			    const char *key, const struct allo_values *values, bool has_blocks)
{
	allo_json_out_key(json, key);
	allo_show_json_sum(json, values->value);
	if (allo_page_has_margins(page)) {
		allo_json_out_key(json, "margin");
		allo_show_json_sum(json, allo_values_margin(values));
	}
	if (has_blocks) {
		allo_json_out_key(json, "blocks");
		allo_show_json_sum(json, values->blocks);
	}
}

static void put_json_top(struct allo_json_out *json, const struct allo_page *page,
			 const struct allo_top *top, const struct allo_columns *columns)
{
	size_t own = allo_top_own_rows(top), shown = allo_page_rows(page, own);
	char scratch[ALLO_TOP_SCRATCH];

	put_json_values(json, page, "sum", &top->sum, columns->has_blocks);
	allo_json_out_member_u64(json, "row_count", own);
	allo_json_out_key(json, "rows");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < shown; i++) {
		const struct allo_top_row *row = &top->rows.at[i];

		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "name");
		allo_json_out_text(json, allo_top_name(top, page->profile, row, scratch));
		allo_json_out_member_text(json, "file",
					  allo_profile_text(page->profile, row->key.file));
		if (row->key.function && row->key.number && top->by == ALLO_BY_SITE)
			allo_json_out_member_u64(json, "line", row->key.number);
		put_json_values(json, page, "value", &row->self, columns->has_blocks);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_json_tables(struct allo_json_out *json, const struct allo_page *page)
{
	const struct allo_overview *overview = &page->overview;

	allo_json_out_key(json, "tables");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < overview->count; i++) {
		const struct allo_overview_table *table = &overview->tables[i];

		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "name");
		allo_json_out_string(json, table->name);
		allo_json_out_key(json, "metric");
		allo_show_json_metric(json, page->profile, table->columns.metric);
		put_json_top(json, page, &table->top, &table->columns);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
	if (overview->count == 0)
		return;
	allo_json_out_key(json, "modules");
	allo_json_out_begin(json, '{');
	put_json_top(json, page, &overview->modules, &overview->tables[0].columns);
	allo_json_out_end(json);
}

static void put_json_threads(struct allo_json_out *json, const struct allo_page *page)
{
	const struct allo_label_sums *threads = &page->overview.threads;
	const struct allo_profile *profile = page->profile;
	size_t shown = allo_page_rows(page, threads->rows.len);

	allo_json_out_key(json, "threads");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < shown; i++) {
		const struct allo_label_sum *row = &threads->rows.at[i];
		const struct allo_label *thread = allo_labels_find(profile, row->labels, "thread");
		const struct allo_label *name = allo_labels_find(profile, row->labels,
								 "thread name");
		struct allo_values values = allo_thread_values(row,
							       &page->overview.tables[0].columns);

		allo_json_out_begin(json, '{');
		if (thread->is_number) {
			allo_json_out_key(json, "tid");
			allo_json_out_i64(json, thread->number);
		}
		if (name || !thread->is_number)
			allo_json_out_member_text(
				json, "name",
				allo_profile_text(profile, (name ? name : thread)->text));
		put_json_values(json, page, "value", &values,
				page->overview.tables[0].columns.has_blocks);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_json_advice(struct allo_json_out *json, const struct allo_page *page)
{
	allo_json_out_key(json, "next");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < page->advice_count; i++) {
		allo_json_out_begin(json, '{');
		allo_json_out_key(json, "command");
		allo_json_out_string(json, page->advice[i].command);
		allo_json_out_key(json, "about");
		allo_json_out_string(json, page->advice[i].about);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

void allo_show_json_summary(struct allo_output *out, const struct allo_page *page)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	const struct allo_meta *meta = &page->profile->meta;

	allo_show_json_begin_numbers(&json, allo_profile_is_estimated(page->profile));
	allo_json_out_member_text(&json, "file", allo_text_of(page->file));
	allo_json_out_member_text(&json, "format", allo_text_of(meta->format));
	allo_json_out_member_text(&json, "command",
				  allo_profile_text(page->profile, meta->command));
	if (page->summary)
		put_json_totals(&json, page);
	if (page->timeline)
		put_json_timeline(&json, page->timeline);
	put_json_tables(&json, page);
	put_json_threads(&json, page);
	put_json_advice(&json, page);
	allo_json_out_end(&json);
}
