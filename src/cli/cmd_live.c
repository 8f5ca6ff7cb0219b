/* cmd_live.c - allo live: the heap of a running process, updated every second. */
#include "base/assert.h"
#include "base/defer.h"
#include "cli/common.h"
#include "engine/live_heap.h"
#include "report/messages.h"
#include "report/screen.h"
#include "telemetry/monotonic_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum {
	DEFAULT_SITES = 10,
	OTHER_LINES = 7, /* of the screen */
};

enum sort { SORT_BYTES, SORT_BLOCKS, SORT_RATE };

static const char *const sort_names[] = { "live", "blocks", "rate", NULL };

struct live {
	struct allo_common common;
	uint64_t interval_ns, count;
	int sort;
	bool once;
};

static const struct live defaults = { .interval_ns = 1000000000 };

#define AT(field) offsetof(struct live, field)
static const struct allo_option options[] = {
	OPT_TIME(0, "interval", "TIME", interval_ns, "time between updates (default: 1s)"),
	OPT_COUNT('n', "count", "N", count,
		  "number of sites (default: as many as fit the screen, or 10 without a terminal)"),
	OPT_CHOICE(
		0, "sort", "KEY", sort, sort_names,
		"sort by live (bytes), blocks, or rate (allocations per second) (default: live)"),
	OPT_FLAG(0, "once", once, "print one page and exit; rates are since the recording began"),
	OPT_END,
};
#undef AT

static const struct allo_option_group group = { "Page", options };

static const struct allo_option_group *const groups[] = { &group, &allo_number_group,
							  &allo_printing_group, &allo_symbols_group,
							  NULL };

static const struct allo_example examples[] = {
	{ "allo live 4711", "live bytes, allocations per second and the sites that hold the most" },
	{ "allo live %redis-server --sort rate", "the sites that allocate the most" },
	{ "allo live 4711 --once --json", "one page as JSON" },
	{ NULL, NULL },
};

struct page {
	const struct live *opt;
	struct allo_live_heap heap;
	enum sort sort;
	bool is_paused;
	const char *message; /* about the last key; NULL: none */
	unsigned marks;      /* that we added */
};

static void page_done(struct page *page)
{
	allo_live_heap_close(&page->heap);
}

/* Sites. */

struct sorted_sites {
	const struct allo_live_site **at;
	size_t count; /* that are shown */
};

static void sorted_sites_done(struct sorted_sites *sites)
{
	free(sites->at);
}

static uint64_t key_of(enum sort sort, const struct allo_live_site *site)
{
	switch (sort) {
	case SORT_BLOCKS:
		return site->live_blocks;
	case SORT_RATE:
		return site->alloc_blocks - site->earlier_blocks;
	case SORT_BYTES:
		break;
	}
	return site->live_bytes;
}

static int compare_sites(const void *a, const void *b, void *context)
{
	const struct allo_live_site *x = *(const struct allo_live_site *const *)a;
	const struct allo_live_site *y = *(const struct allo_live_site *const *)b;
	enum sort sort = *(enum sort *)context;
	uint64_t first = key_of(sort, x), second = key_of(sort, y);

	return first != second ? (first > second ? -1 : 1) : allo_text_compare(x->name, y->name);
}

static bool sort_sites(struct sorted_sites *sites, const struct page *page, size_t max_count,
		       struct allo_error *err)
{
	enum sort sort = page->sort;
	size_t count = page->heap.sites.all.len;

	if (page->opt->count > 0)
		max_count = page->opt->count;
	sites->at = calloc(count + 1, sizeof(*sites->at));
	if (!sites->at)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		sites->at[i] = &page->heap.sites.all.at[i];
		ALLO_ASSERT(sites->at[i]->alloc_blocks >= sites->at[i]->earlier_blocks);
	}
	if (count > 0)
		qsort_r(sites->at, count, sizeof(*sites->at), compare_sites, &sort);
	sites->count = count < max_count ? count : max_count;
	return true;
}

/* The page. */

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

static void describe_name(struct allo_report *report, const struct allo_live_heap *heap)
{
	bool is_process = heap->process.pid != 0;
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_BOLD,
			     allo_text_of(is_process
						  ? allo_recorded_process_name(&heap->process, name)
						  : heap->file));
	if (is_process && heap->file)
		allo_report_put(report, ALLO_STYLE_PLAIN, "   %s", heap->file);
	allo_report_end_line(report);
	if (!is_process)
		return;
	allo_report_field_u64(report, "pid", (uint64_t)heap->process.pid);
	allo_report_field_text(report, "program", allo_text_of(heap->process.program));
}

