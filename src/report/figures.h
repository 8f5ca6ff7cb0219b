/*
 * figures.h - the values of one metric in a report.
 */
#ifndef ALLO_REPORT_FIGURES_H
#define ALLO_REPORT_FIGURES_H

#include "analysis/sum.h"
#include "report/report.h"

struct allo_figures {
	const struct allo_profile *profile;
	struct allo_metric_columns columns;
	enum allo_unit unit;
	bool is_estimated;
	bool has_margins; /* of error, of estimates */
};

/* `has_margins`: margins are shown if the profile has them. */
struct allo_figures allo_figures_of(const struct allo_profile *profile, size_t metric,
				    bool has_margins);

/* "3.89 MiB", for sentences. */
const char *allo_report_value(struct allo_report *report, const struct allo_figures *figures,
			      allo_sum sum);

/* "3.89 MiB +/- 12 KiB in 25 blocks": without blocks or margins where there are none. */
const char *allo_report_values(struct allo_report *report, const struct allo_figures *figures,
			       const struct allo_values *values);

/* A heading: "peak_bytes: 3.89 MiB in 25 blocks, live at the program's peak". */
void allo_report_metric_heading(struct allo_report *report, const struct allo_figures *figures,
				const struct allo_values *sum);

/* JSON members: "self": 12, "self_margin": 5, "self_blocks": 3. */
void allo_report_field_values(struct allo_report *report, const struct allo_figures *figures,
			      const char *name, const struct allo_values *values);

/* The JSON object "metric". */
void allo_report_field_metric(struct allo_report *report, const struct allo_profile *profile,
			      size_t metric);

/* Cells.  Columns of blocks and margins that the figures do not have must be hidden. */
void allo_cell_value(struct allo_report *report, size_t column, const struct allo_figures *figures,
		     allo_sum sum);
void allo_cell_blocks(struct allo_report *report, size_t column, const struct allo_figures *figures,
		      allo_sum blocks);
void allo_cell_margin(struct allo_report *report, size_t column, const struct allo_figures *figures,
		      const struct allo_values *values);

#endif
