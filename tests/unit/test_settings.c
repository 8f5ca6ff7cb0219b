/* test_settings.c - capture/settings.h, from the environment of this process. */
#include "check.h"

#include "capture/settings.h"

#include <stdlib.h>

/* Reads the settings with one variable set. */
static const struct allo_settings *read_with(const char *name, const char *value)
{
	allo_settings = (struct allo_settings){ 0 };
	assert_int_equal(setenv(name, value, 1), 0);
	allo_settings_read();
	assert_int_equal(unsetenv(name), 0);
	return &allo_settings;
}

static void without_variables_everything_is_recorded_and_nothing_written(void **state)
{
	(void)state;
	allo_settings = (struct allo_settings){ 0 };
	allo_settings_read();
	assert_string_equal(allo_settings.output, "");
	assert_string_equal(allo_settings.list, "");
	assert_int_equal(allo_settings.min_size, 0);
	assert_int_equal(allo_settings.max_file, 0);
	assert_int_equal(allo_settings.stack_depth, 0);
	assert_int_equal(allo_settings.track,
			 ALLO_TRACK_MALLOC | ALLO_TRACK_NEW | ALLO_TRACK_PYTHON);
	assert_int_equal(allo_settings.unwind, ALLO_UNWIND_AUTO);
	assert_false(allo_settings.no_follow);
	assert_true(allo_settings.is_plain);
}

static void the_program_is_named_without_its_folder(void **state)
{
	(void)state;
	allo_settings_read();
	assert_int_equal(strncmp(allo_settings.program, "test_settings", 13), 0);
}

static void paths_are_copied(void **state)
{
	(void)state;
	assert_string_equal(read_with("ALLO_OUTPUT", "/tmp/%e.allo")->output, "/tmp/%e.allo");
	assert_string_equal(read_with("ALLO_LIST", "/tmp/list")->list, "/tmp/list");
}

static void one_variable_can_hold_all(void **state)
{
	const struct allo_settings *settings = read_with(
		"ALLO_SETTINGS",
		"MIN_SIZE=7;OUTPUT=/a\\;b\\\\c=d%p;MODE=sampled;RATE=4096;FOLLOW=0");

	(void)state;
	assert_int_equal(settings->min_size, 7);
	assert_string_equal(settings->output, "/a;b\\c=d%p");
	assert_int_equal(settings->mode, ALLO_SAMPLED);
	assert_int_equal(settings->rate, 4096);
	assert_true(settings->no_follow);
	allo_settings_read(); /* for the other tests */
	assert_string_equal(allo_settings.output, "");
}

static void settings_in_one_variable_precede_others(void **state)
{
	(void)state;
	assert_int_equal(setenv("ALLO_SETTINGS", "MIN_SIZE=7", 1), 0);
	assert_int_equal(read_with("ALLO_MIN_SIZE", "8")->min_size, 7);
	assert_int_equal(read_with("ALLO_MAX_FILE", "9")->max_file, 9);
	assert_int_equal(unsetenv("ALLO_SETTINGS"), 0);
	allo_settings_read();
	assert_int_equal(allo_settings.min_size, 0);
}

static void odd_texts_in_one_variable_do_no_harm(void **state)
{
	static const char *const texts[] = {
		"", ";", ";;=;", "\\", "MIN_SIZE", "MIN_SIZE=7\\", "=MIN_SIZE=7", "XMIN_SIZE=7"
	};
	static char lots[1 << 16];

	(void)state;
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		assert_int_equal(read_with("ALLO_SETTINGS", texts[i])->min_size, 0);
	memset(lots, 'a', sizeof(lots) - 1);
	memcpy(lots, "MIN_SIZE=7;", 11);
	assert_int_equal(read_with("ALLO_SETTINGS", lots)->min_size, 0);
	allo_settings_read();
}

static void a_path_that_is_too_long_is_ignored(void **state)
{
	static char path[PATH_MAX + 1];

	(void)state;
	memset(path, 'a', sizeof(path) - 1);
	assert_string_equal(read_with("ALLO_OUTPUT", path)->output, "");
	path[PATH_MAX - 1] = '\0';
	assert_string_equal(read_with("ALLO_OUTPUT", path)->output, path);
}

static void numbers_are_decimal_digits(void **state)
{
	const char *bad[] = { "", "-1", "+1", " 1", "1 ", "1k", "0x10", "18446744073709551616" };

	(void)state;
	assert_int_equal(read_with("ALLO_MIN_SIZE", "4096")->min_size, 4096);
	assert_int_equal(read_with("ALLO_MAX_FILE", "007")->max_file, 7);
	assert_int_equal(read_with("ALLO_DELAY_NS", "1000000000")->delay_ns, 1000000000);
	assert_true(read_with("ALLO_DURATION_NS", "18446744073709551615")->duration_ns ==
		    UINT64_MAX);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(read_with("ALLO_MIN_SIZE", bad[i])->min_size, 0);
}

