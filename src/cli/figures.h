/*
 * figures.h - the numbers of one metric, as the commands show them.
 */
#ifndef ALLO_CLI_FIGURES_H
#define ALLO_CLI_FIGURES_H

#include "cli/common.h"
#include "report/show.h"

struct allo_figures {
	const struct allo_profile *profile;
	struct allo_columns columns;
	enum allo_unit unit;
	bool is_plain;
	bool is_estimated;
	bool has_margins; /* it is known, and asked for, how far off they may be */
};

struct allo_figures allo_figures_of(const struct allo_common *common,
				    const struct allo_profile *profile, size_t metric);

/* In `out`, which is returned. */
const char *allo_figures_value(const struct allo_figures *figures, allo_sum sum,
			       char out[ALLO_NUMBER_SIZE]);
const char *allo_figures_blocks(const struct allo_figures *figures, allo_sum blocks,
				char out[ALLO_NUMBER_SIZE]);

/* "peak_bytes: 3.89 MiB in 25 blocks, live when the program held most", and a newline. */
void allo_figures_heading(const struct allo_figures *figures, const struct allo_values *sum,
			  struct allo_output *out);

/* Cells of a table: a value, and its blocks where the metric has them. */
bool allo_figures_cell(const struct allo_figures *figures, struct allo_table *table, allo_sum sum,
		       struct allo_error *err);
bool allo_figures_blocks_cell(const struct allo_figures *figures, struct allo_table *table,
			      allo_sum blocks, struct allo_error *err);

/* How far off a value may be, where that is asked for; and the column's title. */
bool allo_figures_margin_cell(const struct allo_figures *figures, struct allo_table *table,
			      const struct allo_values *values, struct allo_error *err);
bool allo_figures_margin_title(const struct allo_figures *figures, struct allo_table *table,
			       struct allo_error *err);

/* Members of an object: "self": 12, "self_blocks": 3, and "self_margin": 5 */
void allo_figures_json(const struct allo_figures *figures, struct allo_json_out *json,
		       const char *name, const struct allo_values *values);

/*
 * In reports.
 */

/* "3.89 MiB", for sentences. */
const char *allo_report_value(struct allo_report *report, const struct allo_figures *figures,
			      allo_sum sum);

/* "3.89 MiB +/- 12 KiB in 25 blocks": without blocks or margins where there are none. */
const char *allo_report_values(struct allo_report *report, const struct allo_figures *figures,
			       const struct allo_values *values);

/* A heading: "peak_bytes: 3.89 MiB in 25 blocks, live when the program held most". */
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
