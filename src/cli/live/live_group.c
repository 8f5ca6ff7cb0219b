/* live_group.c - follows each process, and adds up the rows that have the same id. */
#include "cli/live/live_group.h"

#include "base/assert.h"
#include "base/defer.h"
#include "telemetry/monotonic_clock.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A process; neither part may move. */
struct member {
	struct allo_live_heap heap;
	struct allo_live_sites sites;
};

struct group {
	const struct allo_live_group_options *options;
	ALLO_VEC(struct member *) members;
	ALLO_VEC(struct allo_live_row) rows;          /* sums; names belong to the members */
	ALLO_VEC(const struct allo_live_row *) shown; /* in order */
	struct allo_live_heap sum;                    /* only the looks are set */
};

static void member_free(struct member *member)
{
	allo_live_sites_done(&member->sites);
	allo_live_heap_close(&member->heap);
	free(member);
}

static void group_done(struct group *group)
{
	for (size_t i = 0; i < group->members.len; i++)
		member_free(group->members.at[i]);
	allo_vec_done(&group->members);
	allo_vec_done(&group->rows);
	allo_vec_done(&group->shown);
}

/* Processes. */

static bool add_member(struct group *group, const struct allo_recorded_process *process,
		       const struct allo_source_options *source, struct allo_error *err)
{
	const struct allo_live_group_options *options = group->options;
	struct member *member = calloc(1, sizeof(*member));
	char pid[16];

	if (!member || !allo_vec_append(&group->members, &member, 1)) {
		free(member);
		return allo_fail_memory(err);
	}
	snprintf(pid, sizeof(pid), "%d", (int)process->pid);
	member->sites.by = options->by;
	member->sites.has_attribution = !options->common->keep_allocator;
	return allo_common_attribution(options->common, &member->sites.attribution, err) &&
	       allo_common_filter(options->common, false, &member->sites.filter, err) &&
	       allo_live_heap_open(&member->heap, source,
				   process->socket[0] ? process->socket : pid, err);
}

static void add_look(struct allo_live_look *sum, const struct allo_live_look *more)
{
	if (more->ns > sum->ns)
		sum->ns = more->ns;
	sum->counts.live_bytes += more->counts.live_bytes;
	sum->counts.live_blocks += more->counts.live_blocks;
	sum->counts.total_bytes += more->counts.total_bytes;
	sum->counts.total_blocks += more->counts.total_blocks;
	sum->counts.is_estimated |= more->counts.is_estimated;
	sum->has_frees = true;
	sum->frees += more->frees;
}

/* The looks of all, and the start of the first. */
static void add_up_looks(struct group *group)
{
	struct allo_live_heap *sum = &group->sum;

	*sum = (struct allo_live_heap){ .process.start_ns = UINT64_MAX };
	for (size_t i = 0; i < group->members.len; i++) {
		const struct allo_live_heap *heap = &group->members.at[i]->heap;

		add_look(&sum->now, &heap->now);
		add_look(&sum->before, &heap->before);
		add_look(&sum->mark, &heap->mark);
		if (heap->process.start_ns < sum->process.start_ns)
			sum->process.start_ns = heap->process.start_ns;
	}
}

/* Rows. */

