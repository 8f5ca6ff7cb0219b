/*
 * show_diff.h - the table of a comparison of two profiles.
 */
#ifndef ALLO_CLI_SHOW_DIFF_H
#define ALLO_CLI_SHOW_DIFF_H

#include "analysis/top.h"
#include "cli/figures.h"

/* Names of the changes of a row; NULL ends. */
extern const char *const allo_diff_changes[];

struct allo_show_diff {
	uint64_t count; /* of rows; 0: all */
	unsigned only;  /* bits by allo_diff_changes; 0: all */
	bool is_normalized;
};

/* `top` is sorted by change. */
void allo_report_diff(struct allo_report *report, const struct allo_show_diff *show,
		      const struct allo_top *top, const struct allo_figures *figures);

#endif
