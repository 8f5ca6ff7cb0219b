/* test_stacks.c - the trie of profile/profile.h, and profile/stack_builder.h. */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "profile/stack_builder.h"

enum { DEEPEST = 100 };

/* Frames from few, so that stacks share much, or from many. */
static size_t draw_frames(uint64_t *seed, allo_frame_id frames[DEEPEST])
{
	size_t depth = draw(seed, draw(seed, 4) ? 8 : DEEPEST + 1);
	uint32_t choice = draw(seed, 2) ? 3 : 1000;

	for (size_t i = 0; i < depth; i++)
		frames[i] = 1 + draw(seed, choice);
	return depth;
}

static void assert_stack_is(const struct allo_profile *profile, allo_stack_id id,
			    const allo_frame_id *root_first, size_t depth)
{
	for (; depth > 0; depth--) {
		assert_int_not_equal(id, 0);
		assert_int_equal(profile->stacks.at[id].frame, root_first[depth - 1]);
		assert_true(profile->stacks.at[id].parent < id);
		id = profile->stacks.at[id].parent;
	}
	assert_int_equal(id, 0);
}

static void many_at_once_are_the_same_as_one_by_one(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile single = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile together = { 0 };
	struct allo_error err = { 0 };
	uint64_t seed = 61;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		allo_frame_id frames[DEEPEST];
		allo_stack_id stacks[DEEPEST], id = 0, start = 0;
		size_t depth = draw_frames(&seed, frames);

		/* From anywhere in the trie. */
		if (together.stacks.len > 0 && draw(&seed, 2))
			id = start = draw(&seed, (uint32_t)together.stacks.len);
		assert_true(allo_profile_add_stacks(&together, start, frames, depth, stacks, &err));
		for (size_t i = 0; i < depth; i++) {
			id = allo_profile_add_stack(&single, id, frames[i], &err);
			assert_int_equal(id, stacks[i]);
		}
	}
	assert_int_equal(single.stacks.len, together.stacks.len);
	assert_memory_equal(single.stacks.at, together.stacks.at,
			    single.stacks.len * sizeof(*single.stacks.at));
}

static void the_builder_makes_what_a_plain_loop_makes(void **state)
{
	ALLO_DEFER(allo_stack_builder_done) struct allo_stack_builder builder = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	uint64_t seed = 67;

	(void)state;
	for (int round = 0; round < 20000; round++) {
		allo_frame_id frames[DEEPEST], leaf_first[DEEPEST];
		size_t depth = draw_frames(&seed, frames);
		allo_stack_id id, plain = 0;

		for (size_t i = 0; i < depth; i++)
			leaf_first[depth - 1 - i] = frames[i];
		id = allo_stack_build(&builder, &profile, leaf_first, depth, &err);
		assert_stack_is(&profile, id, frames, depth);
		for (size_t i = 0; i < depth; i++)
			plain = allo_profile_add_stack(&profile, plain, frames[i], &err);
		assert_int_equal(id, plain);
		if (draw(&seed, 500) == 0) {
			allo_profile_clear_samples(&profile);
			allo_stack_builder_forget(&builder);
		}
	}
	assert_false(allo_failed(&err));
}

static void no_frames_are_the_empty_stack(void **state)
{
	ALLO_DEFER(allo_stack_builder_done) struct allo_stack_builder builder = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const allo_frame_id frame = 5;
	struct allo_error err = { 0 };

	(void)state;
	assert_int_equal(allo_stack_build(&builder, &profile, NULL, 0, &err), 0);
	assert_int_equal(profile.stacks.len, 0);
	assert_int_equal(allo_stack_build(&builder, &profile, &frame, 1, &err), 1);
	assert_int_equal(allo_stack_build(&builder, &profile, NULL, 0, &err), 0);
	assert_true(allo_profile_add_stacks(&profile, 1, NULL, 0, NULL, &err));
}

static void a_million_frames_deep_is_fine(void **state)
{
	ALLO_DEFER(allo_stack_builder_done) struct allo_stack_builder builder = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	for (int round = 0; round < 2; round++) {
		allo_stack_builder_begin(&builder);
		for (uint32_t i = 0; i < 1000000; i++)
			assert_true(allo_stack_builder_add(&builder, 1 + i % 2, &err));
		assert_int_equal(allo_stack_builder_end(&builder, &profile, &err), 1000000);
	}
	assert_int_equal(profile.stacks.len, 1000001);
}

static void what_was_appended_is_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const allo_frame_id frames[] = { 7, 8, 9 }, branch[] = { 10, 11 };
	struct allo_error err = { 0 };
	allo_stack_id stacks[3];

	(void)state;
	assert_int_equal(allo_profile_add_stack(&profile, 0, 6, &err), 1);
	assert_int_equal(allo_profile_append_stacks(&profile, 0, frames, 3, &err), 4);
	assert_int_equal(allo_profile_append_stacks(&profile, 2, branch, 2, &err), 6);
	assert_int_equal(allo_profile_add_stack(&profile, 2, 10, &err), 5);
	assert_true(allo_profile_add_stacks(&profile, 0, frames, 3, stacks, &err));
	assert_int_equal(stacks[2], 4);
	assert_int_equal(allo_profile_add_stack(&profile, 0, 6, &err), 1);
	assert_int_equal(allo_profile_add_stack(&profile, 4, 6, &err), 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_at_once_are_the_same_as_one_by_one),
		cmocka_unit_test(the_builder_makes_what_a_plain_loop_makes),
		cmocka_unit_test(no_frames_are_the_empty_stack),
		cmocka_unit_test(a_million_frames_deep_is_fine),
		cmocka_unit_test(what_was_appended_is_found),
	};

	return cmocka_run_group_tests_name("stacks", tests, NULL, NULL);
}