/* 2^32 + 1 frames are not one frame. */
static void numbers_that_are_too_large_are_ignored(void **state)
{
	(void)state;
	assert_int_equal(read_with("ALLO_STACK_DEPTH", "4294967295")->stack_depth, UINT32_MAX);
	assert_int_equal(read_with("ALLO_STACK_DEPTH", "4294967297")->stack_depth, 0);
	assert_int_equal(read_with("ALLO_VERIFY_UNWIND", "4294967297")->check_every, 0);
}

static void unwinders_are_chosen_by_name(void **state)
{
	(void)state;
	assert_int_equal(read_with("ALLO_UNWIND", "fp")->unwind, ALLO_UNWIND_FP);
	assert_int_equal(allo_unwind, ALLO_UNWIND_FP);
	assert_int_equal(read_with("ALLO_UNWIND", "dwarf")->unwind, ALLO_UNWIND_DWARF);
	assert_int_equal(read_with("ALLO_UNWIND", "none")->unwind, ALLO_UNWIND_NONE);
	assert_int_equal(read_with("ALLO_UNWIND", "auto")->unwind, ALLO_UNWIND_AUTO);
	assert_int_equal(read_with("ALLO_UNWIND", "FP")->unwind, ALLO_UNWIND_AUTO);
	assert_int_equal(read_with("ALLO_UNWIND", "fp,dwarf")->unwind, ALLO_UNWIND_AUTO);
}

static void tracked_functions_are_a_list(void **state)
{
	(void)state;
	assert_int_equal(read_with("ALLO_TRACK", "malloc")->track, ALLO_TRACK_MALLOC);
	assert_int_equal(read_with("ALLO_TRACK", "new")->track, ALLO_TRACK_NEW);
	assert_int_equal(read_with("ALLO_TRACK", "new,malloc")->track,
			 ALLO_TRACK_MALLOC | ALLO_TRACK_NEW);
	assert_int_equal(read_with("ALLO_TRACK", "mmap")->track, ALLO_TRACK_MMAP);
	assert_int_equal(read_with("ALLO_TRACK", "brk,mmap,malloc")->track,
			 ALLO_TRACK_MALLOC | ALLO_TRACK_MMAP | ALLO_TRACK_BRK);
	assert_int_equal(read_with("ALLO_TRACK", "newer,mallocs,x")->track, 0);
	assert_int_equal(read_with("ALLO_TRACK", "")->track,
			 ALLO_TRACK_MALLOC | ALLO_TRACK_NEW | ALLO_TRACK_PYTHON);
}

static void children_are_recorded_by_default(void **state)
{
	(void)state;
	assert_true(read_with("ALLO_FOLLOW", "0")->no_follow);
	assert_false(read_with("ALLO_FOLLOW", "1")->no_follow);
	assert_false(read_with("ALLO_FOLLOW", "")->no_follow);
}

static void a_prefix_of_a_variable_name_does_not_match(void **state)
{
	(void)state;
	assert_string_equal(read_with("ALLO_OUTPUTS", "x")->output, "");
	assert_string_equal(read_with("XALLO_OUTPUT", "x")->output, "");
}

static void plain_recordings_have_stacks_and_no_checks(void **state)
{
	(void)state;
	assert_false(read_with("ALLO_UNWIND", "none")->is_plain);
	assert_false(read_with("ALLO_VERIFY_UNWIND", "1")->is_plain);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_variables_everything_is_recorded_and_nothing_written),
		cmocka_unit_test(the_program_is_named_without_its_folder),
		cmocka_unit_test(paths_are_copied),
		cmocka_unit_test(one_variable_can_hold_all),
		cmocka_unit_test(settings_in_one_variable_precede_others),
		cmocka_unit_test(odd_texts_in_one_variable_do_no_harm),
		cmocka_unit_test(a_path_that_is_too_long_is_ignored),
		cmocka_unit_test(numbers_are_decimal_digits),
		cmocka_unit_test(numbers_that_are_too_large_are_ignored),
		cmocka_unit_test(unwinders_are_chosen_by_name),
		cmocka_unit_test(tracked_functions_are_a_list),
		cmocka_unit_test(children_are_recorded_by_default),
		cmocka_unit_test(a_prefix_of_a_variable_name_does_not_match),
		cmocka_unit_test(plain_recordings_have_stacks_and_no_checks),
	};

	return cmocka_run_group_tests_name("config", tests, NULL, NULL);
}
