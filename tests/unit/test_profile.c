/* test_profile.c - the tables of profile/profile.h. */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "profile/profile.h"

#include <stdio.h>

static void strings_are_stored_once_and_0_is_the_empty_one(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	char text[32];

	(void)state;
	assert_int_equal(allo_profile_add_string(&profile, ALLO_TEXT(""), &err), 0);
	assert_int_equal(allo_profile_add_string(&profile, (struct allo_text){ 0 }, &err), 0);
	assert_text_equal(allo_profile_text(&profile, 0), "");
	for (uint32_t round = 0; round < 2; round++) {
		for (uint32_t i = 1; i <= 5000; i++) {
			snprintf(text, sizeof(text), "name %u", i);
			assert_int_equal(
				allo_profile_add_string(&profile, allo_text_of(text), &err), i);
		}
	}
	for (uint32_t i = 1; i <= 5000; i++) {
		snprintf(text, sizeof(text), "name %u", i);
		assert_text_equal(allo_profile_text(&profile, i), text);
		assert_int_equal(allo_profile_text(&profile, i).data[strlen(text)], '\0');
	}
	assert_false(allo_failed(&err));
}

static void strings_may_hold_any_bytes(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_text a = { "a\0b", 3 }, b = { "a\0c", 3 }, c = { "a", 1 };
	struct allo_error err = { 0 };

	(void)state;
	assert_int_equal(allo_profile_add_string(&profile, a, &err), 1);
	assert_int_equal(allo_profile_add_string(&profile, b, &err), 2);
	assert_int_equal(allo_profile_add_string(&profile, c, &err), 3);
	assert_int_equal(allo_profile_add_string(&profile, a, &err), 1);
}

static void modules_differ_by_path_build_id_and_place(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_module modules[] = {
		{ .path = 1 },
		{ .path = 1, .build_id = 2 },
		{ .path = 1, .start = 4096, .limit = 8192 },
		{ .path = 1, .start = 4096, .limit = 8192, .offset = 512 },
		{ .path = 2, .start = 4096, .limit = 8192 },
	};
	struct allo_module told = { .path = 1, .has_functions = true };
	struct allo_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 10; i++)
		assert_int_equal(allo_profile_add_module(&profile, &modules[i % 5], &err),
				 i % 5 + 1);
	/* What is known about it does not make it another one. */
	assert_int_equal(allo_profile_add_module(&profile, &told, &err), 1);
}

static void functions_differ_by_each_part(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_function functions[] = {
		{ .name = 1 }, { .name = 1, .file = 2 },       { .name = 1, .system_name = 2 },
		{ .name = 2 }, { .name = 1, .start_line = 2 }, { 0 },
	};
	struct allo_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		assert_int_equal(allo_profile_add_function(&profile, &functions[i % 6], &err),
				 i % 6 + 1);
}

static void frames_differ_by_address_module_and_lines(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_line lines[] = { { 1, 10, 0 }, { 2, 20, 0 }, { 1, 10, 5 } };
	const struct {
		struct allo_frame frame;
		const struct allo_line *lines;
		size_t count;
	} frames[] = {
		{ { .address = 1 }, NULL, 0 },
		{ { .address = 2 }, NULL, 0 },
		{ { .address = 1 }, lines, 1 },
		{ { .address = 1 }, lines, 2 },
		{ { .module = 1 }, lines, 1 },
		{ { .address = 1, .is_folded = true }, NULL, 0 },
		{ { .address = 1 }, lines + 2, 1 },
		{ { 0 }, NULL, 0 },
	};
	struct allo_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 16; i++)
		assert_int_equal(allo_profile_add_frame(&profile, &frames[i % 8].frame,
							frames[i % 8].lines, frames[i % 8].count,
							&err),
				 i % 8 + 1);
	assert_int_equal(profile.frames.at[4].line_count, 2);
	assert_int_equal(profile.lines.at[profile.frames.at[4].first_line + 1].function, 2);
	assert_int_equal(profile.lines.len, 5); /* those of equal frames are not stored again */
}

static void a_named_frame_is_a_function_with_one_line(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	allo_frame_id main_frame = allo_profile_add_named_frame(&profile, ALLO_TEXT("main"), &err);
	const struct allo_frame *frame = &profile.frames.at[main_frame];

	(void)state;
	assert_int_equal(frame->line_count, 1);
	assert_text_equal(
		allo_profile_text(
			&profile,
			profile.functions.at[profile.lines.at[frame->first_line].function].name),
		"main");
	assert_int_equal(allo_profile_add_named_frame(&profile, ALLO_TEXT("main"), &err),
			 main_frame);
}

