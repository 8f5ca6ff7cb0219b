/*
 * show_marks.h - the marks of a recording.
 */
#ifndef ALLO_CLI_SHOW_MARKS_H
#define ALLO_CLI_SHOW_MARKS_H

#include "base/json_write.h"
#include "replay/marks.h"
#include "report/report.h"

/* A line, "load at 1.0 s, serve at 2.5 s", of the first of them. */
void allo_show_marks(struct allo_output *out, const struct allo_recording *recording,
		     const struct allo_marks *marks, bool is_plain);

/* A member "marks"; none where there are none. */
void allo_show_json_marks(struct allo_json_out *json, const struct allo_recording *recording,
			  const struct allo_marks *marks);

/* The same in a report: pieces of a line, and a JSON member. */
void allo_report_put_marks(struct allo_report *report, const struct allo_recording *recording,
			   const struct allo_marks *marks);
void allo_report_field_marks(struct allo_report *report, const struct allo_recording *recording,
			     const struct allo_marks *marks);

#endif
