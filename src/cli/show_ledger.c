/* show_ledger.c - see show_ledger.h. */
#include "cli/show_ledger.h"

#include "base/defer.h"
#include "base/json_write.h"
#include "base/units.h"
#include "report/messages.h"
#include "report/show.h"
#include "report/table.h"
#include "telemetry/metric_table.h"
#include "telemetry/metrics.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The table. */

static const char *format_signed(int64_t value, bool is_plain, char out[ALLO_NUMBER_SIZE])
{
	struct allo_number number = { value < 0 ? (uint64_t)-value : (uint64_t)value, value < 0,
				      false };

	return allo_format(number, ALLO_UNIT_BYTES, is_plain, out);
}

static const char *format_known(uint64_t value, enum allo_unit unit, bool is_plain,
				bool is_estimated, char out[ALLO_NUMBER_SIZE])
{
	if (value == 0)
		return "";
	return allo_format((struct allo_number){ value, false, is_estimated }, unit, is_plain, out);
}

static bool add_row(struct allo_table *table, const struct allo_shown_process *process,
		    enum allo_ledger_part part, bool is_plain, struct allo_error *err)
{
	const struct allo_ledger_row *row = &process->ledger->rows[part];
	const struct allo_ledger_name *name = &allo_ledger_parts[part];
	bool is_estimated = process->is_live_estimated && part == ALLO_PART_LIVE;
	char rss[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE], bytes[ALLO_NUMBER_SIZE];
	char count[ALLO_NUMBER_SIZE];

	return allo_table_string(table, format_signed(row->rss, is_plain, rss), err) &&
	       allo_table_string(
		       table,
		       allo_format_share((double)row->rss, (double)process->ledger->rss, share),
		       err) &&
	       allo_table_string(
		       table,
		       format_known(row->bytes, ALLO_UNIT_BYTES, is_plain, is_estimated, bytes),
		       err) &&
	       allo_table_string(table,
				 name->counted[0] ? format_known(row->blocks, ALLO_UNIT_COUNT,
								 is_plain, is_estimated, count)
						  : "",
				 err) &&
	       allo_table_string(table, name->title, err) &&
	       allo_table_string(table, name->about, err);
}

static bool is_shown(const struct allo_ledger_row *row)
{
	return row->is_there && (row->rss != 0 || row->bytes != 0);
}

static bool print_rows(struct allo_output *out, const struct allo_shown_process *process,
		       const struct allo_common *common, struct allo_error *err)
{
	struct allo_style style = allo_common_style(common);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 6,
				    .is_left = { [4] = true, [5] = true },
				    .style = { [4] = style.bold },
				    .style_end = style.reset,
				    .max_width = allo_common_width(common) };
	static const char *const titles[] = { "resident", "share", "size", "count", "what", "" };

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		if (!allo_table_string(&table, titles[i], err))
			return false;
	}
	for (int i = 0; i < ALLO_PARTS; i++) {
		if (is_shown(&process->ledger->rows[i]) &&
		    !add_row(&table, process, (enum allo_ledger_part)i, common->plain, err))
			return false;
	}
	allo_table_print(&table, out);
	return true;
}

/* Around it. */

struct page {
	struct allo_output *out;
	bool is_plain;
};

/* ", 12.0 MiB what", where that is known. */
static void print_known(const struct page *page, const char *before, uint64_t value,
			const char *after)
{
	char text[ALLO_NUMBER_SIZE];

	if (value == ALLO_UNKNOWN)
		return;
	allo_output_printf(page->out, "%s%s%s", before,
			   allo_format((struct allo_number){ value, false, false }, ALLO_UNIT_BYTES,
				       page->is_plain, text),
			   after);
}

