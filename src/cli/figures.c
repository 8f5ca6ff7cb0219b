/* figures.c - see figures.h. */
#include "cli/figures.h"

#include "profile/naming.h"

#include <stdio.h>

struct allo_figures allo_figures_of(const struct allo_common *common,
				    const struct allo_profile *profile, size_t metric)
{
	return (struct allo_figures){
		.profile = profile,
		.columns = allo_columns_of(profile, metric),
		.unit = allo_unit_of(allo_profile_text(profile, profile->metrics.at[metric].unit)),
		.is_plain = common->plain || common->csv,
		/* Programs read tables: there a number is a number. */
		.is_estimated = allo_profile_estimates(profile, metric) && !common->csv,
		.has_margins = common->verbose && profile->variances.len > 0,
	};
}

const char *allo_figures_value(const struct allo_figures *figures, allo_sum sum,
			       char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_estimate(sum, figures->is_estimated), figures->unit,
			   figures->is_plain, out);
}

const char *allo_figures_blocks(const struct allo_figures *figures, allo_sum blocks,
				char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_estimate(blocks, figures->is_estimated), ALLO_UNIT_COUNT,
			   figures->is_plain, out);
}

/* In `out`, which is returned. */
static const char *format_margin(const struct allo_figures *figures,
				 const struct allo_values *values, char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_number(allo_values_margin(values)), figures->unit,
			   figures->is_plain, out);
}

/* Where a number does not show it. */
static void put_unit(const struct allo_figures *figures, struct allo_output *out)
{
	const struct allo_metric *metric = &figures->profile->metrics.at[figures->columns.metric];
	struct allo_text unit = allo_profile_text(figures->profile, metric->unit);

	if (figures->unit != ALLO_UNIT_COUNT || unit.len == 0 ||
	    allo_text_equal(unit, ALLO_TEXT("count")))
		return;
	allo_output_byte(out, ' ');
	allo_output_printable(out, unit);
}

void allo_figures_heading(const struct allo_figures *figures, const struct allo_values *sum,
			  struct allo_output *out)
{
	size_t metric = figures->columns.metric;
	enum allo_meaning meaning = figures->profile->metrics.at[metric].meaning;
	char value[ALLO_NUMBER_SIZE], blocks[ALLO_NUMBER_SIZE], scratch[ALLO_NAME_SCRATCH];

	allo_output_printable(out, allo_metric_name(figures->profile, metric, scratch));
	allo_output_printf(out, ": %s", allo_figures_value(figures, sum->value, value));
	if (figures->has_margins)
		allo_output_printf(out, " +/- %s", format_margin(figures, sum, value));
	if (figures->columns.has_blocks)
		allo_output_printf(out, " in %s block%s",
				   allo_figures_blocks(figures, sum->blocks, blocks),
				   sum->blocks == 1 ? "" : "s");
	put_unit(figures, out);
	allo_output_printf(out, ", %s\n", allo_metric_kinds[meaning].about);
}

bool allo_figures_cell(const struct allo_figures *figures, struct allo_table *table, allo_sum sum,
		       struct allo_error *err)
{
	char text[ALLO_NUMBER_SIZE];

	return allo_table_string(table, allo_figures_value(figures, sum, text), err);
}

bool allo_figures_blocks_cell(const struct allo_figures *figures, struct allo_table *table,
			      allo_sum blocks, struct allo_error *err)
{
	char text[ALLO_NUMBER_SIZE];

	return !figures->columns.has_blocks ||
	       allo_table_string(table, allo_figures_blocks(figures, blocks, text), err);
}

bool allo_figures_margin_cell(const struct allo_figures *figures, struct allo_table *table,
			      const struct allo_values *values, struct allo_error *err)
{
	char text[ALLO_NUMBER_SIZE];

	return !figures->has_margins ||
	       allo_table_string(table, format_margin(figures, values, text), err);
}

bool allo_figures_margin_title(const struct allo_figures *figures, struct allo_table *table,
			       struct allo_error *err)
{
	return !figures->has_margins ||
	       allo_table_string(table, figures->is_plain ? "margin" : "+/-", err);
}

