/*
 * show_labels.h - the labels that a thread had in a recording.
 */
#ifndef ALLO_CLI_SHOW_LABELS_H
#define ALLO_CLI_SHOW_LABELS_H

#include "base/json_write.h"
#include "replay/recording.h"

/* "  request=upload  user=alice" of one of the recording's sets; nothing of none, which is 0. */
void allo_show_labels(struct allo_output *out, const struct allo_recording *recording,
		      uint32_t set);

/* A member "labels", with the text of each; none where there are none. */
void allo_show_json_labels(struct allo_json_out *json, const struct allo_recording *recording,
			   uint32_t set);

#endif
