/*
 * row_names.h - names of the rows of a table by function, site, file or module.
 */
#ifndef ALLO_REPORT_ROW_NAMES_H
#define ALLO_REPORT_ROW_NAMES_H

#include "analysis/top.h"
#include "report/report.h"

/* Says that a row will be shown, as in allo_report_add_name(). */
void allo_report_add_row_name(struct allo_report *report, const struct allo_top *top,
			      const struct allo_profile *profile, const struct allo_top_row *row);

/* The row's name as the report shows it: short for functions in text and Markdown, with the wrapper
 * that it calls, "burst > std::vector<char>::vector".  Stays until the next call. */
struct allo_text allo_report_row_name(struct allo_report *report, const struct allo_top *top,
				      const struct allo_profile *profile,
				      const struct allo_top_row *row,
				      char scratch[ALLO_TOP_SCRATCH]);

/* Shows in the style of the row's name whether it is own code: bold, or a library's: dim. */
void allo_report_style_row(struct allo_report *report, size_t column,
			   const struct allo_profile *profile, const struct allo_top_row *row);

/* The JSON members "short" of a row whose short name differs from its name, and "via", the wrapper
 * that it calls. */
void allo_report_field_row_short(struct allo_report *report, const struct allo_top *top,
				 const struct allo_profile *profile,
				 const struct allo_top_row *row);

#endif
