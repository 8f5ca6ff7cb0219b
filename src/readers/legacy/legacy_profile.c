/* legacy_profile.c - addresses, samples, lines and names of legacy profiles. */
#include "readers/legacy/legacy_profile.h"

#include "profile/naming.h"

void allo_legacy_done(struct allo_legacy *legacy)
{
	allo_heap_text_done(&legacy->text);
}

bool allo_legacy_fail_line(struct allo_legacy *legacy, struct allo_text line, const char *expected,
			   struct allo_error *err)
{
	return allo_fail(err, ALLO_FORMAT, allo_input_pos_at(legacy->text.in, line.data),
			 "expected %s, found \"%.*s\"", expected, ALLO_TEXT_ARG(line));
}

/* Stacks. */

bool allo_legacy_add_address(struct allo_legacy *legacy, uint64_t address, size_t depth,
			     enum allo_legacy_addresses kind, struct allo_error *err)
{
	bool is_return = kind == ALLO_LEGACY_RETURNS ||
			 (kind == ALLO_LEGACY_RETURNS_ABOVE_LEAF && depth > 0);

	/* A return address is after the call: one byte before it is inside the call. */
	return allo_heap_text_add_address(&legacy->text, address - (is_return && address > 0), err);
}

bool allo_legacy_add_addresses(struct allo_legacy *legacy, struct allo_text line, size_t *depth,
			       enum allo_legacy_addresses kind, struct allo_error *err)
{
	size_t at;

	while ((at = allo_text_find(line, ALLO_TEXT("0x"))) != (size_t)-1) {
		uint64_t address;

		line = allo_text_from(line, at + 2);
		if (allo_text_take_hex(&line, &address) &&
		    !allo_legacy_add_address(legacy, address, (*depth)++, kind, err))
			return false;
	}
	return true;
}

uint32_t allo_legacy_caller(const struct allo_legacy *legacy, const struct allo_heap_sample *sample)
{
	const struct allo_stack *stacks = legacy->text.waiting.stacks.at;
	allo_stack_id parent = sample->stack ? stacks[sample->stack].parent : 0;

	return parent ? stacks[parent].frame : 0;
}

bool allo_legacy_drop_caller(struct allo_legacy *legacy, struct allo_heap_sample *sample,
			     struct allo_error *err)
{
	const struct allo_stack *stacks = legacy->text.waiting.stacks.at;

	sample->stack = allo_profile_add_stack(&legacy->text.waiting,
					       stacks[stacks[sample->stack].parent].parent,
					       stacks[sample->stack].frame, err);
	return !allo_failed(err);
}

bool allo_legacy_drop_second_leaves(struct allo_legacy *legacy, struct allo_error *err)
{
	struct allo_heap_text *text = &legacy->text;

	for (size_t i = 0; i < text->samples.len; i++) {
		struct allo_heap_sample *sample = &text->samples.at[i];
		uint32_t caller = allo_legacy_caller(legacy, sample), leaf;

		if (caller == 0)
			continue;
		leaf = text->waiting.stacks.at[sample->stack].frame;
		/* The caller's address has become that of a call, one less. */
		if (text->addresses.at[leaf - 1].address ==
			    text->addresses.at[caller - 1].address + 1 &&
		    !allo_legacy_drop_caller(legacy, sample, err))
			return false;
	}
	return true;
}

bool allo_legacy_add_sample(struct allo_legacy *legacy, const struct allo_heap_sample *sample,
			    struct allo_error *err)
{
	return allo_or_fail_memory(allo_vec_append(&legacy->text.samples, sample, 1), err);
}

/* Metadata. */

bool allo_legacy_add_metric(struct allo_legacy *legacy, struct allo_text name,
			    struct allo_text unit, struct allo_error *err)
{
	struct allo_profile *profile = legacy->text.profile;
	struct allo_metric metric = { .meaning = allo_meaning_of_pprof(name, false) };
	const struct allo_metric_kind *kind = &allo_metric_kinds[metric.meaning];

	if (kind->unit && !allo_text_equal(unit, allo_text_of(kind->unit)))
		metric.meaning = ALLO_MEANS_OTHER;
	if (metric.meaning != ALLO_MEANS_OTHER)
		name = allo_text_of(kind->name);
	metric.name = allo_profile_add_string(profile, name, err);
	metric.unit = allo_profile_add_string(profile, unit, err);
	return !allo_failed(err) && allo_profile_add_metric_like(profile, &metric, err);
}

