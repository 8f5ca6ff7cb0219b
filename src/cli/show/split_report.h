/*
 * split_report.h - 'allo timeline --by': the heap over time by function, thread or label.
 */
#ifndef ALLO_CLI_SPLIT_REPORT_H
#define ALLO_CLI_SPLIT_REPORT_H

#include "cli/common.h"
#include "report/time_chart.h"

enum allo_split_by {
	ALLO_SPLIT_NONE,
	ALLO_SPLIT_FUNCTION,
	ALLO_SPLIT_SITE,
	ALLO_SPLIT_THREAD,
};

struct allo_split_options {
	const struct allo_common *common;
	const char *file;
	enum allo_split_by by;
	const char *label; /* a key, in place of `by` */
	uint64_t count;    /* groups; the others are one */
	size_t most_steps;
	bool is_ascii;
};

/* Makes and prints it. */
bool allo_split_report(const struct allo_split_options *options, struct allo_source *source,
		       struct allo_error *err);

/* Draws the groups into a chart that has everything but its areas.  Their levels are the bytes live
 * at the end of each step, which add up. */
bool allo_split_draw(const struct allo_split_options *options, struct allo_source *source,
		     struct allo_time_chart *chart, struct allo_output *out,
		     struct allo_error *err);

#endif
