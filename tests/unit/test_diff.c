/* test_diff.c - analysis/diff.h. */
#include "check.h"

#include "analysis/diff.h"
#include "base/defer.h"

/* Adds a stack of one function that holds so many bytes. */
static void add(struct allo_profile *profile, const char *function, uint64_t bytes)
{
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(profile, allo_text_of(function), &err);
	allo_stack_id stack = allo_profile_add_stack(profile, 0, frame, &err);
	uint64_t *row;

	if (profile->metrics.len == 0)
		assert_true(allo_profile_add_metric(profile, ALLO_LIVE_BYTES, NULL, &err));
	row = allo_profile_add_sample(profile, stack, 0, NULL, &err);
	assert_non_null(row);
	*row = bytes;
}

/* The same for a function of a file. */
static void add_from(struct allo_profile *profile, const char *function, const char *file,
		     uint64_t bytes)
{
	struct allo_error err = { 0 };
	struct allo_function is = {
		.name = allo_profile_add_string(profile, allo_text_of(function), &err),
		.file = allo_profile_add_string(profile, allo_text_of(file), &err),
	};
	struct allo_line line = { .function = allo_profile_add_function(profile, &is, &err) };
	allo_frame_id frame = allo_profile_add_frame(profile, &(struct allo_frame){ 0 }, &line, 1,
						     &err);
	uint64_t *row;

	if (profile->metrics.len == 0)
		assert_true(allo_profile_add_metric(profile, ALLO_LIVE_BYTES, NULL, &err));
	row = allo_profile_add_sample(profile, allo_profile_add_stack(profile, 0, frame, &err), 0,
				      NULL, &err);
	assert_non_null(row);
	*row = bytes;
}

static void compare(const struct allo_profile *base, const struct allo_profile *changed,
		    struct allo_profile *diff)
{
	struct allo_error err = { 0 };

	assert_true(allo_diff_profiles(base, changed, ALLO_MATCH_FUNCTION, diff, &err));
	assert_true(allo_profile_validate(diff, &err));
	assert_int_equal(diff->metrics.len, 2);
	assert_true(diff->metrics.at[0].is_before);
}

static uint64_t sum(const struct allo_profile *profile, size_t metric)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		sum += allo_profile_row(profile, i)[metric];
	return sum;
}

static void both_sides_are_there(void **state)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile base = { 0 }, changed = { 0 }, diff = { 0 };

	(void)state;
	add(&base, "gone", 5);
	add(&base, "both", 7);
	add(&changed, "both", 11);
	add(&changed, "new", 13);
	compare(&base, &changed, &diff);
	assert_int_equal(allo_profile_sample_count(&diff), 3);
	assert_int_equal(allo_profile_row(&diff, 0)[0], 7);
	assert_int_equal(allo_profile_row(&diff, 0)[1], 11);
	assert_int_equal(sum(&diff, 0), 12);
	assert_int_equal(sum(&diff, 1), 24);
}

static void a_function_that_moved_to_another_file_is_the_same(void **state)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile base = { 0 }, changed = { 0 }, diff = { 0 };

	(void)state;
	add_from(&base, "parse", "/old/a.c", 5);
	add_from(&base, "open", "", 3); /* built without debug information */
	add_from(&changed, "parse", "/new/b.c", 7);
	add_from(&changed, "open", "/new/b.c", 4);
	compare(&base, &changed, &diff);
	assert_int_equal(allo_profile_sample_count(&diff), 2);
	assert_int_equal(allo_profile_row(&diff, 0)[0], 5);
	assert_int_equal(allo_profile_row(&diff, 0)[1], 7);
	assert_int_equal(allo_profile_row(&diff, 1)[0], 3);
	assert_int_equal(allo_profile_row(&diff, 1)[1], 4);
}

static void functions_of_one_name_are_told_apart_by_their_files(void **state)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile base = { 0 }, changed = { 0 }, diff = { 0 };

	(void)state;
	add_from(&base, "init", "a.c", 1);
	add_from(&base, "init", "b.c", 2);
	add_from(&base, "init", "c.c", 4);
	add_from(&changed, "init", "a.c", 8);
	add_from(&changed, "init", "d.c", 16); /* b.c or c.c: not known */
	compare(&base, &changed, &diff);
	assert_int_equal(allo_profile_sample_count(&diff), 4);
	assert_int_equal(allo_profile_row(&diff, 0)[0], 1);
	assert_int_equal(allo_profile_row(&diff, 1)[0], 0);
	assert_int_equal(allo_profile_row(&diff, 1)[1], 16);
}

static void normalized_totals_are_equal_to_the_byte(void **state)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile base = { 0 }, changed = { 0 }, diff = { 0 };

	(void)state;
	for (const char *name = "abcdefg"; *name; name++) /* seven names: abcdefg to g */
		add(&base, name, 1);
	add(&changed, "g", 1000);
	compare(&base, &changed, &diff);
	allo_diff_normalize(&diff);
	assert_int_equal(sum(&diff, 0), 1000);
	for (size_t i = 0; i < allo_profile_sample_count(&diff); i++) {
		uint64_t value = allo_profile_row(&diff, i)[0];

		assert_true(value == 142 || value == 143); /* a seventh */
	}
	assert_int_equal(sum(&diff, 1), 1000);
}

static void huge_totals_are_normalized_without_overflow(void **state)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile base = { 0 }, changed = { 0 }, diff = { 0 };

	(void)state;
	add(&base, "a", UINT64_MAX);
	add(&base, "b", UINT64_MAX);
	add(&changed, "a", UINT64_MAX / 2);
	compare(&base, &changed, &diff);
	allo_diff_normalize(&diff);
	for (size_t i = 0; i < 2; i++)
		assert_in_range(allo_profile_row(&diff, i)[0], (UINT64_MAX / 4) - 1000,
				(UINT64_MAX / 4) + 1000);
}

static void nothing_is_normalized_to_nothing(void **state)
{
	ALLO_DEFER(allo_profile_done)
	struct allo_profile base = { 0 }, changed = { 0 }, diff = { 0 };

	(void)state;
	add(&base, "a", 5);
	add(&changed, "a", 0);
	compare(&base, &changed, &diff);
	allo_diff_normalize(&diff);
	assert_int_equal(sum(&diff, 0), 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_sides_are_there),
		cmocka_unit_test(a_function_that_moved_to_another_file_is_the_same),
		cmocka_unit_test(functions_of_one_name_are_told_apart_by_their_files),
		cmocka_unit_test(normalized_totals_are_equal_to_the_byte),
		cmocka_unit_test(huge_totals_are_normalized_without_overflow),
		cmocka_unit_test(nothing_is_normalized_to_nothing),
	};

	return cmocka_run_group_tests_name("diff", tests, NULL, NULL);
}
