/* show_processes.c - see show_processes.h. */
#include "cli/show/show_processes.h"

#include "cli/show/show_coverage.h"
#include "profile/naming.h"
#include "replay/coverage.h"

enum { PEAK, SHARE, ALLOCATIONS, TOTAL, LEFT, PROCESS, PROGRAM, PID, FILE_NAME, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[PEAK] = { "peak", NULL, "peak_bytes", ALLO_CELL_BYTES },
	[SHARE] = { "share", NULL, NULL, ALLO_CELL_SHARE },
	[ALLOCATIONS] = { "allocations", NULL, "allocations" },
	[TOTAL] = { "total", NULL, "alloc_bytes", ALLO_CELL_BYTES },
	[LEFT] = { "never freed", NULL, "end_bytes", ALLO_CELL_BYTES },
	[PROCESS] = { "process", NULL, NULL, ALLO_CELL_TEXT, .is_bold = true },
	[PROGRAM] = { NULL, NULL, "program", ALLO_CELL_TEXT },
	[PID] = { NULL, NULL, "pid", ALLO_CELL_ID },
	[FILE_NAME] = { NULL, NULL, "file", ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "processes", columns, COLUMNS };

static struct allo_summary sum_of(const struct allo_process_summaries *processes)
{
	struct allo_summary sum = { 0 };

	for (size_t i = 0; i < processes->all.len; i++) {
		const struct allo_summary *totals = &processes->all.at[i].totals;

		sum.allocations += totals->allocations;
		sum.total_bytes += totals->total_bytes;
		sum.peak_bytes += totals->peak_bytes;
		sum.end_bytes += totals->end_bytes;
	}
	return sum;
}

static void describe_process(struct allo_report *report, const struct allo_process_summary *process,
			     const struct allo_summary *sum)
{
	const struct allo_summary *totals = &process->totals;
	char name[ALLO_PROCESS_NAME_SIZE];

	allo_report_row(report);
	allo_cell_u64(report, PEAK, totals->peak_bytes);
	allo_cell_share(report, SHARE, (double)totals->peak_bytes, (double)sum->peak_bytes);
	allo_cell_u64(report, ALLOCATIONS, totals->allocations);
	allo_cell_u64(report, TOTAL, totals->total_bytes);
	allo_cell_u64(report, LEFT, totals->end_bytes);
	allo_cell_string(
		report, PROCESS,
		allo_report_string(report, "%s", allo_process_summary_name(process, name)));
	allo_cell_text(report, PROGRAM, allo_text_of(process->program));
	allo_cell_u64(report, PID, process->pid);
	allo_cell_text(report, FILE_NAME, allo_text_of(process->path));
	allo_report_field_coverage(report, totals);
}

/* How much of its resident memory is explained; the others have it in their own summaries. */
static void describe_largest(struct allo_report *report, const struct allo_process_summary *process)
{
	char name[ALLO_PROCESS_NAME_SIZE], coverage[ALLO_COVERAGE_SIZE];

	if (allo_coverage_text(&process->totals, report->options.is_plain, coverage)[0])
		allo_report_wrapped(report,
				    allo_report_string(report, "%s: %s",
						       allo_process_summary_name(process, name),
						       coverage),
				    0);
}

void allo_report_process_totals(struct allo_report *report,
				const struct allo_process_summaries *processes)
{
	struct allo_summary sum = sum_of(processes);
	size_t count = processes->all.len;

	allo_report_line(report,
			 "%s, %s allocation%s, %s total, peaks of %s in sum, %s never freed",
			 allo_report_counted(report, count, "recording"),
			 allo_report_number(report, sum.allocations, ALLO_UNIT_COUNT),
			 allo_plural(sum.allocations), allo_report_bytes(report, sum.total_bytes),
			 allo_report_bytes(report, sum.peak_bytes),
			 allo_report_bytes(report, sum.end_bytes));
	if (count > 0)
		describe_largest(report, &processes->all.at[0]);
}

void allo_report_processes(struct allo_report *report,
			   const struct allo_process_summaries *processes, size_t max_rows)
{
	struct allo_summary sum = sum_of(processes);
	size_t count = processes->all.len, shown = count < max_rows ? count : max_rows;

	if (allo_report_is(report, ALLO_REPORT_JSON))
		shown = count;
	allo_report_blank(report);
	allo_report_table(report, &table);
	for (size_t i = 0; i < shown; i++)
		describe_process(report, &processes->all.at[i], &sum);
	allo_report_end_table(report);
	if (shown < count)
		allo_report_note(report, "%s: -n 0 shows all",
				 allo_report_counted(report, count - shown, "more recording"));
}
