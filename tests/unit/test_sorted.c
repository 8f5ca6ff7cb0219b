/* test_sorted.c - base/sorted.h. */
#include "check.h"

#include "base/sorted.h"

struct item {
	char before;
	uint64_t number;
	char behind;
};

static void numbers_are_found_among_equal_ones(void **state)
{
	static const struct item items[] = {
		{ .number = 0 },          { .number = 3 }, { .number = 3 },
		{ .number = 3 },          { .number = 9 }, { .number = UINT64_MAX - 1 },
		{ .number = UINT64_MAX },
	};
	static const struct {
		uint64_t number;
		size_t below, up_to;
	} expected[] = {
		{ 0, 0, 1 },          { 1, 1, 1 }, { 2, 1, 1 },  { 3, 1, 4 },
		{ 4, 4, 4 },          { 9, 4, 5 }, { 10, 5, 5 }, { UINT64_MAX - 1, 5, 6 },
		{ UINT64_MAX, 6, 7 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		assert_int_equal(allo_sorted_below(items, 7, number, expected[i].number),
				 expected[i].below);
		assert_int_equal(allo_sorted_up_to(items, 7, number, expected[i].number),
				 expected[i].up_to);
	}
}

static void nothing_is_searched_where_there_is_nothing(void **state)
{
	const struct item *none = NULL;

	(void)state;
	assert_int_equal(allo_sorted_below(none, 0, number, 7), 0);
	assert_int_equal(allo_sorted_up_to(none, 0, number, UINT64_MAX), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_found_among_equal_ones),
		cmocka_unit_test(nothing_is_searched_where_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
