/* test_frame_names.c - engine/live/frame_names.h: names that outlive a profile. */
#include "check.h"

#include "base/defer.h"
#include "engine/live/frame_names.h"

static allo_string_id add_text(struct allo_profile *profile, const char *text)
{
	struct allo_error err = { 0 };

	return allo_profile_add_string(profile, allo_text_of(text), &err);
}

/* A profile with the module /bin/app, loaded at 0x1000 + `shift`, and frames at these addresses. */
static void fill(struct allo_profile *profile, uint64_t shift, const uint64_t *addresses,
		 size_t count)
{
	struct allo_error err = { 0 };
	struct allo_module module = { .start = 0x1000 + shift,
				      .limit = 0x9000 + shift,
				      .path = add_text(profile, "/bin/app"),
				      .build_id = add_text(profile, "abcd") };
	struct allo_frame frame = { .module = allo_profile_add_module(profile, &module, &err) };

	for (size_t i = 0; i < count; i++) {
		frame.address = addresses[i];
		assert_true(allo_profile_add_frame(profile, &frame, NULL, 0, &err) != 0);
	}
}

static void name(struct allo_profile *profile, allo_frame_id frame, const char *inner,
		 const char *outer)
{
	struct allo_error err = { 0 };
	struct allo_function functions[2] = { { .name = add_text(profile, inner),
						.file = add_text(profile, "app.c"),
						.start_line = 7 },
					      { .name = add_text(profile, outer) } };
	struct allo_line lines[2] = {
		{ .function = allo_profile_add_function(profile, &functions[0], &err), .line = 9 },
		{ .function = allo_profile_add_function(profile, &functions[1], &err) },
	};

	assert_true(allo_profile_set_lines(profile, frame, lines, 2, &err));
}

static struct allo_text name_of(const struct allo_profile *profile, allo_frame_id frame,
				uint32_t line)
{
	const struct allo_line *at =
		&profile->lines.at[profile->frames.at[frame].first_line + line];

	return allo_profile_text(profile, profile->functions.at[at->function].name);
}

static void names_of_equal_frames_return(void **state)
{
	ALLO_DEFER(allo_frame_names_done) struct allo_frame_names names = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile first = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile second = { 0 };
	struct allo_error err = { 0 };
	bool is_complete;

	(void)state;
	fill(&first, 0, (const uint64_t[]){ 0x1010, 0x1020 }, 2);
	assert_true(allo_frame_names_use(&names, &first, &is_complete, &err));
	assert_false(is_complete);
	name(&first, 1, "inlined", "caller");
	assert_true(allo_frame_names_keep(&names, &first, &err));

	/* In another order; the second frame never had a name. */
	fill(&second, 0, (const uint64_t[]){ 0x1020, 0x1010 }, 2);
	assert_true(allo_frame_names_use(&names, &second, &is_complete, &err));
	assert_true(is_complete);
	assert_int_equal(second.frames.at[1].line_count, 0);
	assert_int_equal(second.frames.at[2].line_count, 2);
	assert_true(allo_text_equal(name_of(&second, 2, 0), ALLO_TEXT("inlined")));
	assert_true(allo_text_equal(name_of(&second, 2, 1), ALLO_TEXT("caller")));
	assert_int_equal(second.lines.at[second.frames.at[2].first_line].line, 9);
	assert_true(second.modules.at[1].has_functions);
}

static void other_frames_are_not_named(void **state)
{
	ALLO_DEFER(allo_frame_names_done) struct allo_frame_names names = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile first = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile moved = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile more = { 0 };
	struct allo_error err = { 0 };
	bool is_complete;

	(void)state;
	fill(&first, 0, (const uint64_t[]){ 0x1010 }, 1);
	name(&first, 1, "f", "g");
	assert_true(allo_frame_names_keep(&names, &first, &err));

	/* The same address in a module that was loaded elsewhere. */
	fill(&moved, 0x10, (const uint64_t[]){ 0x1010 }, 1);
	assert_true(allo_frame_names_use(&names, &moved, &is_complete, &err));
	assert_false(is_complete);
	assert_int_equal(moved.frames.at[1].line_count, 0);

	fill(&more, 0, (const uint64_t[]){ 0x1010, 0x1030 }, 2);
	assert_true(allo_frame_names_use(&names, &more, &is_complete, &err));
	assert_false(is_complete);
	assert_int_equal(more.frames.at[1].line_count, 2);
	assert_int_equal(more.frames.at[2].line_count, 0);
}

static void a_name_that_comes_later_is_kept(void **state)
{
	ALLO_DEFER(allo_frame_names_done) struct allo_frame_names names = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile first = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile second = { 0 };
	struct allo_error err = { 0 };
	bool is_complete;

	(void)state;
	fill(&first, 0, (const uint64_t[]){ 0x1010 }, 1);
	assert_true(allo_frame_names_keep(&names, &first, &err));
	name(&first, 1, "f", "g");
	assert_true(allo_frame_names_keep(&names, &first, &err));
	fill(&second, 0, (const uint64_t[]){ 0x1010 }, 1);
	assert_true(allo_frame_names_use(&names, &second, &is_complete, &err));
	assert_true(is_complete);
	assert_true(allo_text_equal(name_of(&second, 1, 0), ALLO_TEXT("f")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_of_equal_frames_return),
		cmocka_unit_test(other_frames_are_not_named),
		cmocka_unit_test(a_name_that_comes_later_is_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
