/* test_valgrind_stacks.c - readers/valgrind_stacks.h. */
#include "check.h"

#include "base/defer.h"
#include "readers/valgrind_stacks.h"

#include <stdio.h>

static void add(struct allo_valgrind_stacks *stacks, struct allo_profile *profile, const char *text)
{
	struct allo_valgrind_frame frame;
	struct allo_error err = { 0 };

	assert_true(allo_valgrind_frame_parse(allo_text_of(text), &frame));
	assert_true(allo_valgrind_stacks_add(stacks, &frame, profile, &err));
}

static allo_stack_id build(struct allo_valgrind_stacks *stacks, struct allo_profile *profile,
			   const uint32_t *entries, size_t count)
{
	struct allo_error err = { 0 };
	allo_stack_id stack = allo_valgrind_stacks_build(stacks, entries, count, profile, &err);

	assert_false(allo_failed(&err));
	return stack;
}

static const struct allo_frame *leaf_of(const struct allo_profile *profile, allo_stack_id stack)
{
	return &profile->frames.at[profile->stacks.at[stack].frame];
}

static struct allo_text name_of(const struct allo_profile *profile, const struct allo_frame *frame,
				uint32_t call)
{
	struct allo_line line = profile->lines.at[frame->first_line + call];

	return allo_profile_text(profile, profile->functions.at[line.function].name);
}

static void inlined_calls_are_lines_of_one_frame(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	const uint32_t entries[] = { 0, 1, 2 };
	const struct allo_frame *leaf;
	allo_stack_id stack;

	(void)state;
	add(&stacks, &profile, "0x10: inner (a.c:1)");
	add(&stacks, &profile, "0x10: outer (a.c:2)");
	add(&stacks, &profile, "0x20: main (a.c:3)");
	stack = build(&stacks, &profile, entries, 3);
	leaf = leaf_of(&profile, stack);
	assert_int_equal(leaf->line_count, 2);
	assert_text_equal(name_of(&profile, leaf, 0), "inner");
	assert_text_equal(name_of(&profile, leaf, 1), "outer");
	stack = profile.stacks.at[stack].parent;
	assert_text_equal(name_of(&profile, leaf_of(&profile, stack), 0), "main");
	assert_int_equal(profile.stacks.at[stack].parent, 0);
}

static void a_call_of_itself_is_not_inlined(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	const uint32_t entries[] = { 0, 0, 0 };
	allo_stack_id stack;
	int depth = 0;

	(void)state;
	add(&stacks, &profile, "0x10: recurse (a.c:1)");
	for (stack = build(&stacks, &profile, entries, 3); stack != 0;
	     stack = profile.stacks.at[stack].parent) {
		assert_int_equal(leaf_of(&profile, stack)->line_count, 1);
		depth++;
	}
	assert_int_equal(depth, 3);
}

static void a_thousand_inlined_calls_do_not_take_a_million_lines(void **state)
{
	enum { CALLS = 1000, MOST = 256 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	uint32_t entries[CALLS];
	allo_stack_id stack;
	size_t calls = 0;

	(void)state;
	for (uint32_t i = 0; i < CALLS; i++) {
		char text[64];

		snprintf(text, sizeof(text), "0x10: f%u (a.c:%u)", i, i + 1);
		add(&stacks, &profile, text);
		entries[i] = i;
	}
	for (stack = build(&stacks, &profile, entries, CALLS); stack != 0;
	     stack = profile.stacks.at[stack].parent) {
		assert_in_range(leaf_of(&profile, stack)->line_count, 1, MOST);
		calls += leaf_of(&profile, stack)->line_count;
	}
	assert_int_equal(calls, CALLS);
	assert_in_range(profile.lines.len, CALLS, CALLS * MOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_calls_are_lines_of_one_frame),
		cmocka_unit_test(a_call_of_itself_is_not_inlined),
		cmocka_unit_test(a_thousand_inlined_calls_do_not_take_a_million_lines),
	};

	return cmocka_run_group_tests_name("valgrind_stacks", tests, NULL, NULL);
}
