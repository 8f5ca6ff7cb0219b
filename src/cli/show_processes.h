/*
 * show_processes.h - the table of the recordings of several processes.
 */
#ifndef ALLO_CLI_SHOW_PROCESSES_H
#define ALLO_CLI_SHOW_PROCESSES_H

#include "engine/process_summary.h"
#include "report/report.h"

/* The sums of all, and a table with up to `max_rows` rows in text; JSON has all of them. */
void allo_report_processes(struct allo_report *report,
			   const struct allo_process_summaries *processes, size_t max_rows);

#endif
