/* test_file_name.c - capture/file/file_name.h: patterns, dates and numbers. */
#include "check.h"
#include "random.h"

#include "capture/file/file_name.h"
#include "capture/settings.h"

#include <stdio.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

/* Compares with a text in which # stands for the process id. */
static void assert_name(const char *pattern, unsigned number, const char *expected)
{
	char name[200], filled[200] = "";

	for (; *expected; expected++) {
		size_t len = strlen(filled);

		if (*expected == '#')
			snprintf(filled + len, sizeof(filled) - len, "%d", getpid());
		else
			snprintf(filled + len, sizeof(filled) - len, "%c", *expected);
	}
	assert_true(allo_file_name(pattern, number, name, sizeof(name)));
	assert_string_equal(name, filled);
}

static void a_pattern_without_letters_is_the_name(void **state)
{
	(void)state;
	assert_name("app.allo", 1, "app.allo");
	assert_name("/tmp/x/app", 1, "/tmp/x/app");
	assert_name("", 1, "");
}

static void letters_stand_for_program_process_host_and_number(void **state)
{
	struct utsname names;
	char expected[200];

	(void)state;
	strcpy(allo_settings.program, "prog.am");
	assert_name("%e", 1, "prog.am");
	assert_name("%p", 1, "#");
	assert_name("%n", 1, "1");
	assert_name("a%ea%pa%na", 7, "aprog.ama#a7a");
	assert_int_equal(uname(&names), 0);
	snprintf(expected, sizeof(expected), "%s.allo", names.nodename);
	assert_name("%h.allo", 1, expected);
}

static void two_percent_signs_are_one(void **state)
{
	(void)state;
	assert_name("100%%.allo", 1, "100%.allo");
	assert_name("%%p", 1, "%p");
	assert_name("%%%p", 1, "%#");
}

static void unknown_letters_stay(void **state)
{
	(void)state;
	assert_name("%x%", 1, "%x%");
	assert_name("%", 1, "%");
	assert_name("%.allo", 1, "%.allo");
}

static void later_names_have_the_process_and_a_number_before_the_extension(void **state)
{
	(void)state;
	assert_name("app.allo", 2, "app.#.allo");
	assert_name("app.allo", 3, "app.#.2.allo");
	assert_name("app.allo", 12, "app.#.11.allo");
	assert_name("a.b.allo", 2, "a.b.#.allo");
	assert_name("%%.allo", 2, "%.#.allo");
	assert_name("%.allo", 2, "%.#.allo");
	assert_name(".allo", 2, ".#.allo");
}

static void names_without_an_extension_have_them_at_the_end(void **state)
{
	(void)state;
	strcpy(allo_settings.program, "prog.am");
	assert_name("app", 2, "app.#");
	assert_name("app", 3, "app.#.2");
	assert_name("%e", 2, "prog.am.#");
	assert_name("%", 2, "%.#");
}

static void dots_in_folders_are_not_extensions(void **state)
{
	(void)state;
	assert_name("/a.b/app", 2, "/a.b/app.#");
	assert_name("../app.allo", 2, "../app.#.allo");
	assert_name("../app", 2, "../app.#");
}

static void patterns_with_a_number_get_no_second_one(void **state)
{
	(void)state;
	assert_name("app.%n.allo", 2, "app.2.allo");
	assert_name("app.%n", 1000, "app.1000");
}

/* Otherwise the same name would be tried forever. */
static void an_escaped_percent_sign_before_an_n_is_not_a_number(void **state)
{
	(void)state;
	assert_name("app%%n.allo", 1, "app%n.allo");
	assert_name("app%%n.allo", 2, "app%n.#.allo");
	assert_name("app%%%n.allo", 2, "app%2.allo");
}

static void a_name_that_does_not_fit_is_refused(void **state)
{
	char name[8];

	(void)state;
	assert_true(allo_file_name("1234567", 1, name, sizeof(name)));
	assert_string_equal(name, "1234567");
	assert_false(allo_file_name("12345678", 1, name, sizeof(name)));
	assert_false(allo_file_name("1234567890", 1, name, sizeof(name)));
	strcpy(allo_settings.program, "program");
	assert_true(allo_file_name("%e", 1, name, sizeof(name)));
	assert_false(allo_file_name("%ea", 1, name, sizeof(name)));
	assert_false(allo_file_name("a%e", 1, name, sizeof(name)));
}

static void assert_date(time_t seconds)
{
	char found[ALLO_DATE_LEN + 1] = "", expected[64];
	struct tm parts;

	assert_non_null(gmtime_r(&seconds, &parts));
	assert_int_equal(strftime(expected, sizeof(expected), "%Y%m%dT%H%M%S", &parts),
			 ALLO_DATE_LEN);
	allo_put_date(found, (uint64_t)seconds);
	assert_string_equal(found, expected);
}

static void every_day_until_2500_agrees_with_gmtime(void **state)
{
	(void)state;
	for (time_t day = 0; day < 530 * 366; day++) {
		assert_date(day * 86400);
		assert_date(day * 86400 + 86399);
	}
}

static void random_seconds_until_9999_agree_with_gmtime(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned i = 0; i < 100000; i++)
		assert_date((time_t)(draw_u64(&random) % 253402300800));
}

static void the_time_of_a_name_is_now(void **state)
{
	time_t before = time(NULL), after;
	char name[64], least[ALLO_DATE_LEN + 1] = "", most[ALLO_DATE_LEN + 1] = "";

	(void)state;
	assert_true(allo_file_name("%t", 1, name, sizeof(name)));
	after = time(NULL);
	allo_put_date(least, (uint64_t)before - 1); /* time() may be behind by a tick */
	allo_put_date(most, (uint64_t)after + 1);
	assert_int_equal(strlen(name), ALLO_DATE_LEN);
	assert_true(strcmp(name, least) >= 0 && strcmp(name, most) <= 0);
}

static void numbers_are_padded_to_the_width(void **state)
{
	char text[21] = "";

	(void)state;
	assert_int_equal(allo_put_decimal(text, 0, 0), 1);
	assert_string_equal(text, "0");
	assert_int_equal(allo_put_decimal(text, 4, 42), 4);
	assert_string_equal(text, "0042");
	assert_int_equal(allo_put_decimal(text, 2, UINT64_MAX), 20);
	assert_string_equal(text, "18446744073709551615");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pattern_without_letters_is_the_name),
		cmocka_unit_test(letters_stand_for_program_process_host_and_number),
		cmocka_unit_test(two_percent_signs_are_one),
		cmocka_unit_test(unknown_letters_stay),
		cmocka_unit_test(later_names_have_the_process_and_a_number_before_the_extension),
		cmocka_unit_test(names_without_an_extension_have_them_at_the_end),
		cmocka_unit_test(dots_in_folders_are_not_extensions),
		cmocka_unit_test(patterns_with_a_number_get_no_second_one),
		cmocka_unit_test(an_escaped_percent_sign_before_an_n_is_not_a_number),
		cmocka_unit_test(a_name_that_does_not_fit_is_refused),
		cmocka_unit_test(every_day_until_2500_agrees_with_gmtime),
		cmocka_unit_test(random_seconds_until_9999_agree_with_gmtime),
		cmocka_unit_test(the_time_of_a_name_is_now),
		cmocka_unit_test(numbers_are_padded_to_the_width),
	};

	return cmocka_run_group_tests_name("file_name", tests, NULL, NULL);
}