static void print_heading(const struct page *page, const struct allo_shown_process *process)
{
	const struct allo_memory_snapshot *snapshot = process->snapshot;

	allo_output_printf(page->out, "process %" PRIu64 " (", snapshot->pid);
	allo_output_printable(page->out, allo_text_of(process->program));
	allo_output_string(page->out, ")");
	print_known(page, ": ", process->ledger->rss, " resident");
	print_known(page, ", ", snapshot->process.rss_peak_bytes, " at most");
	if (process->ledger->swap > 0)
		print_known(page, ", ", process->ledger->swap, " swapped out");
	if (process->ledger->allocator[0])
		allo_output_printf(page->out, "; %s's malloc", process->ledger->allocator);
	allo_output_string(page->out, "\n");
}

static void print_cgroup(const struct page *page, const struct allo_cgroup_memory *cgroup)
{
	if (cgroup->current_bytes == ALLO_UNKNOWN)
		return;
	allo_output_string(page->out, "control group ");
	allo_output_printable(page->out, allo_text_of(cgroup->path));
	print_known(page, ": ", cgroup->current_bytes, " used");
	print_known(page, ", ", cgroup->working_set_bytes, " of it in use lately");
	if (cgroup->limit_bytes == ALLO_UNKNOWN)
		allo_output_string(page->out, ", no limit");
	else
		print_known(page, ", limit ", cgroup->limit_bytes, "");
	if (cgroup->oom_kills != ALLO_UNKNOWN && cgroup->oom_kills > 0)
		allo_output_printf(page->out, ", %" PRIu64 " killed for want of memory",
				   cgroup->oom_kills);
	allo_output_string(page->out, "\n");
}

static void print_note(struct allo_output *page, const char *before, const char *note)
{
	if (page)
		allo_output_printf(page, "note: %s%s\n", before, note);
	else
		allo_say_note("%s%s", before, note);
}

void allo_show_process_notes(const struct allo_shown_process *process, struct allo_output *page)
{
	if (process->live_why)
		print_note(page, "what was asked for is not known: ", process->live_why);
	for (size_t i = 0; process->ledger->notes[i]; i++)
		print_note(page, "", process->ledger->notes[i]);
}

/* The largest mappings, each with its part. */

enum { MAPPINGS = 20 };

static int compare_mappings(const void *left, const void *right)
{
	const struct allo_vma *a = *(const struct allo_vma *const *)left;
	const struct allo_vma *b = *(const struct allo_vma *const *)right;

	if (a->rss != b->rss)
		return a->rss > b->rss ? -1 : 1;
	return a->start < b->start ? -1 : a->start > b->start;
}

static bool add_mapping(struct allo_table *table, const struct allo_vma *vma, bool has_profiler,
			bool is_plain, struct allo_error *err)
{
	enum allo_ledger_part part = allo_ledger_part_of(vma, has_profiler);
	char rss[ALLO_NUMBER_SIZE], size[ALLO_NUMBER_SIZE], range[48];

	snprintf(range, sizeof(range), "%" PRIx64 "-%" PRIx64, vma->start, vma->end);
	return allo_table_string(table, format_signed((int64_t)vma->rss, is_plain, rss), err) &&
	       allo_table_string(table,
				 format_signed((int64_t)(vma->end - vma->start), is_plain, size),
				 err) &&
	       allo_table_string(table, allo_ledger_parts[part].title, err) &&
	       allo_table_string(table, range, err) && allo_table_cell(table, vma->name, err);
}

