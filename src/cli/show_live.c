/* show_live.c - see show_live.h. */
#include "cli/show_live.h"

#include "base/defer.h"
#include "base/json_write.h"
#include "report/show.h"
#include "report/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static uint64_t key_of(enum allo_live_sort sort, const struct allo_live_site *site)
{
	switch (sort) {
	case ALLO_LIVE_BY_BLOCKS:
		return site->live_blocks;
	case ALLO_LIVE_BY_RATE:
		return site->alloc_blocks - site->earlier_blocks;
	case ALLO_LIVE_BY_BYTES:
		break;
	}
	return site->live_bytes;
}

static int compare_sites(const void *a, const void *b, void *context)
{
	const struct allo_live_site *x = *(const struct allo_live_site *const *)a;
	const struct allo_live_site *y = *(const struct allo_live_site *const *)b;
	enum allo_live_sort sort = *(enum allo_live_sort *)context;
	uint64_t first = key_of(sort, x), second = key_of(sort, y);

	return first != second ? (first > second ? -1 : 1) : allo_text_compare(x->name, y->name);
}

/* The sites that are to be shown. */
struct shown {
	const struct allo_live_site **sites;
	size_t count;
};

static void shown_done(struct shown *shown)
{
	free(shown->sites);
}

static bool find_shown(struct shown *shown, const struct allo_live_heap *heap,
		       const struct allo_live_form *form, struct allo_error *err)
{
	enum allo_live_sort sort = form->sort;
	size_t count = heap->sites.all.len;

	shown->sites = calloc(count + 1, sizeof(*shown->sites));
	if (!shown->sites)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++)
		shown->sites[i] = &heap->sites.all.at[i];
	if (count > 0)
		qsort_r(shown->sites, count, sizeof(*shown->sites), compare_sites, &sort);
	shown->count = count < form->most ? count : form->most;
	return true;
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

/* Text. */

/* Numbers of one look. */
struct numbers {
	const struct allo_live_heap *heap;
	bool are_plain;
};

static const char *format(const struct numbers *numbers, uint64_t value, enum allo_unit unit,
			  char out[ALLO_NUMBER_SIZE])
{
	struct allo_number number = { .magnitude = value,
				      .is_estimated = numbers->heap->now.counts.is_estimated };

	return allo_format(number, unit, numbers->are_plain, out);
}

static const char *format_rate(const struct numbers *numbers, uint64_t now, uint64_t before,
			       enum allo_unit unit, char out[ALLO_NUMBER_SIZE])
{
	return format(numbers, allo_live_heap_rate(numbers->heap, now, before), unit, out);
}

static void print_name(const struct allo_live_heap *heap, const struct allo_style *style,
		       struct allo_output *out)
{
	bool is_process = heap->process.pid != 0;
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_output_string(out, style->bold);
	if (is_process)
		allo_output_printable(
			out, allo_text_of(allo_recorded_process_name(&heap->process, name)));
	else
		allo_output_printable(out, allo_text_of(heap->file));
	allo_output_string(out, style->reset);
	if (is_process && heap->file) {
		allo_output_string(out, "   ");
		allo_output_printable(out, allo_text_of(heap->file));
	}
	allo_output_string(out, "\n");
}

static void print_totals(const struct numbers *numbers, struct allo_output *out)
{
	const struct allo_live_look *now = &numbers->heap->now, *before = &numbers->heap->before;
	char one[ALLO_NUMBER_SIZE], two[ALLO_NUMBER_SIZE], three[ALLO_NUMBER_SIZE];
	uint64_t rss;

	allo_output_printf(out, "live  %s in %s block%s   peak %s",
			   format(numbers, now->counts.live_bytes, ALLO_UNIT_BYTES, one),
			   format(numbers, now->counts.live_blocks, ALLO_UNIT_COUNT, two),
			   now->counts.live_blocks == 1 ? "" : "s",
			   format(numbers, now->counts.peak_bytes, ALLO_UNIT_BYTES, three));
	if (read_rss(numbers->heap, &rss))
		allo_output_printf(out, "   rss %s", allo_format_bytes(rss, one));
	allo_output_printf(out, "\nrate  %s allocations/s of %s/s",
			   format_rate(numbers, now->counts.total_blocks,
				       before->counts.total_blocks, ALLO_UNIT_COUNT, one),
			   format_rate(numbers, now->counts.total_bytes, before->counts.total_bytes,
				       ALLO_UNIT_BYTES, two));
	if (now->has_frees)
		allo_output_printf(
			out, ", %s frees/s",
			format_rate(numbers, now->frees, before->frees, ALLO_UNIT_COUNT, three));
	allo_output_string(out, "\n");
}

