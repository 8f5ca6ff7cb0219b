/* live_page.c - describes the page. */
#include "cli/live/live_page.h"

#include "base/defer.h"
#include "telemetry/monotonic_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { INDENT = 2, INDENT_MOST = 16 };

const char *allo_report_elapsed(struct allo_report *report, uint64_t ns)
{
	unsigned long long seconds = ns / ALLO_SECOND_NS;

	if (seconds < 60)
		return allo_report_string(report, "%llu s", seconds);
	if (seconds < 3600)
		return allo_report_string(report, "%llu min %llu s", seconds / 60, seconds % 60);
	return allo_report_string(report, "%llu h %llu min", seconds / 3600, seconds / 60 % 60);
}

/* The head. */

void allo_live_page_process(struct allo_report *report, const struct allo_live_page *page)
{
	const struct allo_live_heap *heap = page->heap;
	bool is_process = heap->process.pid != 0;
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_BOLD,
			     allo_text_of(is_process
						  ? allo_recorded_process_name(&heap->process, name)
						  : heap->file));
	if (is_process && heap->file) {
		allo_report_put(report, ALLO_STYLE_PLAIN, "   ");
		allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(heap->file));
	}
	allo_report_end_line(report);
	if (!is_process)
		return;
	allo_report_field_u64(report, "pid", (uint64_t)heap->process.pid);
	allo_report_field_text(report, "program", allo_text_of(heap->process.program));
}

static bool read_rss(const struct allo_live_heap *heap, uint64_t *bytes)
{
	unsigned long long size, pages;
	char path[48];
	FILE *file;
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/statm", (int)heap->process.pid);
	file = heap->process.pid > 0 ? fopen(path, "re") : NULL;
	ok = file && fscanf(file, "%llu %llu", &size, &pages) == 2;
	if (file)
		fclose(file);
	*bytes = ok ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
	return ok;
}

void allo_live_page_totals(struct allo_report *report, const struct allo_live_page *page)
{
	const struct allo_heap_counts *counts = &page->heap->now.counts;
	uint64_t rss;

	allo_report_heap_counts(report, counts);
	allo_report_put(report, ALLO_STYLE_PLAIN, "live  %s in %s block%s   peak %s",
			allo_report_bytes(report, counts->live_bytes),
			allo_report_number(report, counts->live_blocks, ALLO_UNIT_COUNT),
			allo_plural(counts->live_blocks),
			allo_report_bytes(report, counts->peak_bytes));
	if (read_rss(page->heap, &rss)) {
		struct allo_number exact = { .magnitude = rss };

		allo_report_field_u64(report, "rss_bytes", rss);
		allo_report_put(report, ALLO_STYLE_PLAIN, "   rss %s",
				allo_report_format_number(report, exact, ALLO_UNIT_BYTES));
	}
	allo_report_end_line(report);
}

static enum allo_text_style growth_style(int64_t growth)
{
	if (growth == 0)
		return ALLO_STYLE_DIM;
	return growth > 0 ? ALLO_STYLE_RED : ALLO_STYLE_GREEN;
}

static struct allo_number growth_number(const struct allo_report *report, int64_t growth)
{
	return (struct allo_number){ .magnitude = growth < 0 ? -(uint64_t)growth : (uint64_t)growth,
				     .is_negative = growth < 0,
				     .is_estimated = report->options.is_estimated };
}

static void describe_growth(struct allo_report *report, const struct allo_live_heap *heap)
{
	const struct allo_live_look *now = &heap->now, *mark = &heap->mark;
	int64_t growth = (int64_t)(now->counts.live_bytes - mark->counts.live_bytes);
	struct allo_number number = growth_number(report, growth);
	char text[ALLO_NUMBER_SIZE];

	allo_report_field_number(report, "growth_bytes", number);
	allo_report_put(report, ALLO_STYLE_PLAIN, "grew  ");
	allo_report_put(
		report, growth_style(growth), "%s",
		allo_format_change(number, ALLO_UNIT_BYTES, report->options.is_plain, text));
	allo_report_put(report, ALLO_STYLE_PLAIN, " in %s",
			allo_report_elapsed(report, now->ns - mark->ns));
	allo_report_end_line(report);
}