static bool print_mappings(struct allo_output *out, const struct allo_shown_process *process,
			   const struct allo_common *common, struct allo_error *err)
{
	static const char *const titles[] = { "resident", "size", "mostly", "from and to", "name" };
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 5,
				    .is_left = { [2] = true, [3] = true, [4] = true },
				    .max_width = allo_common_width(common) };
	bool has_profiler = allo_ledger_has_profiler(process->vmas);
	ALLO_VEC(const struct allo_vma *) sorted = { 0 };
	bool ok = true;

	for (size_t i = 0; i < process->vmas->all.len && ok; i++) {
		const struct allo_vma *vma = &process->vmas->all.at[i];

		ok = vma->rss == 0 || allo_vec_append(&sorted, &vma, 1) || allo_fail_memory(err);
	}
	if (sorted.len > 0)
		qsort(sorted.at, sorted.len, sizeof(*sorted.at), compare_mappings);
	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles) && ok; i++)
		ok = allo_table_string(&table, titles[i], err);
	for (size_t i = 0; i < sorted.len && i < MAPPINGS && ok; i++)
		ok = add_mapping(&table, sorted.at[i], has_profiler, common->plain, err);
	allo_vec_done(&sorted);
	if (ok)
		allo_table_print(&table, out);
	return ok;
}

bool allo_show_process(struct allo_output *out, const struct allo_shown_process *process,
		       const struct allo_common *common, struct allo_error *err)
{
	struct page page = { out, common->plain };

	print_heading(&page, process);
	if (!print_rows(out, process, common, err))
		return false;
	if (common->verbose) {
		allo_output_string(out, "\n");
		if (!print_mappings(out, process, common, err))
			return false;
		allo_output_string(out, "\n");
	}
	print_cgroup(&page, &process->snapshot->cgroup);
	return true;
}

/* JSON. */

static void put_row(struct allo_json_out *json, const struct allo_ledger_row *row,
		    enum allo_ledger_part part)
{
	const struct allo_ledger_name *name = &allo_ledger_parts[part];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_string(json, name->name);
	allo_json_out_key(json, "rss_bytes");
	allo_json_out_i64(json, row->rss);
	if (row->bytes > 0)
		allo_json_out_member_u64(json, "bytes", row->bytes);
	if (name->counted[0] && row->blocks > 0)
		allo_json_out_member_u64(json, name->counted, row->blocks);
	allo_json_out_key(json, "about");
	allo_json_out_string(json, name->about);
	allo_json_out_end(json);
}

static void put_notes(struct allo_json_out *json, const struct allo_shown_process *process)
{
	allo_json_out_key(json, "notes");
	allo_json_out_begin(json, '[');
	if (process->live_why)
		allo_json_out_string(json, process->live_why);
	for (size_t i = 0; process->ledger->notes[i]; i++)
		allo_json_out_string(json, process->ledger->notes[i]);
	allo_json_out_end(json);
}

static void put_ledger(struct allo_output *out, const struct allo_shown_process *process)
{
	const struct allo_ledger *ledger = process->ledger;
	struct allo_json_out json = { .out = out };

	allo_json_out_begin(&json, '{');
	allo_json_out_member_u64(&json, "rss_bytes", ledger->rss);
	allo_json_out_member_u64(&json, "swap_bytes", ledger->swap);
	allo_json_out_member_text(&json, "allocator", allo_text_of(ledger->allocator));
	allo_json_out_member_u64(&json, "page_walk_ns", process->vmas->read_ns);
	allo_json_out_member_u64(&json, "block_walk_ns", ledger->walk_ns);
	if (process->is_live_estimated) {
		allo_json_out_key(&json, "estimated");
		allo_json_out_bool(&json, true);
	}
	allo_json_out_key(&json, "parts");
	allo_json_out_begin(&json, '[');
	for (int i = 0; i < ALLO_PARTS; i++) {
		if (is_shown(&ledger->rows[i]))
			put_row(&json, &ledger->rows[i], (enum allo_ledger_part)i);
	}
	allo_json_out_end(&json);
	put_notes(&json, process);
	allo_json_out_end(&json);
}

void allo_show_process_json(struct allo_output *out, const struct allo_shown_process *process)
{
	char text[64 << 10];
	struct allo_text_buffer draft = { text, sizeof(text), 0 };

	allo_metrics_put_members(&draft, process->snapshot);
	allo_buffer_end(&draft);
	allo_output_string(out, "{\"v\":1,\"program\":");
	allo_json_out_quoted(out, allo_text_of(process->program));
	allo_output_printf(out, ",%s,\"ledger\":", text);
	put_ledger(out, process);
	allo_output_string(out, "}\n");
}