static void a_frame_that_gets_lines_is_found_by_them(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	struct allo_frame frame = { .address = 0x1234 };
	struct allo_function function = { .name = allo_profile_add_string(
						  &profile, ALLO_TEXT("main"), &err) };
	struct allo_line line = { allo_profile_add_function(&profile, &function, &err), 7, 0 };
	allo_frame_id id = allo_profile_add_frame(&profile, &frame, NULL, 0, &err);

	(void)state;
	assert_true(allo_profile_set_lines(&profile, id, &line, 1, &err));
	assert_int_equal(profile.frames.at[id].line_count, 1);
	assert_int_equal(profile.lines.at[profile.frames.at[id].first_line].line, 7);
	assert_int_equal(allo_profile_add_frame(&profile, &frame, &line, 1, &err), id);
	assert_int_not_equal(allo_profile_add_frame(&profile, &frame, NULL, 0, &err), id);
}

static void label_sets_are_shared_and_0_is_none(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_label labels[] = { { .key = 1, .text = 2 },
					     { .key = 1, .number = 2, .is_number = 1 } };
	struct allo_error err = { 0 };

	(void)state;
	assert_int_equal(allo_profile_add_labels(&profile, labels, 0, &err), 0);
	assert_int_equal(allo_profile_add_labels(&profile, labels, 1, &err), 1);
	assert_int_equal(allo_profile_add_labels(&profile, labels + 1, 1, &err), 2);
	assert_int_equal(allo_profile_add_labels(&profile, labels, 2, &err), 3);
	assert_int_equal(allo_profile_add_labels(&profile, labels, 1, &err), 1);
	assert_int_equal(allo_profile_add_labels(&profile, labels, 2, &err), 3);
}

static void threads_differ_by_process_number_and_name(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_thread threads[] = { { .pid = 1, .tid = 1 },
					       { .pid = 1, .tid = 2 },
					       { .pid = 1, .tid = 1, .name = 1 } };
	struct allo_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 6; i++)
		assert_int_equal(allo_profile_add_thread(&profile, &threads[i % 3], &err),
				 i % 3 + 1);
}

static void comments_stay_in_order_and_may_repeat(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_comment(&profile, ALLO_TEXT("b"), &err));
	assert_true(allo_profile_add_comment(&profile, ALLO_TEXT("a"), &err));
	assert_true(allo_profile_add_comment(&profile, ALLO_TEXT("b"), &err));
	assert_int_equal(profile.comments.len, 3);
	assert_text_equal(allo_profile_text(&profile, profile.comments.at[2]), "b");
}

static void notes_keep_the_first_place(void **state)
{
	struct allo_notes notes = { 0 }, more = { 0 };

	(void)state;
	allo_note(&more, ALLO_NOTE_BAD_UTF8, (struct allo_pos){ "b", 5, 5 });
	allo_notes_add(&notes, &more);
	allo_note(&notes, ALLO_NOTE_BAD_UTF8, (struct allo_pos){ "a", 1, 1 });
	allo_notes_add(&notes, &more);
	assert_int_equal(notes.of[ALLO_NOTE_BAD_UTF8].count, 3);
	assert_string_equal(notes.of[ALLO_NOTE_BAD_UTF8].first.file, "b");
	for (int n = 0; n < ALLO_NOTES; n++) {
		assert_non_null(allo_note_kinds[n].name);
		assert_non_null(allo_note_kinds[n].one);
		assert_non_null(allo_note_kinds[n].several);
		assert_non_null(allo_note_kinds[n].consequence);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(strings_are_stored_once_and_0_is_the_empty_one),
		cmocka_unit_test(strings_may_hold_any_bytes),
		cmocka_unit_test(modules_differ_by_path_build_id_and_place),
		cmocka_unit_test(functions_differ_by_each_part),
		cmocka_unit_test(frames_differ_by_address_module_and_lines),
		cmocka_unit_test(a_named_frame_is_a_function_with_one_line),
		cmocka_unit_test(a_frame_that_gets_lines_is_found_by_them),
		cmocka_unit_test(label_sets_are_shared_and_0_is_none),
		cmocka_unit_test(threads_differ_by_process_number_and_name),
		cmocka_unit_test(comments_stay_in_order_and_may_repeat),
		cmocka_unit_test(notes_keep_the_first_place),
	};

	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
