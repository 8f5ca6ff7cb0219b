/*
 * show_recording.h - what a recording says about its run and about itself.
 */
#ifndef ALLO_CLI_SHOW_RECORDING_H
#define ALLO_CLI_SHOW_RECORDING_H

#include "base/json_write.h"
#include "cli/terminal.h"
#include "replay/marks.h"
#include "replay/summary.h"

/* Lines of `allo info`. */
void allo_show_recording(struct allo_output *out, const struct allo_style *style,
			 const struct allo_recording *recording, const struct allo_summary *summary,
			 const struct allo_marks *marks);

/* The same as a member "recording". */
void allo_show_json_recording(struct allo_json_out *json, const struct allo_recording *recording,
			      const struct allo_summary *summary, const struct allo_marks *marks);

#endif
