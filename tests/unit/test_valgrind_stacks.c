/* test_valgrind_stacks.c - readers/valgrind_stacks.h. */
#include "check.h"
#include "profiles.h"

#include "base/defer.h"
#include "base/encoding/json_read.h"
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

/* Adds the entries of a JSON array, as DHAT's frame table is one. */
static void read_table(struct allo_valgrind_stacks *stacks, struct allo_profile *profile,
		       const char *table)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { .fd = -1 };
	ALLO_DEFER(allo_json_done) struct allo_json json = { .in = &in };
	struct allo_error err = { 0 };
	struct allo_text text;

	assert_true(allo_input_open_memory(&in, "table", table, strlen(table), &err));
	assert_true(allo_json_begin(&json, '[', &err));
	while (allo_json_item(&json, &err)) {
		struct allo_valgrind_frame frame;

		assert_true(allo_json_string(&json, &text, &err));
		allo_valgrind_frame_parse(text, &frame);
		assert_true(allo_valgrind_stacks_add(stacks, &frame, profile, &err));
	}
	assert_false(allo_failed(&err));
}

/* The stack of entries, as text, the innermost frame first. */
static void assert_stack_is(struct allo_valgrind_stacks *stacks, struct allo_profile *profile,
			    const uint32_t *entries, size_t count, const char *expected)
{
	static const struct allo_output_options plain = { .packing = ALLO_PLAIN };
	ALLO_DEFER(allo_output_drop) struct allo_output out = { .fd = -1 };
	struct allo_error err = { 0 };
	allo_stack_id id = allo_valgrind_stacks_build(stacks, entries, count, profile, &err);

	assert_false(allo_failed(&err));
	assert_true(allo_output_open_memory(&out, &plain, &err));
	for (; id; id = profile->stacks.at[id].parent) {
		dump_frame(&out, profile, profile->stacks.at[id].frame);
		allo_output_string(&out, " < ");
	}
	assert_true(allo_output_finish(&out, &err));
	assert_text_equal(allo_output_memory(&out), expected);
}

#define ASSERT_STACK(expected, ...)                                                                \
	do {                                                                                       \
		const uint32_t entries_[] = { __VA_ARGS__ };                                       \
		assert_stack_is(&stacks, &profile, entries_, sizeof(entries_) / sizeof(*entries_), \
				(expected));                                                       \
	} while (0)

static void entries_with_equal_addresses_are_one_frame(void **state)
{
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	read_table(&stacks, &profile,
		   "[\"[root]\",\"0x10: a (a.c:1)\",\"0x10: b (b.c:2)\",\"0x10: c (c.c:3)\","
		   "\"0x20: d (d.c:4)\"]");
	ASSERT_STACK("a a.c:1:0,b b.c:2:0,c c.c:3:0,@10 < d d.c:4:0,@20 < ", 1, 2, 3, 4);
	ASSERT_STACK("b b.c:2:0,c c.c:3:0,@10 < d d.c:4:0,@20 < ", 2, 3, 4);
	ASSERT_STACK("d d.c:4:0,@20 < a a.c:1:0,b b.c:2:0,@10 < ", 4, 1, 2);
	ASSERT_STACK("a a.c:1:0,b b.c:2:0,c c.c:3:0,@10 < d d.c:4:0,@20 < ", 1, 2, 3, 4);
	/* Nothing is made that no stack has. */
	assert_int_equal(profile.frames.len - 1, 4);
}

static void recursion_through_one_call_site_is_several_frames(void **state)
{
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	read_table(&stacks, &profile, "[\"[root]\",\"0x10: a (a.c:1)\",\"0x10: b (b.c:2)\"]");
	ASSERT_STACK("a a.c:1:0,@10 < a a.c:1:0,@10 < a a.c:1:0,@10 < ", 1, 1, 1);
	/* With a call inlined into it, too. */
	ASSERT_STACK("a a.c:1:0,b b.c:2:0,@10 < a a.c:1:0,b b.c:2:0,@10 < ", 1, 2, 1, 2);
	ASSERT_STACK("b b.c:2:0,@10 < a a.c:1:0,b b.c:2:0,@10 < ", 2, 1, 2);
}

static void unknown_functions_have_no_line(void **state)
{
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	read_table(&stacks, &profile,
		   "[\"[root]\",\"0x10: ???\",\"0x10: b (b.c:2)\",\"odd\",\"odder\",\"0x10: ??? "
		   "(x.c:3)\"]");
	ASSERT_STACK("@10 < ", 1);
	ASSERT_STACK("b b.c:2:0,@10 < ", 1, 2);
	ASSERT_STACK("b b.c:2:0,@10 < ", 2, 1);
	ASSERT_STACK(" x.c:3:0,@10 < ", 5);
	/* Without addresses nothing is known to be inlined. */
	ASSERT_STACK("odd :0:0,@0 < odder :0:0,@0 < ", 3, 4);
	ASSERT_STACK("[root] :0:0,@0 < ", 0);
}