bool allo_legacy_set_period(struct allo_legacy *legacy, struct allo_text name,
			    struct allo_text unit, int64_t period, struct allo_error *err)
{
	struct allo_profile *profile = legacy->text.profile;
	struct allo_meta *meta = &profile->meta;

	meta->period_type = allo_profile_add_string(profile, name, err);
	meta->period_unit = allo_profile_add_string(profile, unit, err);
	meta->period = period;
	return !allo_failed(err);
}

int64_t allo_legacy_times(struct allo_legacy *legacy, int64_t a, int64_t b)
{
	int64_t product;

	if (!__builtin_mul_overflow(a, b, &product))
		return product;
	allo_note(&legacy->text.profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return INT64_MAX;
}

/* Lines. */

bool allo_legacy_line(struct allo_legacy *legacy, struct allo_text *line, struct allo_error *err)
{
	while (allo_input_line(legacy->text.in, line, err)) {
		*line = allo_text_trim(*line);
		if (line->len == 0)
			continue;
		if (line->data[0] != '#')
			return true;
		if (!allo_heap_text_read_comment(&legacy->text, *line, err))
			return false;
	}
	return false;
}

bool allo_legacy_read_rest(struct allo_legacy *legacy, struct allo_text line,
			   struct allo_error *err)
{
	do {
		if (allo_heap_text_is_maps_heading(line))
			return allo_heap_text_read_maps(&legacy->text, err);
	} while (allo_input_line(legacy->text.in, &line, err));
	return !allo_failed(err);
}

/* Java's names. */

/* Takes "text)" off the end of a name, together with the " (" before it. */
static bool cut_parentheses(struct allo_text *name, struct allo_text *text)
{
	size_t at = allo_text_find_last(*name, ALLO_TEXT("("));

	if (!allo_text_ends(*name, ALLO_TEXT(")")) || at == (size_t)-1 || at == 0 ||
	    !allo_is_space(name->data[at - 1]))
		return false;
	*text = (struct allo_text){ name->data + at + 1, name->len - at - 2 };
	*name = allo_text_trim((struct allo_text){ name->data, at });
	return true;
}

/* "com.example.Cache.put (Cache.java:12)", "read (/lib/libc.so.6)", "generated stub/JIT", "GC" */
static bool name_frame(struct allo_legacy *legacy, uint64_t address, struct allo_text name,
		       struct allo_error *err)
{
	struct allo_profile *profile = legacy->text.profile;
	struct allo_text place = { 0 }, file, number;
	struct allo_function function = { 0 };
	struct allo_line line = { 0 };
	uint64_t line_number;

	if (!cut_parentheses(&name, &place) &&
	    allo_text_find(name, ALLO_TEXT("generated stub/JIT")) != (size_t)-1)
		name = ALLO_TEXT("STUB");
	if (allo_text_cut_last(place, ':', &file, &number)) {
		place = file;
		if (allo_text_u64(number, &line_number) && line_number <= UINT32_MAX)
			line.line = (uint32_t)line_number;
	} else {
		place = allo_basename(place);
	}
	function.name = allo_profile_add_string(profile, name, err);
	function.file = allo_profile_add_string(profile, place, err);
	line.function = allo_profile_add_function(profile, &function, err);
	return !allo_failed(err) && allo_heap_text_name(&legacy->text, address, &line, err);
}

bool allo_legacy_read_java_names(struct allo_legacy *legacy, struct allo_text line,
				 struct allo_error *err)
{
	legacy->text.drops_addresses = true;
	do {
		struct allo_text rest = allo_text_trim(line);
		uint64_t address;

		if (!allo_text_skip(&rest, ALLO_TEXT("0x")) ||
		    !allo_text_take_hex(&rest, &address) || rest.len == 0 ||
		    !allo_is_space(rest.data[0]))
			continue;
		rest = allo_text_trim(rest);
		/* One frame has one name here. */
		legacy->text.naming = 0;
		if (rest.len > 0 && allo_heap_text_wants_name(&legacy->text, address) &&
		    !name_frame(legacy, address, rest, err))
			return false;
	} while (allo_input_line(legacy->text.in, &line, err));
	return !allo_failed(err);
}