/* The figures. */

static const char *type_name(enum allo_metric_type type)
{
	switch (type) {
	case ALLO_COUNTER:
		return "counter";
	case ALLO_INFO:
		return "info";
	case ALLO_GAUGE:
		break;
	}
	return "gauge";
}

static const char *cost_name(enum allo_metric_cost cost)
{
	switch (cost) {
	case ALLO_COST_PAGES:
		return "pages";
	case ALLO_COST_ARENAS:
		return "arenas";
	case ALLO_COST_NONE:
		break;
	}
	return "none";
}

/* "process.rss_bytes" */
static const char *member_of(const struct allo_memory_metric *figure, char *out, size_t room)
{
	snprintf(out, room, "%s.%s", figure->group, figure->name ? figure->name : "");
	return figure->name ? out : "";
}

static bool add_figure(struct allo_table *table, const struct allo_memory_metric *figure,
		       const char **help, struct allo_error *err)
{
	char metric[128], member[64];
	const char *label = figure->label ? figure->label : "";

	snprintf(metric, sizeof(metric), "%s%s%s%s", figure->prometheus, label[0] ? "{" : "", label,
		 label[0] ? "}" : "");
	*help = figure->help ? figure->help : *help;
	return allo_table_string(table, metric, err) &&
	       allo_table_string(table, type_name(figure->type), err) &&
	       allo_table_string(table, cost_name(figure->cost), err) &&
	       allo_table_string(table, member_of(figure, member, sizeof(member)), err) &&
	       allo_table_string(table, *help, err);
}

static bool make_figures(struct allo_table *table, struct allo_error *err)
{
	static const char *const titles[] = { "metric", "type", "cost", "json", "meaning" };
	const char *help = "";

	for (size_t i = 0; i < sizeof(titles) / sizeof(*titles); i++) {
		if (!allo_table_string(table, titles[i], err))
			return false;
	}
	for (const struct allo_memory_metric *figure = allo_memory_metrics; figure->group;
	     figure++) {
		if (figure->prometheus && !add_figure(table, figure, &help, err))
			return false;
	}
	return true;
}

static void put_figures(struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	const char *help = "";
	char member[64];

	allo_show_json_begin(&json);
	allo_json_out_key(&json, "metrics");
	allo_json_out_begin(&json, '[');
	for (const struct allo_memory_metric *figure = allo_memory_metrics; figure->group;
	     figure++) {
		if (!figure->prometheus)
			continue;
		help = figure->help ? figure->help : help;
		allo_json_out_begin(&json, '{');
		allo_json_out_member_text(&json, "metric", allo_text_of(figure->prometheus));
		allo_json_out_member_text(&json, "label",
					  allo_text_of(figure->label ? figure->label : ""));
		allo_json_out_member_text(&json, "type", allo_text_of(type_name(figure->type)));
		allo_json_out_member_text(&json, "cost", allo_text_of(cost_name(figure->cost)));
		allo_json_out_member_text(&json, "json",
					  allo_text_of(member_of(figure, member, sizeof(member))));
		allo_json_out_member_text(&json, "about", allo_text_of(help));
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

bool allo_show_figures(struct allo_output *out, const struct allo_common *common,
		       struct allo_error *err)
{
	struct allo_style style = allo_common_style(common);
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 5,
				    .is_left = { true, true, true, true, true },
				    .style = { style.bold },
				    .style_end = style.reset,
				    .max_width = allo_common_width(common) };

	if (common->json) {
		put_figures(out);
		return true;
	}
	if (!make_figures(&table, err))
		return false;
	if (common->csv)
		allo_table_print_csv(&table, out);
	else
		allo_table_print(&table, out);
	return true;
}