void allo_figures_json(const struct allo_figures *figures, struct allo_json_out *json,
		       const char *name, const struct allo_values *values)
{
	char blocks[32], margin[32];

	allo_json_out_key(json, name);
	allo_show_json_sum(json, values->value);
	if (figures->has_margins) {
		snprintf(margin, sizeof(margin), "%s_margin", name);
		allo_json_out_key(json, margin);
		allo_show_json_sum(json, allo_values_margin(values));
	}
	if (!figures->columns.has_blocks)
		return;
	snprintf(blocks, sizeof(blocks), "%s_blocks", name);
	allo_json_out_key(json, blocks);
	allo_show_json_sum(json, values->blocks);
}

/* In reports. */

const char *allo_report_value(struct allo_report *report, const struct allo_figures *figures,
			      allo_sum sum)
{
	return allo_report_format_number(report, allo_sum_estimate(sum, figures->is_estimated),
					 figures->unit);
}

const char *allo_report_values(struct allo_report *report, const struct allo_figures *figures,
			       const struct allo_values *values)
{
	const char *margin = "", *blocks = "";

	if (figures->has_margins)
		margin = allo_report_string(
			report, " +/- %s",
			allo_report_format_number(report,
						  allo_sum_number(allo_values_margin(values)),
						  figures->unit));
	if (figures->columns.has_blocks)
		blocks = allo_report_string(
			report, " in %s block%s",
			allo_report_format_number(
				report, allo_sum_estimate(values->blocks, figures->is_estimated),
				ALLO_UNIT_COUNT),
			values->blocks == 1 ? "" : "s");
	return allo_report_string(report, "%s%s%s",
				  allo_report_value(report, figures, values->value), margin,
				  blocks);
}

void allo_report_metric_heading(struct allo_report *report, const struct allo_figures *figures,
				const struct allo_values *sum)
{
	const struct allo_metric *metric = &figures->profile->metrics.at[figures->columns.metric];
	struct allo_text unit = allo_profile_text(figures->profile, metric->unit);
	char scratch[ALLO_NAME_SCRATCH];

	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_PLAIN,
			     allo_metric_name(figures->profile, figures->columns.metric, scratch));
	allo_report_put(report, ALLO_STYLE_PLAIN, ": %s", allo_report_values(report, figures, sum));
	/* Other numbers show their unit. */
	if (figures->unit == ALLO_UNIT_COUNT && unit.len > 0 &&
	    !allo_text_equal(unit, ALLO_TEXT("count"))) {
		allo_report_put(report, ALLO_STYLE_PLAIN, " ");
		allo_report_put_text(report, ALLO_STYLE_PLAIN, unit);
	}
	allo_report_put(report, ALLO_STYLE_PLAIN, ", %s", allo_metric_kinds[metric->meaning].about);
	allo_report_end_line(report);
}

void allo_report_field_values(struct allo_report *report, const struct allo_figures *figures,
			      const char *name, const struct allo_values *values)
{
	char member[64];

	allo_report_field_sum(report, name, values->value);
	if (figures->has_margins) {
		snprintf(member, sizeof(member), "%s_margin", name);
		allo_report_field_sum(report, member, allo_values_margin(values));
	}
	if (figures->columns.has_blocks) {
		snprintf(member, sizeof(member), "%s_blocks", name);
		allo_report_field_sum(report, member, values->blocks);
	}
}

void allo_report_field_metric(struct allo_report *report, const struct allo_profile *profile,
			      size_t metric)
{
	const struct allo_metric *of = &profile->metrics.at[metric];
	char scratch[ALLO_NAME_SCRATCH];

	allo_report_object(report, "metric");
	allo_report_field_name(report, "name", allo_metric_name(profile, metric, scratch));
	allo_report_field_name(report, "unit", allo_profile_text(profile, of->unit));
	allo_report_field_string(report, "about", allo_metric_kinds[of->meaning].about);
	allo_report_field_bool(report, "adds_up", allo_metric_kinds[of->meaning].is_additive);
	allo_report_close(report);
}

void allo_cell_value(struct allo_report *report, size_t column, const struct allo_figures *figures,
		     allo_sum sum)
{
	allo_cell_number(report, column, allo_sum_estimate(sum, figures->is_estimated),
			 figures->unit);
}

void allo_cell_blocks(struct allo_report *report, size_t column, const struct allo_figures *figures,
		      allo_sum blocks)
{
	allo_cell_number(report, column, allo_sum_estimate(blocks, figures->is_estimated),
			 ALLO_UNIT_COUNT);
}

void allo_cell_margin(struct allo_report *report, size_t column, const struct allo_figures *figures,
		      const struct allo_values *values)
{
	allo_cell_number(report, column, allo_sum_number(allo_values_margin(values)),
			 figures->unit);
}