static int compare_ids(const void *a, const void *b)
{
	const struct allo_live_row *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_shown(const void *a, const void *b, void *sort)
{
	return allo_live_row_compare(*(const struct allo_live_row *const *)a,
				     *(const struct allo_live_row *const *)b,
				     *(const enum allo_live_sort *)sort);
}

static bool collect_rows(struct group *group, struct allo_error *err)
{
	group->rows.len = 0;
	for (size_t i = 0; i < group->members.len; i++) {
		const struct allo_live_sites *sites = &group->members.at[i]->sites;

		if (sites->rows.len > 0 &&
		    !allo_vec_append(&group->rows, sites->rows.at, sites->rows.len))
			return allo_fail_memory(err);
	}
	if (group->rows.len > 1)
		qsort(group->rows.at, group->rows.len, sizeof(*group->rows.at), compare_ids);
	return true;
}

/* Adds up rows with the same id, which are neighbours now. */
static void merge_rows(struct group *group)
{
	struct allo_live_row *rows = group->rows.at;
	size_t kept = 0;

	for (size_t i = 0; i < group->rows.len; i++) {
		if (kept > 0 && rows[kept - 1].id == rows[i].id)
			allo_live_sum_add(&rows[kept - 1].sum, &rows[i].sum);
		else
			rows[kept++] = rows[i];
	}
	ALLO_ASSERT(kept <= group->rows.len);
	group->rows.len = kept;
}

static bool sort_rows(struct group *group, struct allo_error *err)
{
	enum allo_live_sort sort = group->options->sort;

	group->shown.len = 0;
	for (size_t i = 0; i < group->rows.len; i++) {
		const struct allo_live_row *row = &group->rows.at[i];

		if (!allo_live_is_idle(&row->sum))
			allo_vec_add(&group->shown, row, err);
	}
	if (group->shown.len > 1)
		qsort_r(group->shown.at, group->shown.len, sizeof(*group->shown.at), compare_shown,
			&sort);
	return !allo_failed(err);
}

/* A member that fails while another one goes on has ended. */
static bool look(struct group *group, struct allo_error *err)
{
	size_t kept = 0;

	for (size_t i = 0; i < group->members.len; i++) {
		struct member *member = group->members.at[i];
		struct allo_error failure = { 0 };

		if ((member->heap.now.ns == 0 || allo_live_heap_check(&member->heap, &failure)) &&
		    !member->heap.has_ended && allo_live_heap_look(&member->heap, &failure) &&
		    allo_live_sites_update(&member->sites, &member->heap, &failure))
			group->members.at[kept++] = member;
		else
			member_free(member);
	}
	group->members.len = kept;
	add_up_looks(group);
	if (!collect_rows(group, err))
		return false;
	merge_rows(group);
	return sort_rows(group, err);
}

/* The page. */

enum { LIVE, BLOCKS, GROWTH, RATE, PROCESS, PROGRAM, PID, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[LIVE] = { "live", NULL, "live_bytes", ALLO_CELL_BYTES, .min_width = 8 },
	[BLOCKS] = { "blocks", NULL, "live_blocks" },
	[GROWTH] = { "growth", NULL, "growth_bytes", ALLO_CELL_BYTES, .min_width = 9 },
	[RATE] = { "allocs/s", NULL, "allocs_per_second" },
	[PROCESS] = { "process", NULL, NULL, ALLO_CELL_TEXT, .is_bold = true },
	[PROGRAM] = { NULL, NULL, "program", ALLO_CELL_TEXT },
	[PID] = { NULL, NULL, "pid", ALLO_CELL_ID },
};

static const struct allo_report_table table = { "processes", columns, COLUMNS };

static void describe_member(struct allo_report *report, const struct allo_live_heap *heap)
{
	const struct allo_heap_counts *counts = &heap->now.counts;
	int64_t growth = (int64_t)(counts->live_bytes - heap->mark.counts.live_bytes);
	char name[ALLO_RECORDED_PROCESS_NAME_SIZE];

	allo_report_row(report);
	allo_cell_u64(report, LIVE, counts->live_bytes);
	allo_cell_u64(report, BLOCKS, counts->live_blocks);
	allo_cell_change(report, GROWTH,
			 (struct allo_number){ .magnitude = growth < 0 ? -(uint64_t)growth
								       : (uint64_t)growth,
					       .is_negative = growth < 0 },
			 ALLO_UNIT_BYTES);
	allo_cell_u64(
		report, RATE,
		allo_live_heap_rate(heap, counts->total_blocks, heap->before.counts.total_blocks));
	allo_cell_string(
		report, PROCESS,
		allo_report_string(report, "%s", allo_recorded_process_name(&heap->process, name)));
	allo_cell_text(report, PROGRAM, allo_text_of(heap->process.program));
	allo_cell_u64(report, PID, (uint64_t)heap->process.pid);
}

static void describe_members(struct allo_report *report, const struct group *group)
{
	const struct allo_heap_counts *counts = &group->sum.now.counts;

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_BOLD,
			     allo_text_of(group->members.at[0]->heap.process.program));
	allo_report_put(report, ALLO_STYLE_PLAIN, ": %zu processes, live %s in %s block%s",
			group->members.len, allo_report_bytes(report, counts->live_bytes),
			allo_report_number(report, counts->live_blocks, ALLO_UNIT_COUNT),
			allo_plural(counts->live_blocks));
	allo_report_end_line(report);
	allo_report_field_u64(report, "live_bytes", counts->live_bytes);
	allo_report_field_u64(report, "live_blocks", counts->live_blocks);
	allo_report_field_u64(report, "alloc_bytes", counts->total_bytes);
	allo_report_field_u64(report, "alloc_blocks", counts->total_blocks);
	allo_report_blank(report);
	allo_report_table(report, &table);
	if (group->options->once)
		allo_report_hide(report, GROWTH);
	for (size_t i = 0; i < group->members.len; i++)
		describe_member(report, &group->members.at[i]->heap);
	allo_report_end_table(report);
}

static void describe(struct allo_report *report, struct group *group)
{
	const struct allo_live_group_options *options = group->options;
	struct allo_live_sites *sites = &group->members.at[0]->sites;
	struct allo_live_page page = {
		.common = options->common,
		.heap = &group->sum,
		.sites = sites, /* for the kind of rows */
		.shown = { .rows = group->shown.at, .count = group->shown.len },
		.has_growth = !options->once,
		.patterns = "",
	};

	if (page.shown.count > options->max_rows && !options->common->json)
		page.shown.count = options->max_rows;
	describe_members(report, group);
	allo_report_blank(report);
	allo_live_page_rows(report, &page, 0, page.shown.count);
	if (sites->has_attribution)
		allo_common_tell_passed(report, &sites->attribution, &sites->profile);
}

static bool print_page(struct group *group, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_report_options options = allo_common_report_options(
		group->options->common, group->sum.now.counts.is_estimated);

	if (!allo_common_open_result(&out, err))
		return false;
	options.json_lines = 0;
	allo_report_begin(&report, &options, &out);
	describe(&report, group);
	allo_report_end(&report);
	return allo_output_finish(&out, err);
}

bool allo_live_group_print(const struct allo_live_group_options *options,
			   const struct allo_recorded_processes *list, struct allo_error *err)
{
	ALLO_DEFER(group_done) struct group group = { .options = options };
	struct allo_source_options source;

	if (!allo_common_source(options->common, &source, err))
		return false;
	for (size_t i = 0; i < list->all.len; i++) {
		if (!add_member(&group, &list->all.at[i], &source, err))
			return false;
	}
	while (look(&group, err) && group.members.len > 0 && print_page(&group, err) &&
	       !options->once) {
		allo_wait_ns(options->interval_ns);
		if (!options->common->json)
			(void)!write(STDOUT_FILENO, "\n", 1);
	}
	return !allo_failed(err);
}
