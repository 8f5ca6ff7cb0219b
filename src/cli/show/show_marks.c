#include "cli/show/show_marks.h"

enum { SHOWN = 12 };

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