void allo_live_page_rates(struct allo_report *report, const struct allo_live_page *page)
{
	const struct allo_live_heap *heap = page->heap;
	const struct allo_live_look *now = &heap->now, *before = &heap->before;
	uint64_t allocations = allo_live_heap_rate(heap, now->counts.total_blocks,
						   before->counts.total_blocks);
	uint64_t bytes = allo_live_heap_rate(heap, now->counts.total_bytes,
					     before->counts.total_bytes);
	uint64_t frees = allo_live_heap_rate(heap, now->frees, before->frees);

	allo_report_field_u64(report, "allocs_per_second", allocations);
	allo_report_field_u64(report, "bytes_per_second", bytes);
	allo_report_put(report, ALLO_STYLE_PLAIN, "rate  %s allocations/s, %s/s",
			allo_report_number(report, allocations, ALLO_UNIT_COUNT),
			allo_report_bytes(report, bytes));
	if (now->has_frees)
		allo_report_put(report, ALLO_STYLE_PLAIN, ", %s frees/s",
				allo_report_number(report, frees, ALLO_UNIT_COUNT));
	allo_report_end_line(report);
	if (page->has_growth)
		describe_growth(report, heap);
}

bool allo_live_page_has_selection(const struct allo_live_page *page)
{
	return page->site || page->patterns[0] != '\0';
}

void allo_live_page_selection(struct allo_report *report, const struct allo_live_page *page)
{
	const struct allo_live_sum *sum = page->site ? &page->site->sum : &page->sites->sum;

	if (!allo_live_page_has_selection(page))
		return;
	allo_report_put(report, ALLO_STYLE_PLAIN, "only  %s (%s)   ",
			allo_report_bytes(report, sum->live_bytes),
			allo_report_share(report, (double)sum->live_bytes,
					  (double)page->heap->now.counts.live_bytes));
	if (page->site) {
		allo_report_put(report, ALLO_STYLE_PLAIN, "callers of ");
		allo_report_put_text(report, ALLO_STYLE_BOLD,
				     allo_report_name(report, page->site->name));
		allo_report_put(report, ALLO_STYLE_PLAIN, "   ");
	}
	allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_text_of(page->patterns));
	allo_report_end_line(report);
	if (page->site)
		return;
	allo_report_field_u64(report, "selected_blocks", sum->live_blocks);
	allo_report_field_u64(report, "selected_bytes", sum->live_bytes);
}

/* Rows. */

enum {
	LIVE,
	SHARE,
	BLOCKS,
	GROWTH,
	ALLOC_BYTES,
	ALLOC_BLOCKS,
	RATE,
	SITE,
	SITE_FILE,
	LINE,
	COLUMNS
};

static const struct allo_column columns[COLUMNS] = {
	[LIVE] = { "live", NULL, "live_bytes", ALLO_CELL_BYTES, .min_width = 8 },
	[SHARE] = { "share", NULL, NULL, ALLO_CELL_SHARE, .min_width = 6 },
	[BLOCKS] = { "blocks", NULL, "live_blocks" },
	[GROWTH] = { "growth", NULL, "growth_bytes", ALLO_CELL_BYTES, .min_width = 9 },
	[ALLOC_BYTES] = { NULL, NULL, "alloc_bytes", ALLO_CELL_BYTES },
	[ALLOC_BLOCKS] = { NULL, NULL, "alloc_blocks" },
	[RATE] = { "allocs/s", NULL, "allocs_per_second" },
	[SITE] = { "site", NULL, "function", ALLO_CELL_TEXT },
	[SITE_FILE] = { NULL, NULL, "file", ALLO_CELL_TEXT },
	[LINE] = { NULL, NULL, "line", ALLO_CELL_ID },
};

static const struct allo_report_table table = { "sites", columns, COLUMNS };

