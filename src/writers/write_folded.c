/*
 * write_folded.c - folded stacks, one per line, outermost caller first:
 *
 *     main;parse line;malloc 4096
 *
 * A line has only names, so many stacks print the same: these are added up.
 */
#include "analysis/sum.h"
#include "base/assert.h"
#include "base/defer.h"
#include "writers/printable.h"
#include "writers/writer.h"

struct folded {
	struct allo_write_job *w;
	const struct allo_profile *profile;
	struct allo_metric_columns columns;
	struct allo_printable printable; /* its samples are the lines, with two numbers */
	ALLO_VEC(allo_frame_id) frames;  /* of the current line, innermost first */
};

static void folded_done(struct folded *folded)
{
	allo_printable_done(&folded->printable);
	allo_vec_done(&folded->frames);
}

static bool print_name(const void *context, const struct allo_profile *profile,
		       const struct allo_frame *frame, uint32_t call, struct allo_chars *out)
{
	char scratch[ALLO_NAME_SCRATCH];

	(void)context;
	return allo_chars_add_folded(out, allo_call_name(profile, frame, call, scratch));
}

/* The numbers of a line. */
enum { BEFORE, AFTER, NUMBERS };

static bool add_lines(struct folded *folded, struct allo_error *err)
{
	const struct allo_profile *profile = folded->profile;
	struct allo_profile *lines = &folded->printable.profile;

	for (int number = 0; number < NUMBERS; number++) {
		if (!allo_profile_add_metric_like(lines, &(struct allo_metric){ 0 }, err))
			return false;
	}
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, &folded->columns, i);
		uint64_t *row;

		if (values.value < 0 || values.before < 0) {
			allo_note(&folded->w->notes, ALLO_NOTE_NEGATIVE, ALLO_NOWHERE);
			continue;
		}
		if (values.value == 0 && values.before == 0)
			continue;
		row = allo_profile_add_sample(
			lines, folded->printable.stacks[profile->sample_stacks.at[i]], 0, NULL,
			err);
		if (!row)
			return false;
		allo_profile_add_value(lines, BEFORE, &row[BEFORE], (uint64_t)values.before);
		allo_profile_add_value(lines, AFTER, &row[AFTER], (uint64_t)values.value);
	}
	allo_notes_add(&folded->w->notes, &lines->notes);
	return true;
}

static bool put_stack(struct folded *folded, allo_stack_id stack)
{
	const struct allo_profile *lines = &folded->printable.profile;
	struct allo_output *out = folded->w->out;

	folded->frames.len = 0;
	for (; stack != 0; stack = lines->stacks.at[stack].parent) {
		if (!allo_vec_append(&folded->frames, &lines->stacks.at[stack].frame, 1))
			return false;
	}
	if (folded->frames.len == 0)
		allo_output_string(out, "[unknown]");
	for (size_t i = folded->frames.len; i-- > 0;) {
		struct allo_text name = allo_printable_text(&folded->printable,
							    folded->frames.at[i]);

		ALLO_ASSERT(name.len > 0);
		/* Some readers take a line that starts with '#' for a comment. */
		if (i + 1 == folded->frames.len && name.data[0] == '#')
			allo_output_byte(out, '_');
		allo_output_text(out, name);
		if (i > 0)
			allo_output_byte(out, ';');
	}
	return true;
}

static bool put_lines(struct folded *folded, struct allo_error *err)
{
	const struct allo_profile *lines = &folded->printable.profile;
	struct allo_output *out = folded->w->out;

	for (size_t i = 0; i < allo_profile_sample_count(lines); i++) {
		const uint64_t *row = allo_profile_row(lines, i);

		if (!put_stack(folded, lines->sample_stacks.at[i]))
			return allo_fail_memory(err);
		if (folded->columns.has_before) {
			allo_output_byte(out, ' ');
			allo_output_u64(out, row[BEFORE]);
		}
		allo_output_byte(out, ' ');
		allo_output_u64(out, row[AFTER]);
		allo_output_byte(out, '\n');
	}
	return true;
}

static bool write_folded(struct allo_write_job *w, const struct allo_profile *profile,
			 struct allo_error *err)
{
	ALLO_DEFER(folded_done) struct folded folded = { .w = w, .profile = profile };

	if (profile->metrics.len == 0)
		return true;
	folded.columns = allo_metric_columns_of(profile, allo_default_metric(profile));
	return allo_print_stacks(&folded.printable, profile, print_name, NULL, err) &&
	       add_lines(&folded, err) && put_lines(&folded, err);
}

const struct allo_writer allo_write_folded = {
	.name = "folded",
	.spells_stacks = true,
	.title = "folded stacks, for flamegraph.pl, inferno, speedscope",
	.about = "One stack per line, the outermost caller first, inlined calls included, and "
		 "one number: the metric that -M names first, or the one that the profile "
		 "prefers. A comparison has two numbers, before and after, as difffolded.pl "
		 "writes them. Stacks that print the same are added up; stacks without a value "
		 "are left out. In names ';' becomes ':' and control characters become spaces. "
		 "A name that ends in a space and a number gets a '_' at its end, because "
		 "readers would take the number for the count.",
	.endings = ".folded .collapsed",
	.holds = 0,
	.write = write_folded,
};