/* Ten thousand entries with one address: neither quadratic time nor quadratic memory. */
static void a_run_has_an_end(void **state)
{
	enum { COUNT = 10000 };
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	char *table = malloc(COUNT * 32), *end = table;
	uint32_t *entries = malloc(COUNT * sizeof(*entries));
	struct allo_error err = { 0 };
	allo_stack_id id;
	size_t calls = 0;

	(void)state;
	end += sprintf(end, "[\"[root]\"");
	for (uint32_t i = 1; i <= COUNT; i++) {
		end += sprintf(end, ",\"0x10: f%u (a.c:1)\"", i);
		entries[i - 1] = i;
	}
	strcpy(end, "]");
	read_table(&stacks, &profile, table);
	id = allo_valgrind_stacks_build(&stacks, entries, COUNT, &profile, &err);
	for (; id; id = profile.stacks.at[id].parent)
		calls += profile.frames.at[profile.stacks.at[id].frame].line_count;
	assert_int_equal(calls, COUNT);
	assert_int_equal(profile.lines.len, COUNT);
	free(table);
	free(entries);
}

/* Modules. */

static const struct allo_module *module_of(const struct allo_profile *profile,
					   const struct allo_valgrind_stacks *stacks, size_t entry)
{
	return &profile->modules.at[stacks->entries.at[entry].module];
}

static void frames_lie_in_the_objects_around_them(void **state)
{
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	read_table(&stacks, &profile,
		   "[\"[root]\",\"0x1000: a (in /bin/app)\",\"0x3000: b (in /bin/app)\","
		   "\"0x2000: c (c.c:1)\",\"0x9000: d (d.c:1)\",\"0x5000: e (in /lib/x.so)\","
		   "\"0x5fff: f (f.c:1)\",\"0x6000: g (g.c:1)\"]");
	assert_true(
		allo_valgrind_stacks_find_modules(&stacks, &profile, ALLO_TEXT("./app -v"), &err));
	assert_int_equal(profile.modules.len, 3);
	assert_text_equal(allo_profile_text(&profile, profile.modules.at[1].path), "/bin/app");
	assert_int_equal(profile.modules.at[1].start, 0x1000);
	assert_int_equal(profile.modules.at[1].limit, 0x4000);
	assert_int_equal(stacks.entries.at[3].module, 1);
	assert_int_equal(stacks.entries.at[4].module, 0);
	assert_int_equal(stacks.entries.at[5].module, 2);
	assert_int_equal(stacks.entries.at[6].module, 2);
	assert_int_equal(stacks.entries.at[7].module, 0);
}

/* One object around two others: none of the three says where a nameless frame is. */
static void where_objects_overlap_nothing_is_certain(void **state)
{
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	read_table(&stacks, &profile,
		   "[\"[root]\",\"0x1000: a (in /a)\",\"0x9000: a (in /a)\",\"0x2000: b (in /b)\","
		   "\"0x5000: c (in /c)\",\"0x5010: d (d.c:1)\",\"0xa000: e (in /e)\","
		   "\"0xa010: f (f.c:1)\"]");
	assert_true(allo_valgrind_stacks_find_modules(&stacks, &profile, ALLO_TEXT(""), &err));
	assert_int_equal(stacks.entries.at[5].module, 0);
	assert_int_equal(module_of(&profile, &stacks, 4)->limit, 0);
	assert_int_equal(module_of(&profile, &stacks, 6)->start, 0xa000);
	assert_int_equal(stacks.entries.at[7].module, stacks.entries.at[6].module);
}

static void the_last_page_has_a_limit_as_well(void **state)
{
	ALLO_DEFER(allo_valgrind_stacks_done) struct allo_valgrind_stacks stacks = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	read_table(
		&stacks, &profile,
		"[\"[root]\",\"0xffffffffffffffff: a (in /a)\",\"0xfffffffffffff001: b (b.c:1)\"]");
	assert_true(allo_valgrind_stacks_find_modules(&stacks, &profile, ALLO_TEXT("p"), &err));
	assert_true(module_of(&profile, &stacks, 1)->limit == UINT64_MAX);
	assert_int_equal(stacks.entries.at[2].module, stacks.entries.at[1].module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_calls_are_lines_of_one_frame),
		cmocka_unit_test(a_call_of_itself_is_not_inlined),
		cmocka_unit_test(a_thousand_inlined_calls_do_not_take_a_million_lines),
		cmocka_unit_test(entries_with_equal_addresses_are_one_frame),
		cmocka_unit_test(recursion_through_one_call_site_is_several_frames),
		cmocka_unit_test(unknown_functions_have_no_line),
		cmocka_unit_test(a_run_has_an_end),
		cmocka_unit_test(frames_lie_in_the_objects_around_them),
		cmocka_unit_test(where_objects_overlap_nothing_is_certain),
		cmocka_unit_test(the_last_page_has_a_limit_as_well),
	};

	return cmocka_run_group_tests_name("valgrind_stacks", tests, NULL, NULL);
}
