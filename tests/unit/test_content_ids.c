/* test_content_ids.c - ids that are hashes of the content. */
#include "base/defer.h"
#include "check.h"
#include "profile/content_ids.h"

/* A stack of two frames of a library that lies at `start`, the outer one by name only. */
static allo_stack_id add_stack(struct allo_profile *profile, uint64_t start, const char *build_id,
			       uint64_t offset, bool is_named)
{
	struct allo_error err = { 0 };
	struct allo_module module = {
		.start = start,
		.limit = start + 0x10000,
		.path = allo_profile_add_string(profile, ALLO_TEXT("/lib/one.so"), &err),
		.build_id = allo_profile_add_string(profile, allo_text_of(build_id), &err),
	};
	struct allo_frame frame = { .address = start + offset };
	struct allo_function function = { 0 };
	struct allo_line line = { .line = 7 };
	allo_frame_id outer = allo_profile_add_named_frame(profile, ALLO_TEXT("main"), &err);
	allo_stack_id stack;

	frame.module = allo_profile_add_module(profile, &module, &err);
	function.name = allo_profile_add_string(profile, ALLO_TEXT("inner"), &err);
	line.function = allo_profile_add_function(profile, &function, &err);
	stack = allo_profile_add_stack(profile, 0, outer, &err);
	stack = allo_profile_add_stack(
		profile, stack, allo_profile_add_frame(profile, &frame, &line, is_named, &err),
		&err);
	assert_false(allo_failed(&err));
	return stack;
}

/* The id of such a stack in a new profile, after `before` other strings. */
static int64_t id_of(uint64_t start, const char *build_id, uint64_t offset, bool is_named,
		     const char *before)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_content_ids_done) struct allo_content_ids ids = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id stack;

	allo_profile_add_named_frame(&profile, allo_text_of(before), &err);
	stack = add_stack(&profile, start, build_id, offset, is_named);
	assert_true(allo_content_ids_init(&ids, &profile, &err));
	assert_true(ids.stacks[stack] > 0);
	assert_int_equal(ids.stacks[0], 0);
	return ids.stacks[stack];
}

static void an_id_is_the_same_wherever_the_program_is_loaded(void **state)
{
	int64_t id = id_of(0x400000, "abcd", 0x123, false, "x");

	(void)state;
	assert_int_equal(id, id_of(0x7f0000000000, "abcd", 0x123, false, "x"));
	assert_int_equal(id, id_of(0x400000, "abcd", 0x123, true, "x"));
	assert_int_equal(id, id_of(0x400000, "abcd", 0x123, false, "other frames come first"));
	assert_int_not_equal(id, id_of(0x400000, "abce", 0x123, false, "x"));
	assert_int_not_equal(id, id_of(0x400000, "abcd", 0x124, false, "x"));
	assert_int_not_equal(id, id_of(0x400000, "", 0x123, false, "x"));
}

static void an_id_does_not_change_from_version_to_version(void **state)
{
	(void)state;
	assert_int_equal(id_of(0x400000, "abcd", 0x123, false, "x"), 0x755fed8f840a1dbe);
	assert_int_equal(allo_content_call_id(23, 1), 4741476395759738522);
	assert_int_equal(allo_content_call_id(23, 0), 23);
	assert_int_equal(allo_content_name_id(ALLO_TEXT("0x5 [a.so]")), 5056408170873129128);
}

static void a_library_that_was_loaded_twice_is_one(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_content_ids_done) struct allo_content_ids ids = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id one = add_stack(&profile, 0x400000, "abcd", 5, true);
	allo_stack_id two = add_stack(&profile, 0x900000, "abcd", 5, true);
	allo_stack_id other = add_stack(&profile, 0x900000, "abcd", 6, true);

	(void)state;
	assert_int_not_equal(one, two);
	assert_true(allo_content_ids_init(&ids, &profile, &err));
	assert_int_equal(ids.stacks[one], ids.stacks[two]);
	assert_int_not_equal(ids.stacks[one], ids.stacks[other]);
}

/* Files may contain stacks that no program has. */
static void one_place_with_two_names_is_two_frames(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_content_ids_done) struct allo_content_ids ids = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id named = add_stack(&profile, 0x400000, "abcd", 5, true);
	allo_stack_id bare = add_stack(&profile, 0x400000, "abcd", 5, false);

	(void)state;
	assert_true(allo_content_ids_init(&ids, &profile, &err));
	assert_int_not_equal(ids.stacks[named], ids.stacks[bare]);
}

static void an_empty_profile_has_none(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_content_ids_done) struct allo_content_ids ids = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_content_ids_init(&ids, &profile, &err));
	assert_int_equal(ids.stacks[0], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_id_is_the_same_wherever_the_program_is_loaded),
		cmocka_unit_test(an_id_does_not_change_from_version_to_version),
		cmocka_unit_test(a_library_that_was_loaded_twice_is_one),
		cmocka_unit_test(one_place_with_two_names_is_two_frames),
		cmocka_unit_test(an_empty_profile_has_none),
	};

	return cmocka_run_group_tests_name("content_ids", tests, NULL, NULL);
}
