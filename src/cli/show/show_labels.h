/*
 * show_labels.h - the labels of a recording, as lines and as JSON.
 *
 * `set` is one of the recording's label sets; set 0 is empty.
 */
#ifndef ALLO_CLI_SHOW_LABELS_H
#define ALLO_CLI_SHOW_LABELS_H

#include "replay/recording/recording.h"
#include "report/report.h"

/* "  request=upload  user=alice" */
void allo_show_labels(struct allo_output *out, const struct allo_recording *recording,
		      uint32_t set);

/* The JSON member "labels", unless the set is empty. */
void allo_report_field_labels(struct allo_report *report, const struct allo_recording *recording,
			      uint32_t set);

/* A cell of CSV: "key=value;key=value". */
void allo_cell_labels(struct allo_report *report, size_t column,
		      const struct allo_recording *recording, uint32_t set);

#endif
