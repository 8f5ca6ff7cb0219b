/*
 * show_findings.h - findings in reports.
 */
#ifndef ALLO_CLI_SHOW_FINDINGS_H
#define ALLO_CLI_SHOW_FINDINGS_H

#include "findings/findings.h"
#include "report/report.h"

/* Says that the names of all findings will be shown, as in allo_report_add_name(). */
void allo_report_add_findings(struct allo_report *report, const struct allo_findings *findings,
			      const struct allo_evidence *evidence);

/* All findings with everything that is known, and the rules that were not checked.  `depth` is the
 * number of calls of each stack; 0 for all.  `file` is for the commands that show the findings. */
void allo_report_findings(struct allo_report *report, const struct allo_findings *findings,
			  const struct allo_evidence *evidence, size_t depth, const char *file);

/* The most severe ones, two lines each; people see no low ones here. */
void allo_report_findings_briefly(struct allo_report *report, const struct allo_findings *findings,
				  const struct allo_evidence *evidence, size_t most);

/* The catalogue of rules with their thresholds. */
void allo_report_rules(struct allo_report *report, const struct allo_thresholds *thresholds);

#endif
