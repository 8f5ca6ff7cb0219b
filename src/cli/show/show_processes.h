/*
 * show_processes.h - the table of the recordings of several processes.
 */
#ifndef ALLO_CLI_SHOW_PROCESSES_H
#define ALLO_CLI_SHOW_PROCESSES_H

#include "engine/live/process_summary.h"
#include "report/report.h"

/* In text: the sums of all, and how much of its memory malloc explains in the largest. */
void allo_report_process_totals(struct allo_report *report,
				const struct allo_process_summaries *processes);

/* A table with up to `max_rows` rows in text; JSON has all of them. */
void allo_report_processes(struct allo_report *report,
			   const struct allo_process_summaries *processes, size_t max_rows);

#endif