static void describe_totals(struct allo_report *report, const struct allo_live_heap *heap)
{
	const struct allo_live_look *now = &heap->now, *before = &heap->before;
	const struct allo_heap_counts *counts = &now->counts;
	uint64_t rss, allocations, bytes;

	allocations = allo_live_heap_rate(heap, counts->total_blocks, before->counts.total_blocks);
	bytes = allo_live_heap_rate(heap, counts->total_bytes, before->counts.total_bytes);
	allo_report_heap_counts(report, counts);
	allo_report_field_u64(report, "allocs_per_second", allocations);
	allo_report_field_u64(report, "bytes_per_second", bytes);
	allo_report_put(report, ALLO_STYLE_PLAIN, "live  %s in %s block%s   peak %s",
			allo_report_bytes(report, counts->live_bytes),
			allo_report_number(report, counts->live_blocks, ALLO_UNIT_COUNT),
			allo_plural(counts->live_blocks),
			allo_report_bytes(report, counts->peak_bytes));
	if (read_rss(heap, &rss)) {
		struct allo_number exact = { .magnitude = rss };

		allo_report_field_u64(report, "rss_bytes", rss);
		allo_report_put(report, ALLO_STYLE_PLAIN, "   rss %s",
				allo_report_format_number(report, exact, ALLO_UNIT_BYTES));
	}
	allo_report_end_line(report);
	allo_report_put(report, ALLO_STYLE_PLAIN, "rate  %s allocations/s of %s/s",
			allo_report_number(report, allocations, ALLO_UNIT_COUNT),
			allo_report_bytes(report, bytes));
	if (now->has_frees)
		allo_report_put(
			report, ALLO_STYLE_PLAIN, ", %s frees/s",
			allo_report_number(report,
					   allo_live_heap_rate(heap, now->frees, before->frees),
					   ALLO_UNIT_COUNT));
	allo_report_end_line(report);
}

enum { LIVE, SHARE, BLOCKS, ALLOC_BYTES, ALLOC_BLOCKS, RATE, SITE, SITE_FILE, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[LIVE] = { "live", NULL, "live_bytes", ALLO_CELL_BYTES },
	[SHARE] = { "share", NULL, NULL, ALLO_CELL_SHARE },
	[BLOCKS] = { "blocks", NULL, "live_blocks" },
	[ALLOC_BYTES] = { NULL, NULL, "alloc_bytes", ALLO_CELL_BYTES },
	[ALLOC_BLOCKS] = { NULL, NULL, "alloc_blocks" },
	[RATE] = { "allocs/s", NULL, "allocs_per_second" },
	[SITE] = { "site", NULL, "function", ALLO_CELL_TEXT, .is_bold = true },
	[SITE_FILE] = { NULL, NULL, "file", ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "sites", columns, COLUMNS };

static void describe_site(struct allo_report *report, const struct allo_live_heap *heap,
			  const struct allo_live_site *site)
{
	bool is_idle = site->live_blocks == 0 && site->alloc_blocks == site->earlier_blocks;

	if (is_idle && allo_report_is_prose(report))
		return;
	allo_report_row(report);
	allo_cell_place(report, SITE, allo_report_name(report, site->name), site->file, 0);
	allo_cell_u64(report, LIVE, site->live_bytes);
	allo_cell_share(report, SHARE, (double)site->live_bytes,
			(double)heap->now.counts.live_bytes);
	allo_cell_u64(report, BLOCKS, site->live_blocks);
	allo_cell_u64(report, ALLOC_BYTES, site->alloc_bytes);
	allo_cell_u64(report, ALLOC_BLOCKS, site->alloc_blocks);
	allo_cell_u64(report, RATE,
		      allo_live_heap_rate(heap, site->alloc_blocks, site->earlier_blocks));
}

static void describe(struct allo_report *report, const struct allo_live_heap *heap,
		     const struct sorted_sites *sites)
{
	describe_name(report, heap);
	describe_totals(report, heap);
	if (!heap->file && allo_report_is_prose(report)) {
		allo_report_line(report,
				 "the process keeps counts only: its sites are not recorded");
		return;
	}
	allo_report_blank(report);
	allo_report_table(report, &table);
	for (size_t i = 0; i < sites->count; i++)
		describe_site(report, heap, sites->at[i]);
	allo_report_end_table(report);
}

/* Prints a page to `out`; JSON takes one line. */
static bool print_page(const struct page *page, size_t max_sites, struct allo_output *out,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(sorted_sites_done) struct sorted_sites sites = { 0 };
	struct allo_report_options report_options = allo_common_report_options(
		&page->opt->common, page->heap.now.counts.is_estimated);

	report_options.json_lines = 0;
	if (!sort_sites(&sites, page, max_sites, err))
		return false;
	allo_report_begin(&report, &report_options, out);
	describe(&report, &page->heap, &sites);
	allo_report_end(&report);
	return true;
}

/* Without a terminal. */

static bool print_once(const struct page *page, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };

	return allo_common_open_result(&out, err) && print_page(page, DEFAULT_SITES, &out, err) &&
	       allo_output_finish(&out, err);
}

