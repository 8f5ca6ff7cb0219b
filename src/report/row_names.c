#include "report/row_names.h"

#include "base/assert.h"
#include "report/code_style.h"

enum { VIA_COLUMNS = 50 };

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
	struct allo_text function = function_of(top, profile, row), name, via;

	if (function.len == 0)
		return allo_top_name(top, profile, row, scratch);
	name = allo_report_name(report, function);
	if ((row->via == 0 && !row->is_runtime) || !allo_report_is_prose(report))
		return name;
	if (row->is_runtime)
		return allo_text_of(allo_report_string(report, "%.*s (language runtime)",
						       ALLO_TEXT_WHOLE(name)));
	name = allo_report_text(report, name);
	via = allo_report_name(report, allo_profile_text(profile, row->via));
	/* A terminal has room for a short one only. */
	if (report->options.max_width > 0 && name.len + via.len > VIA_COLUMNS)
		return name;
	return allo_text_of(allo_report_string(report, "%.*s > %.*s", (int)name.len, name.data,
					       (int)via.len, via.data));
}

void allo_report_style_row(struct allo_report *report, size_t column,
			   const struct allo_profile *profile, const struct allo_top_row *row)
{
	const struct allo_frame *frame = &profile->frames.at[row->frame];
	bool is_function = row->key.function != 0 || row->key.file != 0 || row->key.script != 0;

	ALLO_ASSERT(row->frame != 0);
	allo_cell_style(report, column,
			is_function ? allo_report_call_style(report, profile, frame, row->call)
				    : allo_report_module_style(report, profile, row->key.module));
}

void allo_report_field_row_short(struct allo_report *report, const struct allo_top *top,
				 const struct allo_profile *profile, const struct allo_top_row *row)
{
	struct allo_text function = function_of(top, profile, row);

	if (function.len > 0)
		allo_report_field_short(report, function);
	if (function.len > 0 && row->via)
		allo_report_field_name(report, "via", allo_profile_text(profile, row->via));
}
