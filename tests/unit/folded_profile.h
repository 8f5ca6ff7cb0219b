/*
 * folded_profile.h - a profile from stacks that are written down: "main;parse;malloc 4096", with
 * alloc_bytes, or the metrics that are there already, all alike.
 */
#ifndef ALLO_TESTS_FOLDED_PROFILE_H
#define ALLO_TESTS_FOLDED_PROFILE_H

#include "check.h"

#include "profile/profile.h"

/* A frame "name", "name@file", or "name@file:line". */
static inline allo_frame_id add_written_frame(struct allo_profile *profile, struct allo_text text,
					      struct allo_error *err)
{
	struct allo_text name = text, place, file, line;
	struct allo_function function = { 0 };
	struct allo_line at = { 0 };
	struct allo_frame frame = { 0 };
	uint64_t number;

	if (allo_text_cut(text, '@', &name, &place)) {
		file = place;
		if (allo_text_cut(place, ':', &file, &line) && allo_text_u64(line, &number))
			at.line = (uint32_t)number;
		function.file = allo_profile_add_string(profile, file, err);
	}
	function.name = allo_profile_add_string(profile, name, err);
	at.function = allo_profile_add_function(profile, &function, err);
	return allo_profile_add_frame(profile, &frame, &at, 1, err);
}

/* Adds a stack; all metrics get the same number. */
static inline void add_written_stack(struct allo_profile *profile, const char *written)
{
	struct allo_text rest, number, name;
	struct allo_error err = { 0 };
	allo_stack_id stack = 0;
	uint64_t value, *row;

	if (profile->metrics.len == 0)
		assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_true(allo_text_cut_last(allo_text_of(written), ' ', &rest, &number));
	assert_true(allo_text_u64(number, &value));
	while (allo_text_next(&rest, ';', &name))
		stack = allo_profile_add_stack(profile, stack,
					       add_written_frame(profile, name, &err), &err);
	row = allo_profile_add_sample(profile, stack, 0, NULL, &err);
	assert_non_null(row);
	for (size_t i = 0; i < profile->metrics.len; i++)
		row[i] += value;
}

#endif