static void describe_numbers(struct allo_report *report, const struct allo_live_page *page,
			     const struct allo_live_sum *sum)
{
	const struct allo_live_heap *heap = page->heap;
	int64_t growth = allo_live_growth(sum);

	allo_cell_u64(report, LIVE, sum->live_bytes);
	allo_cell_share(report, SHARE, (double)sum->live_bytes,
			(double)heap->now.counts.live_bytes);
	allo_cell_u64(report, BLOCKS, sum->live_blocks);
	allo_cell_change(report, GROWTH, growth_number(report, growth), ALLO_UNIT_BYTES);
	allo_cell_style(report, GROWTH, growth_style(growth));
	allo_cell_u64(report, ALLOC_BYTES, sum->alloc_bytes);
	allo_cell_u64(report, ALLOC_BLOCKS, sum->alloc_blocks);
	allo_cell_u64(report, RATE,
		      allo_live_heap_rate(heap, sum->alloc_blocks, sum->earlier_blocks));
}

/* Whether rows are functions, which have short names. */
static bool has_functions(const struct allo_live_page *page)
{
	return page->site || page->sites->by == ALLO_BY_FUNCTION || page->sites->by == ALLO_BY_SITE;
}

static void describe_row(struct allo_report *report, const struct allo_live_page *page,
			 const struct allo_live_row *row)
{
	unsigned indent = row->depth * INDENT < INDENT_MOST ? row->depth * INDENT : INDENT_MOST;
	struct allo_text name = has_functions(page) ? allo_report_name(report, row->name)
						    : row->name;

	allo_report_row(report);
	if (indent > 0)
		name = allo_text_of(allo_report_string(report, "%*s%.*s", (int)indent, "",
						       (int)name.len, name.data));
	allo_cell_place(report, SITE, name, row->file, row->line);
	if (row->is_own)
		allo_cell_style(report, SITE, ALLO_STYLE_BOLD);
	if (has_functions(page))
		allo_report_field_short(report, row->name);
	if (!row->is_continued)
		describe_numbers(report, page, &row->sum);
}

/* Names need room: narrow screens have fewer columns. */
static void hide_columns(struct allo_report *report, const struct allo_live_page *page)
{
	size_t width = report->options.max_width;

	if (!page->has_growth || (width > 0 && width < 40))
		allo_report_hide(report, GROWTH);
	if (width > 0 && width < 50)
		allo_report_hide(report, BLOCKS);
	if (width > 0 && width < 60)
		allo_report_hide(report, SHARE);
	if (width > 0 && width < 70)
		allo_report_hide(report, RATE);
}

void allo_live_page_rows(struct allo_report *report, const struct allo_live_page *page,
			 size_t first, size_t count)
{
	static const char *const titles[] = { "site", "line", "file", "module" };

	allo_report_table(report, &table);
	hide_columns(report, page);
	allo_report_retitle(report, SITE, page->site ? "callers" : titles[page->sites->by]);
	count = first + count < page->shown.count ? count : page->shown.count - first;
	for (size_t i = first; i < first + count && has_functions(page); i++)
		allo_report_add_name(report, page->shown.rows[i]->name);
	for (size_t i = first; i < first + count; i++)
		describe_row(report, page, page->shown.rows[i]);
	allo_report_end_table(report);
}

static void describe(struct allo_report *report, const struct allo_live_page *page)
{
	allo_live_page_process(report, page);
	allo_live_page_totals(report, page);
	allo_live_page_rates(report, page);
	allo_live_page_selection(report, page);
	if (!page->heap->file && allo_report_is_prose(report)) {
		allo_report_line(report,
				 "the process keeps counts only: its sites are not recorded");
		return;
	}
	allo_report_blank(report);
	allo_live_page_rows(report, page, 0, page->shown.count);
	if (page->heap->file && page->sites->has_attribution)
		allo_common_tell_passed(report, &page->sites->attribution, &page->sites->profile);
}

void allo_live_page_print(const struct allo_live_page *page, struct allo_output *out)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_report_options options = allo_common_report_options(
		page->common, page->heap->now.counts.is_estimated);

	options.json_lines = 0;
	allo_report_begin(&report, &options, out);
	describe(&report, page);
	allo_report_end(&report);
}
