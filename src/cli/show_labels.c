/* show_labels.c - see show_labels.h. */
#include "cli/show_labels.h"

/* How many a set has, and the first of them. */
static uint32_t find_labels(const struct allo_recording *recording, uint32_t set,
			    const struct allo_noted_label **first)
{
	if (set == 0)
		return 0;
	*first = &recording->labels.at[recording->label_sets.at[set].first];
	return recording->label_sets.at[set].count;
}

void allo_show_labels(struct allo_output *out, const struct allo_recording *recording, uint32_t set)
{
	const struct allo_noted_label *labels;
	uint32_t count = find_labels(recording, set, &labels);

	for (uint32_t i = 0; i < count; i++) {
		allo_output_string(out, "  ");
		allo_output_printable(out, allo_recording_text(recording, labels[i].key));
		allo_output_byte(out, '=');
		allo_output_printable(out, allo_recording_text(recording, labels[i].value));
	}
}

void allo_show_json_labels(struct allo_json_out *json, const struct allo_recording *recording,
			   uint32_t set)
{
	const struct allo_noted_label *labels;
	uint32_t count = find_labels(recording, set, &labels);

	if (count == 0)
		return;
	allo_json_out_key(json, "labels");
	allo_json_out_begin(json, '{');
	for (uint32_t i = 0; i < count; i++) {
		allo_json_out_key_text(json, allo_recording_text(recording, labels[i].key));
		allo_json_out_text(json, allo_recording_text(recording, labels[i].value));
	}
	allo_json_out_end(json);
}
