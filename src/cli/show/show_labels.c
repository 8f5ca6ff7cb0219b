#include "cli/show/show_labels.h"

#include "base/assert.h"

/* The number of labels in a set, and the first of them. */
static uint32_t find_labels(const struct allo_recording *recording, uint32_t set,
			    const struct allo_noted_label **first)
{
	if (set == 0)
		return 0;
	ALLO_ASSERT(set < recording->label_sets.len);
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

void allo_report_field_labels(struct allo_report *report, const struct allo_recording *recording,
			      uint32_t set)
{
	const struct allo_noted_label *labels;
	uint32_t count = find_labels(recording, set, &labels);

	if (count == 0)
		return;
	allo_report_object(report, "labels");
	for (uint32_t i = 0; i < count; i++)
		allo_report_field_pair(report, allo_recording_text(recording, labels[i].key),
				       allo_recording_text(recording, labels[i].value));
	allo_report_close(report);
}

void allo_cell_labels(struct allo_report *report, size_t column,
		      const struct allo_recording *recording, uint32_t set)
{
	enum { MOST = 32, PIECES = 4 };
	struct allo_text texts[MOST * PIECES];
	const struct allo_noted_label *labels;
	uint32_t count = find_labels(recording, set, &labels);

	for (uint32_t i = 0; i < count && i < MOST; i++) {
		struct allo_text *text = &texts[i * PIECES];

		text[0] = i > 0 ? ALLO_TEXT(";") : ALLO_TEXT("");
		text[1] = allo_recording_text(recording, labels[i].key);
		text[2] = ALLO_TEXT("=");
		text[3] = allo_recording_text(recording, labels[i].value);
	}
	allo_cell_join(report, column, texts, (size_t)(count < MOST ? count : MOST) * PIECES);
}
