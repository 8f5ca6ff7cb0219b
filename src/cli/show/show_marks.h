/*
 * show_marks.h - the marks of a recording, in a report.
 */
#ifndef ALLO_CLI_SHOW_MARKS_H
#define ALLO_CLI_SHOW_MARKS_H

#include "replay/recording/marks.h"
#include "report/report.h"

/* "load at 1.0 s, serve at 2.5 s": a part of a line, with the first marks only. */
void allo_report_put_marks(struct allo_report *report, const struct allo_recording *recording,
			   const struct allo_marks *marks);

/* The JSON member "marks", if there are any. */
void allo_report_field_marks(struct allo_report *report, const struct allo_recording *recording,
			     const struct allo_marks *marks);

#endif
