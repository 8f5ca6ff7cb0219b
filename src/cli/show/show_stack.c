#include "cli/show/show_stack.h"

#include "base/utf8.h"
#include "profile/call_walk.h"
#include "profile/source_name.h"
#include "report/code_style.h"
#include "report/show.h"

void allo_report_field_frames(struct allo_report *report, const struct allo_profile *profile,
			      allo_stack_id stack)
{
	struct allo_call_walk walk = { profile, stack, 0 };
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call;

	allo_report_list(report, "frames");
	while ((frame = allo_call_walk_next(&walk, &call)) != NULL) {
		struct allo_line line = allo_call_line(profile, frame, call);

		allo_report_object(report, NULL);
		allo_report_field_name(report, "name",
				       allo_call_name(profile, frame, call, scratch));
		allo_report_field_short(report, allo_call_name(profile, frame, call, scratch));
		allo_report_field_text(report, "file", allo_line_file(profile, line));
		if (line.line > 0)
			allo_report_field_u64(report, "line", line.line);
		if (frame->module)
			allo_report_field_text(
				report, "module",
				allo_profile_text(profile,
						  profile->modules.at[frame->module].path));
		allo_report_close(report);
	}
	allo_report_close(report);
}

void allo_draw_call(struct allo_report *report, struct allo_output *out,
		    const struct allo_profile *profile, const struct allo_frame *frame,
		    uint32_t call)
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text file = allo_source_name(allo_line_file(profile, line));
	size_t width = report->options.max_width, room = 0;
	char scratch[ALLO_NAME_SCRATCH];

	/* Names are cut, so that the place fits. */
	if (width > 0)
		room = width > 34 + allo_utf8_columns(file) ? width - 14 - allo_utf8_columns(file)
							    : 20;
	allo_output_printf(
		out, "    %s",
		allo_report_escape(report, allo_report_call_style(report, profile, frame, call)));
	allo_show_cut(out, allo_report_name(report, allo_call_name(profile, frame, call, scratch)),
		      room, false);
	if (file.len > 0) {
		allo_output_string(out, "  ");
		allo_output_printable(out, file);
		if (line.line > 0)
			allo_output_printf(out, ":%u", line.line);
	}
	allo_output_printf(out, "%s\n", report->options.style.reset);
}

void allo_report_add_stack_names(struct allo_report *report, const struct allo_profile *profile,
				 allo_stack_id stack)
{
	struct allo_call_walk walk = { profile, stack, 0 };
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call;

	while ((frame = allo_call_walk_next(&walk, &call)) != NULL)
		allo_report_add_name(report, allo_call_name(profile, frame, call, scratch));
}
