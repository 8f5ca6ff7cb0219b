/* test_vec.c - base/vec.h. */
#include "check.h"

#include "base/vec.h"

typedef ALLO_VEC(uint32_t) numbers;

static void pushed_items_stay_in_order(void **state)
{
	numbers vec = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 10000; i++) {
		uint32_t *item = allo_vec_push(&vec);

		assert_non_null(item);
		*item = i * 3;
	}
	assert_int_equal(vec.len, 10000);
	for (uint32_t i = 0; i < 10000; i++)
		assert_int_equal(vec.at[i], i * 3);
	allo_vec_done(&vec);
	assert_null(vec.at);
	assert_int_equal(vec.len + vec.cap, 0);
}

static void appending_nothing_needs_no_memory(void **state)
{
	numbers vec = { 0 };

	(void)state;
	assert_true(allo_vec_append(&vec, NULL, 0));
	assert_true(allo_vec_cover(&vec, 0));
	assert_null(vec.at);
}

static void several_items_are_appended_at_once(void **state)
{
	const uint32_t more[] = { 7, 8, 9 };
	numbers vec = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		assert_true(allo_vec_append(&vec, more, 3));
	assert_int_equal(vec.len, 300);
	assert_int_equal(vec.at[299], 9);
	allo_vec_done(&vec);
}

static void covering_fills_with_zeros_and_never_shortens(void **state)
{
	numbers vec = { 0 };

	(void)state;
	assert_true(allo_vec_cover(&vec, 5));
	vec.at[4] = 1;
	vec.len = 2; /* what was there is covered anew */
	assert_true(allo_vec_cover(&vec, 100));
	assert_int_equal(vec.len, 100);
	for (size_t i = 0; i < 100; i++)
		assert_int_equal(vec.at[i], 0);
	assert_true(allo_vec_cover(&vec, 3));
	assert_int_equal(vec.len, 100);
	allo_vec_done(&vec);
}

static void what_cannot_be_had_changes_nothing(void **state)
{
	numbers vec = { 0 };

	(void)state;
	assert_true(allo_vec_cover(&vec, 3));
	vec.at[2] = 42;
	assert_false(allo_vec_reserve(&vec, SIZE_MAX));     /* too many items */
	assert_false(allo_vec_reserve(&vec, SIZE_MAX / 4)); /* too many bytes */
	assert_false(allo_vec_cover(&vec, SIZE_MAX));
	assert_int_equal(vec.len, 3);
	assert_int_equal(vec.at[2], 42);
	allo_vec_done(&vec);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushed_items_stay_in_order),
		cmocka_unit_test(appending_nothing_needs_no_memory),
		cmocka_unit_test(several_items_are_appended_at_once),
		cmocka_unit_test(covering_fills_with_zeros_and_never_shortens),
		cmocka_unit_test(what_cannot_be_had_changes_nothing),
	};

	return cmocka_run_group_tests_name("vec", tests, NULL, NULL);
}