static bool print_all(struct page *page, struct allo_error *err)
{
	while (!page->heap.has_ended && allo_live_heap_look(&page->heap, err) &&
	       print_once(page, err) && !page->opt->once) {
		allo_wait_ns(page->opt->interval_ns);
		if (!page->opt->common.json)
			(void)!write(STDOUT_FILENO, "\n", 1);
		if (!allo_live_heap_check(&page->heap, err))
			break;
	}
	return !allo_failed(err);
}

/* On a terminal. */

static bool draw(const struct page *page, struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	ALLO_DEFER(allo_free_pointer) char *text = NULL;
	size_t lines = allo_terminal_rows(), len;
	struct allo_style style = allo_common_style(&page->opt->common);

	if (!allo_output_open_memory(&out, &(struct allo_output_options){ 0 }, err) ||
	    !print_page(page, lines > OTHER_LINES ? lines - OTHER_LINES : 1, &out, err))
		return false;
	allo_output_printf(&out, "\n%s%s%s%s", style.dim,
			   page->message ? page->message
					 : "q quit  space pause  l live  b blocks  r rate  m mark",
			   page->is_paused ? "   paused" : "", style.reset);
	if (!allo_output_finish(&out, err))
		return false;
	text = allo_output_take_memory(&out, &len, err);
	if (text)
		allo_screen_draw((struct allo_text){ text, len });
	return text != NULL;
}

static const char *add_mark(struct page *page)
{
	struct allo_error err = { 0 };
	char name[32];

	if (page->heap.process.pid == 0)
		return "marks need a process, not a file";
	snprintf(name, sizeof(name), "live-%u", ++page->marks);
	return allo_recorded_process_mark(&page->heap.process, name, &err)
		       ? "marked"
		       : "the mark could not be added";
}

/* Returns false to quit. */
static bool handle_key(struct page *page, int key)
{
	page->message = NULL;
	switch (key) {
	case 'q':
	case ALLO_KEY_END:
		return false;
	case ' ':
		page->is_paused = !page->is_paused;
		break;
	case 'l':
		page->sort = SORT_BYTES;
		break;
	case 'b':
		page->sort = SORT_BLOCKS;
		break;
	case 'r':
		page->sort = SORT_RATE;
		break;
	case 'm':
		page->message = add_mark(page);
		break;
	default:
		break;
	}
	return true;
}

/* Waits for the next update and handles keys meanwhile; false at the end. */
static bool wait_for_update(struct page *page, struct allo_error *err)
{
	uint64_t until = allo_clock_ns() + page->opt->interval_ns;

	for (;;) {
		uint64_t now = allo_clock_ns();
		int key;

		if (now >= until && !page->is_paused)
			return true;
		key = allo_screen_key(now >= until ? 1000 : (int)((until - now) / 1000000) + 1);
		if (key != ALLO_KEY_NONE && (!handle_key(page, key) || !draw(page, err)))
			return false;
	}
}

static bool show(struct page *page, struct allo_error *err)
{
	while (!page->heap.has_ended && allo_live_heap_look(&page->heap, err) && draw(page, err) &&
	       wait_for_update(page, err) && allo_live_heap_check(&page->heap, err))
		;
	allo_screen_close();
	if (page->heap.has_ended && !allo_failed(err))
		allo_say("the recording has ended");
	return !allo_failed(err);
}

static bool run_live(const void *options_given, char **names, struct allo_error *err)
{
	const struct live *opt = options_given;
	ALLO_DEFER(page_done)
	struct page page = { .opt = opt, .sort = (enum sort)opt->sort };
	struct allo_source_options source;

	if (opt->interval_ns < 100000000)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "--interval must be at least 100ms");
	if (allo_common_source(&opt->common, &source, err) &&
	    allo_live_heap_open(&page.heap, &source, names[0], err)) {
		if (opt->common.json || opt->once || !allo_screen_open())
			print_all(&page, err);
		else
			show(&page, err);
	}
	return allo_common_keep_error(err);
}

const struct allo_command allo_cmd_live = {
	.name = "live",
	.heading = "Watch",
	.summary = "show the heap of a running process, updated every second",
	.arguments = "PID|FILE",
	.about =
		"Shows the live memory of a process that is being recorded, its allocations per "
		"second, and the functions that hold the most. On a terminal it updates one page; "
		"otherwise it prints one page after the other. It reads the recording from outside "
		"the process: once from the start, and then only new events. FILE may be a recording "
		"that is still being written. A process that keeps counts only has no functions.\n\n"
		"Keys on a terminal: q quits, space pauses, l, b and r sort by live bytes, blocks and "
		"allocations per second, and m adds a mark to the recording.\n\n"
		"PID is a process id, the path of its socket, or %NAME if only one process has that "
		"name.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct live),
	.defaults = &defaults,
	.files_least = 1,
	.files_most = 1,
	.completes = ALLO_COMPLETE_PROCESSES,
	.run = run_live,
};
