/* figures.c - formats the values of a metric by its unit. */
#include "report/figures.h"

#include "profile/metric_about.h"
#include "profile/naming.h"

#include <stdio.h>

struct allo_figures allo_figures_of(const struct allo_profile *profile, size_t metric,
				    bool has_margins)
{
	return (struct allo_figures){
		.profile = profile,
		.columns = allo_metric_columns_of(profile, metric),
		.unit = allo_unit_of(allo_profile_text(profile, profile->metrics.at[metric].unit)),
		.is_estimated = allo_profile_estimates(profile, metric),
		.has_margins = has_margins && profile->variances.len > 0,
	};
}

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
	char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];

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
	allo_report_put(report, ALLO_STYLE_PLAIN, ", %s",
			allo_metric_about(figures->profile, figures->columns.metric, about));
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
	char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];

	allo_report_object(report, "metric");
	allo_report_field_name(report, "name", allo_metric_name(profile, metric, scratch));
	allo_report_field_name(report, "unit", allo_profile_text(profile, of->unit));
	allo_report_field_string(report, "about", allo_metric_about(profile, metric, about));
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
