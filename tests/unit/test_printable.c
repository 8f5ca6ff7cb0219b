/* test_printable.c - writers/printable.h. */
#include "check.h"

#include "base/defer.h"
#include "base/utf8.h"
#include "writers/printable.h"

static void chars_done(struct allo_chars *chars)
{
	allo_vec_done(chars);
}

static void names_can_stand_between_semicolons_and_before_a_count(void **state)
{
	const struct {
		const char *name, *folded;
	} cases[] = {
		{ "main", "main" },
		{ "operator new(unsigned long)", "operator new(unsigned long)" },
		{ "<[u8; 32]>::f", "<[u8: 32]>::f" },
		{ "a\nb\tc\rd\x01", "a b c d " },
		{ "  spaced  ", "spaced" },
		{ "", "???" },
		{ " \t", "???" },
		{ "step 12", "step 12_" },
		{ "step 1.5", "step 1.5_" },
		{ "step 12.", "step 12._" },
		{ "step\n7", "step 7_" },
		{ "step12", "step12" },
		{ "12", "12" },
		{ "a;12", "a:12" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ALLO_DEFER(chars_done) struct allo_chars chars = { 0 };

		assert_true(allo_chars_add_folded(&chars, allo_text_of(cases[i].name)));
		assert_text_equal(allo_chars_text(&chars), cases[i].folded);
	}
}

static bool print_name(const void *context, const struct allo_profile *profile,
		       const struct allo_frame *frame, uint32_t call, struct allo_chars *out)
{
	char scratch[ALLO_NAME_SCRATCH];

	(void)context;
	return allo_chars_add(out, allo_call_name(profile, frame, call, scratch));
}

static void add_sample(struct allo_profile *profile, allo_stack_id stack)
{
	struct allo_error err = { 0 };

	if (profile->metrics.len == 0)
		assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_non_null(allo_profile_add_sample(profile, stack, 0, NULL, &err));
}

/* A frame that is one call of `name`; `address` makes it differ. */
static allo_frame_id add_frame(struct allo_profile *profile, const char *name, uint64_t address,
			       struct allo_error *err)
{
	struct allo_function function = { .name = allo_profile_add_string(
						  profile, allo_text_of(name), err) };
	struct allo_line line = { .function = allo_profile_add_function(profile, &function, err) };

	return allo_profile_add_frame(profile, &(struct allo_frame){ .address = address }, &line, 1,
				      err);
}

static void frames_that_print_the_same_are_one(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_printable_done) struct allo_printable printable = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id a, b, c;

	(void)state;
	a = allo_profile_add_stack(&profile, 0, add_frame(&profile, "f", 1, &err), &err);
	b = allo_profile_add_stack(&profile, 0, add_frame(&profile, "f", 2, &err), &err);
	c = allo_profile_add_stack(&profile, b, add_frame(&profile, "g\xff", 3, &err), &err);
	add_sample(&profile, a);
	add_sample(&profile, c);
	assert_true(allo_print_stacks(&printable, &profile, print_name, NULL, &err));
	assert_int_not_equal(a, b);
	assert_int_equal(printable.stacks[a], printable.stacks[b]);
	assert_int_equal(printable.profile.frames.len, 1 + 2);
	assert_text_equal(allo_printable_text(&printable, 1), "f");
	assert_text_equal(allo_printable_text(&printable, 2), "g" ALLO_UTF8_REPLACEMENT);
}

static void stacks_without_samples_are_not_printed(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_printable_done) struct allo_printable printable = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id used;

	(void)state;
	allo_profile_add_stack(&profile, 0, add_frame(&profile, "unused", 1, &err), &err);
	used = allo_profile_add_stack(&profile, 0, add_frame(&profile, "used", 2, &err), &err);
	add_sample(&profile, used);
	assert_true(allo_print_stacks(&printable, &profile, print_name, NULL, &err));
	assert_int_equal(printable.profile.frames.len, 1 + 1);
	assert_text_equal(allo_printable_text(&printable, 1), "used");
}

static void inlined_calls_are_frames_and_there_is_an_end_to_them(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_printable_done) struct allo_printable printable = { 0 };
	ALLO_DEFER(allo_printable_done) struct allo_printable refused = { 0 };
	static struct allo_line lines[2000];
	struct allo_error err = { 0 };
	allo_frame_id frame;
	allo_stack_id stack;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(*lines); i++)
		lines[i] = (struct allo_line){
			.function = allo_profile_add_function(
				&profile, &(struct allo_function){ .start_line = (uint32_t)i },
				&err)
		};
	frame = allo_profile_add_frame(&profile, &(struct allo_frame){ 0 }, lines, 2000, &err);
	stack = allo_profile_add_stack(&profile, 0, frame, &err);
	add_sample(&profile, stack);
	assert_true(allo_print_stacks(&printable, &profile, print_name, NULL, &err));
	assert_int_equal(printable.profile.stacks.len, 1 + 2000);
	/* The same long list ten thousand times: a few kilobytes in a file. */
	for (int i = 0; i < 10000; i++)
		stack = allo_profile_add_stack(&profile, stack, frame, &err);
	add_sample(&profile, stack);
	assert_false(allo_print_stacks(&refused, &profile, print_name, NULL, &err));
	assert_int_equal(err.code, ALLO_LIMIT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_can_stand_between_semicolons_and_before_a_count),
		cmocka_unit_test(frames_that_print_the_same_are_one),
		cmocka_unit_test(stacks_without_samples_are_not_printed),
		cmocka_unit_test(inlined_calls_are_frames_and_there_is_an_end_to_them),
	};

	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