static bool add_site(struct allo_table *table, const struct numbers *numbers,
		     const struct allo_live_site *site, struct allo_error *err)
{
	double all = (double)numbers->heap->now.counts.live_bytes;
	char bytes[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE], blocks[ALLO_NUMBER_SIZE];
	char rate[ALLO_NUMBER_SIZE];

	format(numbers, site->live_bytes, ALLO_UNIT_BYTES, bytes);
	allo_format_share((double)site->live_bytes, all, share);
	format(numbers, site->live_blocks, ALLO_UNIT_COUNT, blocks);
	format_rate(numbers, site->alloc_blocks, site->earlier_blocks, ALLO_UNIT_COUNT, rate);
	return allo_table_string(table, bytes, err) && allo_table_string(table, share, err) &&
	       allo_table_string(table, blocks, err) && allo_table_string(table, rate, err) &&
	       allo_show_place(table, false, site->name, site->file, 0, err);
}

static bool print_sites(const struct numbers *numbers, const struct allo_live_form *form,
			const struct allo_style *style, struct allo_output *out,
			struct allo_error *err)
{
	static const char *const titles[] = { "live", "share", "blocks", "allocs/s", "site" };
	enum { COLUMNS = sizeof(titles) / sizeof(*titles) };
	ALLO_DEFER(shown_done) struct shown shown = { 0 };
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = COLUMNS,
				    .is_left = { [COLUMNS - 1] = true },
				    .style = { [COLUMNS - 1] = style->bold },
				    .style_end = style->reset,
				    .max_width = allo_common_width(form->common) };

	if (!find_shown(&shown, numbers->heap, form, err))
		return false;
	for (size_t i = 0; i < COLUMNS; i++) {
		if (!allo_table_string(&table, titles[i], err))
			return false;
	}
	for (size_t i = 0; i < shown.count; i++) {
		const struct allo_live_site *site = shown.sites[i];
		bool is_over = site->live_blocks == 0 && site->alloc_blocks == site->earlier_blocks;

		if (!is_over && !add_site(&table, numbers, site, err))
			return false;
	}
	allo_table_print(&table, out);
	return true;
}

bool allo_show_live(const struct allo_live_heap *heap, const struct allo_live_form *form,
		    struct allo_output *out, struct allo_error *err)
{
	struct numbers numbers = { heap, form->common->plain };
	struct allo_style style = allo_common_style(form->common);

	print_name(heap, &style, out);
	print_totals(&numbers, out);
	if (!heap->file) {
		allo_output_string(out, "the process only counts: who holds it is not known\n");
		return true;
	}
	allo_output_string(out, "\n");
	return print_sites(&numbers, form, &style, out, err);
}

/* JSON. */

static void print_site(struct allo_json_out *json, const struct allo_live_heap *heap,
		       const struct allo_live_site *site)
{
	allo_json_out_begin(json, '{');
	allo_json_out_member_text(json, "function", site->name);
	allo_json_out_member_text(json, "file", site->file);
	allo_json_out_member_u64(json, "live_bytes", site->live_bytes);
	allo_json_out_member_u64(json, "live_blocks", site->live_blocks);
	allo_json_out_member_u64(json, "alloc_bytes", site->alloc_bytes);
	allo_json_out_member_u64(json, "alloc_blocks", site->alloc_blocks);
	allo_json_out_member_u64(
		json, "allocs_per_second",
		allo_live_heap_rate(heap, site->alloc_blocks, site->earlier_blocks));
	allo_json_out_end(json);
}

bool allo_show_live_json(const struct allo_live_heap *heap, const struct allo_live_form *form,
			 struct allo_output *out, struct allo_error *err)
{
	const struct allo_heap_counts *now = &heap->now.counts;
	const struct allo_heap_counts *before = &heap->before.counts;
	ALLO_DEFER(shown_done) struct shown shown = { 0 };
	struct allo_json_out json = { .out = out };
	uint64_t rss;

	if (!find_shown(&shown, heap, form, err))
		return false;
	allo_show_json_begin_numbers(&json, now->is_estimated);
	if (heap->process.pid) {
		allo_json_out_member_u64(&json, "pid", (uint64_t)heap->process.pid);
		allo_json_out_member_text(&json, "program", allo_text_of(heap->process.program));
	}
	allo_show_heap_counts(&json, now);
	allo_json_out_member_u64(
		&json, "allocs_per_second",
		allo_live_heap_rate(heap, now->total_blocks, before->total_blocks));
	allo_json_out_member_u64(&json, "bytes_per_second",
				 allo_live_heap_rate(heap, now->total_bytes, before->total_bytes));
	if (read_rss(heap, &rss))
		allo_json_out_member_u64(&json, "rss_bytes", rss);
	allo_json_out_key(&json, "sites");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < shown.count; i++)
		print_site(&json, heap, shown.sites[i]);
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	allo_output_string(out, "\n");
	return true;
}

void allo_show_heap_counts(struct allo_json_out *json, const struct allo_heap_counts *counts)
{
	allo_json_out_member_u64(json, "alloc_blocks", counts->total_blocks);
	allo_json_out_member_u64(json, "alloc_bytes", counts->total_bytes);
	allo_json_out_member_u64(json, "live_blocks", counts->live_blocks);
	allo_json_out_member_u64(json, "live_bytes", counts->live_bytes);
	allo_json_out_member_u64(json, "peak_blocks", counts->peak_blocks);
	allo_json_out_member_u64(json, "peak_bytes", counts->peak_bytes);
}
