/*
 * show_coverage.h - how much of the resident memory of a process its recorded blocks explain.
 */
#ifndef ALLO_CLI_SHOW_COVERAGE_H
#define ALLO_CLI_SHOW_COVERAGE_H

#include "replay/summary.h"
#include "report/report.h"

/* "malloc held 5.04 MiB of 124.6 MiB resident at the peak; the program mapped 95.2 MiB itself
 * (...)". Empty if the resident memory is unknown. */
enum { ALLO_COVERAGE_SIZE = 400 };
const char *allo_show_coverage(const struct allo_summary *summary, bool is_plain,
			       char out[ALLO_COVERAGE_SIZE]);

/* The JSON member "resident", if it is known. */
void allo_report_field_coverage(struct allo_report *report, const struct allo_summary *summary);

#endif
