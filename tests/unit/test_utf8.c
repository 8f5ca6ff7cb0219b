/* test_utf8.c - base/utf8.h. */
#include "check.h"

#include "base/utf8.h"

static void what_is_not_utf8_is_found(void **state)
{
	/* Overlong, surrogate, beyond U+10FFFF, cut off, a stray continuation. */
	const char *bad[] = { "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80",
			      "\xe2\x82", "\x80",         "\xff",         "\xf8\x88\x80\x80\x80" };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(allo_utf8_is_valid(allo_text_of(bad[i])));
	assert_true(
		allo_utf8_is_valid(ALLO_TEXT("plain, \xc2\xb5s, \xe2\x82\xac, \xf0\x9f\x92\xa9")));
	assert_int_equal(allo_utf8_valid_prefix(ALLO_TEXT("12345678\xffrest")), 8);
}

static void wide_characters_take_two_columns(void **state)
{
	(void)state;
	assert_int_equal(allo_utf8_columns(ALLO_TEXT("\xe4\xbe\x8b")), 2);             /* CJK */
	assert_int_equal(allo_utf8_columns(ALLO_TEXT("\xed\x95\x9c\xea\xb8\x80")), 4); /* Hangul */
	assert_int_equal(allo_utf8_columns(ALLO_TEXT("\xf0\x9f\x98\x80")), 2);         /* emoji */
	assert_int_equal(allo_utf8_columns(ALLO_TEXT("a\xef\xb8\x8f\xff")), 2);        /* marks */
	assert_text_equal(allo_utf8_first_columns(ALLO_TEXT("a\xe4\xbe\x8b"), 2), "a");
	assert_text_equal(allo_utf8_first_columns(ALLO_TEXT("a\xe4\xbe\x8b"), 3), "a\xe4\xbe\x8b");
}

static void columns_are_characters(void **state)
{
	(void)state;
	assert_int_equal(allo_utf8_columns(ALLO_TEXT("a\xc2\xb5\xe2\x82\xac")), 3);
	assert_int_equal(allo_utf8_columns(ALLO_TEXT("e\xcc\x81")), 1);
	assert_text_equal(allo_utf8_first_columns(ALLO_TEXT("\xc2\xb5\xc2\xb5s"), 2),
			  "\xc2\xb5\xc2\xb5");
}

static void control_characters_are_known(void **state)
{
	const char *controls[] = { "\x1b[31m",     "\n",           "\x7f",         "\xc2\x9b",
				   "\xc2\x80",     "\xd8\x9c",     "\xe2\x80\x8e", "\xe2\x80\x8f",
				   "\xe2\x80\xaa", "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x81\xa9" };
	const char *others[] = { " ",
				 "a",
				 "\xc2\xa0",
				 "\xc3\x80",
				 "\xc2",
				 "\xd8\x9b",
				 "\xe2\x80\x8d",
				 "\xe2\x80\x90",
				 "\xe2",
				 "\xe2\x80\xaf",
				 "\xe2\x81\xa5",
				 "\xe2\x81\xaa" };

	(void)state;
	for (size_t i = 0; i < sizeof(controls) / sizeof(*controls); i++) {
		assert_true(allo_utf8_is_control(allo_text_of(controls[i])));
		assert_false(allo_utf8_is_control(allo_text_of(others[i])));
	}
	assert_true(allo_utf8_is_control((struct allo_text){ "", 1 }));
}

static void code_points_are_encoded_as_they_are_checked(void **state)
{
	const uint32_t points[] = { 0x24, 0xb5, 0x20ac, 0x10348, 0x10ffff };

	(void)state;
	for (size_t i = 0; i < sizeof(points) / sizeof(*points); i++) {
		char bytes[4];
		size_t len = allo_utf8_encode(points[i], bytes);

		assert_int_equal(allo_utf8_character((struct allo_text){ bytes, len }), len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_utf8_is_found),
		cmocka_unit_test(columns_are_characters),
		cmocka_unit_test(wide_characters_take_two_columns),
		cmocka_unit_test(control_characters_are_known),
		cmocka_unit_test(code_points_are_encoded_as_they_are_checked),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
