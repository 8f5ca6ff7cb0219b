/* show_marks.c - see show_marks.h. */
#include "cli/show_marks.h"

#include "base/units.h"

enum { SHOWN = 12 };

void allo_show_marks(struct allo_output *out, const struct allo_recording *recording,
		     const struct allo_marks *marks, bool is_plain)
{
	size_t count = marks->list.len, shown = count > SHOWN ? SHOWN : count;
	char number[ALLO_NUMBER_SIZE];

	for (size_t i = 0; i < shown; i++) {
		const struct allo_mark *mark = &marks->list.at[i];

		allo_output_string(out, i > 0 ? ", " : "");
		allo_output_printable(out, allo_recording_text(recording, mark->name));
		allo_output_printf(out, " at %s",
				   allo_format((struct allo_number){ mark->ns, false },
					       ALLO_UNIT_NS, is_plain, number));
	}
	if (shown < count)
		allo_output_printf(out, " and %s more", allo_format_count(count - shown, number));
	allo_output_byte(out, '\n');
}

void allo_show_json_marks(struct allo_json_out *json, const struct allo_recording *recording,
			  const struct allo_marks *marks)
{
	if (marks->list.len == 0)
		return;
	allo_json_out_key(json, "marks");
	allo_json_out_begin(json, '[');
	for (size_t i = 0; i < marks->list.len; i++) {
		const struct allo_mark *mark = &marks->list.at[i];

		allo_json_out_begin(json, '{');
		allo_json_out_member_u64(json, "ns", mark->ns);
		allo_json_out_member_u64(json, "tid", recording->streams.at[mark->stream].thread);
		allo_json_out_key(json, "name");
		allo_json_out_text(json, allo_recording_text(recording, mark->name));
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

void allo_report_put_marks(struct allo_report *report, const struct allo_recording *recording,
			   const struct allo_marks *marks)
{
	size_t count = marks->list.len, shown = count > SHOWN ? SHOWN : count;

	for (size_t i = 0; i < shown; i++) {
		const struct allo_mark *mark = &marks->list.at[i];

		allo_report_put(report, ALLO_STYLE_PLAIN, "%s", i > 0 ? ", " : "");
		allo_report_put_text(report, ALLO_STYLE_PLAIN,
				     allo_recording_text(recording, mark->name));
		allo_report_put(report, ALLO_STYLE_PLAIN, " at %s",
				allo_report_number(report, mark->ns, ALLO_UNIT_NS));
	}
	if (shown < count)
		allo_report_put(report, ALLO_STYLE_PLAIN, " and %s more",
				allo_report_count(report, count - shown));
}

void allo_report_field_marks(struct allo_report *report, const struct allo_recording *recording,
			     const struct allo_marks *marks)
{
	if (marks->list.len == 0)
		return;
	allo_report_list(report, "marks");
	for (size_t i = 0; i < marks->list.len; i++) {
		const struct allo_mark *mark = &marks->list.at[i];

		allo_report_object(report, NULL);
		allo_report_field_u64(report, "ns", mark->ns);
		allo_report_field_u64(report, "tid", recording->streams.at[mark->stream].thread);
		allo_report_field_name(report, "name", allo_recording_text(recording, mark->name));
		allo_report_close(report);
	}
	allo_report_close(report);
}
