/* test_dtrace_lines.c - readers/traces/dtrace_lines.h. */
#include "check.h"

#include "readers/traces/dtrace_lines.h"

static void assert_is(const char *line, size_t indent, enum allo_dtrace_line kind)
{
	if (allo_dtrace_line_of(allo_text_of(line), indent) != kind)
		fail_msg("\"%s\" is taken for %d", line,
			 allo_dtrace_line_of(allo_text_of(line), indent));
}

static void frames_are_known_by_their_looks_or_their_place(void **state)
{
	(void)state;
	assert_is("              libc.so.1`malloc+0x1c", 0, ALLO_DTRACE_FRAME);
	assert_is("a`main", 0, ALLO_DTRACE_FRAME);
	assert_is("              0x7fff20341f5e", 0, ALLO_DTRACE_FRAME);
	assert_is("              java/lang/String.indexOf(II)I", 0, ALLO_DTRACE_FRAME);
	assert_is("    java/lang/String.indexOf(II)I", 4, ALLO_DTRACE_FRAME);
	assert_is("              java/lang/String.indexOf(II)I", 20, ALLO_DTRACE_WORDS);
	assert_is("              12 monkeys", 14, ALLO_DTRACE_WORDS);
	assert_is("              7z`main", 14, ALLO_DTRACE_FRAME);
	/* A key that is a symbol, as usym() prints it. */
	assert_is("  libc.so.1`malloc", 14, ALLO_DTRACE_WORDS);
	assert_is("  libc.so.1`malloc", 0, ALLO_DTRACE_WORDS);
}

static void annotations_stand_further_in(void **state)
{
	(void)state;
	assert_is("                [ lists:foldl/3 ]", 14, ALLO_DTRACE_ANNOTATION);
	assert_is("              [ lists:foldl/3 ]", 14, ALLO_DTRACE_FRAME);
	assert_is("                [ lists:foldl/3", 14, ALLO_DTRACE_WORDS);
}

static void numbers_are_numbers(void **state)
{
	(void)state;
	assert_is("                1", 14, ALLO_DTRACE_NUMBERS);
	assert_is("              123", 14, ALLO_DTRACE_NUMBERS);
	assert_is("  648497479071750    31557             7001", 0, ALLO_DTRACE_NUMBERS);
	assert_is("               -5", 0, ALLO_DTRACE_NUMBERS);
	assert_is("              -", 0, ALLO_DTRACE_FRAME); /* as others write an empty name */
	assert_is("               -", 0, ALLO_DTRACE_WORDS);
	assert_is("  mdb                                                    4242", 0,
		  ALLO_DTRACE_WORDS);
}

static void messages_of_dtrace_are_recognised(void **state)
{
	(void)state;
	assert_is("", 0, ALLO_DTRACE_BLANK);
	assert_is("   \t", 0, ALLO_DTRACE_BLANK);
	assert_is("dtrace: pid 123 has exited", 0, ALLO_DTRACE_NOTICE);
	assert_is("CPU     ID                    FUNCTION:NAME", 0, ALLO_DTRACE_PROBE);
	assert_is("CPU FUNCTION", 0, ALLO_DTRACE_PROBE);
	assert_is("  3  71232                        :tick-10s", 0, ALLO_DTRACE_PROBE);
	assert_is("  3  -> main", 0, ALLO_DTRACE_PROBE);
	assert_is("  3  71232  a:b", 0, ALLO_DTRACE_WORDS);
	assert_is("           value  ------------- Distribution ------------- count", 0,
		  ALLO_DTRACE_TABLE);
}

static void drops_are_counted(void **state)
{
	(void)state;
	assert_int_equal(allo_dtrace_drops(ALLO_TEXT("dtrace: 12 drops on CPU 0")), 12);
	assert_int_equal(allo_dtrace_drops(ALLO_TEXT("dtrace: 1 aggregation drop on CPU 1")), 1);
	assert_int_equal(
		allo_dtrace_drops(ALLO_TEXT("dtrace: [DTRACEDROP_AGGREGATION] 7 aggregation "
					    "drops on CPU 1")),
		7);
	assert_int_equal(allo_dtrace_drops(ALLO_TEXT("dtrace: pid 123 has exited")), 0);
	assert_int_equal(allo_dtrace_drops(ALLO_TEXT("dtrace: ")), 0);
	assert_int_equal(allo_dtrace_drops(ALLO_TEXT("dtrace: [")), 0);
}

static void names_among_keys_may_hold_spaces(void **state)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];
	const char *line = "  Google Chrome He                                       4242  -7";

	(void)state;
	assert_int_equal(allo_dtrace_split(allo_text_of(line), keys), 3);
	assert_text_equal(keys[0].text, "Google Chrome He");
	assert_false(keys[0].is_number);
	assert_int_equal(keys[1].number, 4242);
	assert_true(keys[2].is_number && keys[2].is_negative && keys[2].number == 7);
	assert_int_equal(allo_dtrace_split_words(allo_text_of(line), keys), 5);
}

static void fifty_columns_end_a_name(void **state)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];
	const char *line = "  12345678901234567890123456789012345678901234567890a 12345678";

	(void)state;
	assert_int_equal(allo_dtrace_split(allo_text_of(line), keys), 2);
	assert_int_equal(keys[1].number, 12345678);
}

static void numbers_of_64_bits_are_wide(void **state)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];

	(void)state;
	assert_int_equal(allo_dtrace_split(ALLO_TEXT("          7334631"), keys), 1);
	assert_true(keys[0].is_wide);
	assert_int_equal(allo_dtrace_split(ALLO_TEXT("    31557"), keys), 1);
	assert_false(keys[0].is_wide);
}

static void too_many_keys_are_too_many(void **state)
{
	struct allo_dtrace_key keys[ALLO_DTRACE_KEYS];
	struct allo_text line = ALLO_TEXT("1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18");

	(void)state;
	assert_true(allo_dtrace_split(line, keys) > ALLO_DTRACE_KEYS);
	assert_true(allo_dtrace_split_words(line, keys) > ALLO_DTRACE_KEYS);
	line.len -= 6;
	assert_int_equal(allo_dtrace_split(line, keys), ALLO_DTRACE_KEYS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_are_known_by_their_looks_or_their_place),
		cmocka_unit_test(annotations_stand_further_in),
		cmocka_unit_test(numbers_are_numbers),
		cmocka_unit_test(messages_of_dtrace_are_recognised),
		cmocka_unit_test(drops_are_counted),
		cmocka_unit_test(names_among_keys_may_hold_spaces),
		cmocka_unit_test(fifty_columns_end_a_name),
		cmocka_unit_test(numbers_of_64_bits_are_wide),
		cmocka_unit_test(too_many_keys_are_too_many),
	};

	return cmocka_run_group_tests_name("dtrace_lines", tests, NULL, NULL);
}
