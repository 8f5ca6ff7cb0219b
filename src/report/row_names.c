#include "report/row_names.h"

/* The full name of the row's function; empty: the row is named otherwise. */
static struct allo_text function_of(const struct allo_top *top, const struct allo_profile *profile,
				    const struct allo_top_row *row)
{
	if (top->by == ALLO_BY_FILE || top->by == ALLO_BY_MODULE)
		return (struct allo_text){ "", 0 };
	return allo_profile_text(profile, row->key.function);
}

void allo_report_add_row_name(struct allo_report *report, const struct allo_top *top,
			      const struct allo_profile *profile, const struct allo_top_row *row)
{
	struct allo_text function = function_of(top, profile, row);

	if (function.len > 0)
		allo_report_add_name(report, function);
}

struct allo_text allo_report_row_name(struct allo_report *report, const struct allo_top *top,
				      const struct allo_profile *profile,
				      const struct allo_top_row *row,
				      char scratch[ALLO_TOP_SCRATCH])
{
	struct allo_text function = function_of(top, profile, row);

	return function.len > 0 ? allo_report_name(report, function)
				: allo_top_name(top, profile, row, scratch);
}

void allo_report_field_row_short(struct allo_report *report, const struct allo_top *top,
				 const struct allo_profile *profile, const struct allo_top_row *row)
{
	struct allo_text function = function_of(top, profile, row);

	if (function.len > 0)
		allo_report_field_short(report, function);
}
