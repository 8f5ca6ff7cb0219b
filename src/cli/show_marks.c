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
