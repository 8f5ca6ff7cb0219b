/*
 * show_coverage.h - the resident memory of a process, in JSON.
 */
#ifndef ALLO_CLI_SHOW_COVERAGE_H
#define ALLO_CLI_SHOW_COVERAGE_H

#include "replay/summary.h"
#include "report/report.h"

/* The JSON member "resident", if it is known. */
void allo_report_field_coverage(struct allo_report *report, const struct allo_summary *summary);

#endif
