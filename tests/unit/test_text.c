/* test_text.c - base/text.h. */
#include "check.h"

#include "base/text.h"

static void cutting_takes_the_first_or_the_last_separator(void **state)
{
	struct allo_text before, after;

	(void)state;
	assert_true(allo_text_cut(ALLO_TEXT("a;b;c"), ';', &before, &after));
	assert_text_equal(before, "a");
	assert_text_equal(after, "b;c");
	assert_true(allo_text_cut_last(ALLO_TEXT("a;b;c"), ';', &before, &after));
	assert_text_equal(before, "a;b");
	assert_text_equal(after, "c");
	assert_false(allo_text_cut(ALLO_TEXT("abc"), ';', &before, &after));
	assert_false(allo_text_cut((struct allo_text){ 0 }, ';', &before, &after));
}

static void pieces_may_be_empty_and_the_last_one_counts(void **state)
{
	struct allo_text rest = ALLO_TEXT("a;;b;"), piece;
	const char *expected[] = { "a", "", "b", "" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		assert_true(allo_text_next(&rest, ';', &piece));
		assert_text_equal(piece, expected[i]);
	}
	assert_false(allo_text_next(&rest, ';', &piece));
}

static void numbers_end_at_two_to_the_64(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(allo_text_u64(ALLO_TEXT("18446744073709551615"), &value));
	assert_true(value == UINT64_MAX);
	assert_false(allo_text_u64(ALLO_TEXT("18446744073709551616"), &value));
	assert_false(allo_text_u64(ALLO_TEXT("99999999999999999999999"), &value));
	assert_false(allo_text_u64(ALLO_TEXT("-1"), &value));
	assert_false(allo_text_u64(ALLO_TEXT("1 "), &value));
	assert_false(allo_text_u64(ALLO_TEXT(""), &value));
	assert_true(allo_text_hex(ALLO_TEXT("fFfFfFfFfFfFfFfF"), &value));
	assert_true(value == UINT64_MAX);
	assert_false(allo_text_hex(ALLO_TEXT("10000000000000000"), &value));
	assert_false(allo_text_hex(ALLO_TEXT("0x10"), &value));
}

static void finding_looks_from_both_ends(void **state)
{
	struct allo_text text = ALLO_TEXT("abcabcab");

	(void)state;
	assert_int_equal(allo_text_find(text, ALLO_TEXT("ab")), 0);
	assert_int_equal(allo_text_find_last(text, ALLO_TEXT("ab")), 6);
	assert_int_equal(allo_text_find_last(text, ALLO_TEXT("abc")), 3);
	assert_true(allo_text_find(text, ALLO_TEXT("x")) == (size_t)-1);
	assert_true(allo_text_find_last(text, ALLO_TEXT("x")) == (size_t)-1);
	assert_true(allo_text_find_last(ALLO_TEXT("a"), ALLO_TEXT("ab")) == (size_t)-1);
}

static void order_is_that_of_bytes(void **state)
{
	(void)state;
	assert_true(allo_text_compare(ALLO_TEXT("a"), ALLO_TEXT("b")) < 0);
	assert_true(allo_text_compare(ALLO_TEXT("ab"), ALLO_TEXT("a")) > 0);
	assert_true(allo_text_compare(ALLO_TEXT("\xff"), ALLO_TEXT("a")) > 0);
	assert_int_equal(allo_text_compare(ALLO_TEXT(""), (struct allo_text){ 0 }), 0);
}

static void what_is_empty_starts_and_ends_everything(void **state)
{
	struct allo_text none = { 0 };

	(void)state;
	assert_true(allo_text_starts(none, none) && allo_text_ends(none, none));
	assert_true(allo_text_starts(ALLO_TEXT("a"), none) && allo_text_ends(ALLO_TEXT("a"), none));
	assert_false(allo_text_starts(none, ALLO_TEXT("a")) ||
		     allo_text_ends(none, ALLO_TEXT("a")));
	assert_true(allo_text_equal(none, ALLO_TEXT("")));
	assert_text_equal(allo_text_trim(ALLO_TEXT(" \t\r\n")), "");
	assert_text_equal(allo_text_trim(ALLO_TEXT("\n a b\v")), "a b");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cutting_takes_the_first_or_the_last_separator),
		cmocka_unit_test(pieces_may_be_empty_and_the_last_one_counts),
		cmocka_unit_test(numbers_end_at_two_to_the_64),
		cmocka_unit_test(finding_looks_from_both_ends),
		cmocka_unit_test(order_is_that_of_bytes),
		cmocka_unit_test(what_is_empty_starts_and_ends_everything),
	};

	return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
