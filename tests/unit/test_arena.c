/* test_arena.c - base/arena.h. */
#include "check.h"

#include "base/arena.h"
#include "base/defer.h"

static void memory_is_zeroed_and_aligned(void **state)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };

	(void)state;
	assert_non_null(ALLO_ARENA_NEW(&arena, 3, char));
	for (int i = 0; i < 1000; i++) {
		uint64_t *numbers = ALLO_ARENA_NEW(&arena, 5, uint64_t);

		assert_non_null(numbers);
		assert_int_equal((uintptr_t)numbers % _Alignof(uint64_t), 0);
		for (int k = 0; k < 5; k++)
			assert_int_equal(numbers[k], 0);
		memset(numbers, 0xff, 5 * sizeof(*numbers));
	}
}

static void what_cannot_be_had_is_null(void **state)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };

	(void)state;
	assert_null(allo_arena_alloc(&arena, SIZE_MAX / 2, 4, 4));
	assert_null(allo_arena_copy(&arena, "", SIZE_MAX));
}

static void a_copy_ends_in_nul(void **state)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };
	char *copy = allo_arena_copy(&arena, "abcdef", 3);

	(void)state;
	assert_string_equal(copy, "abc");
	assert_string_equal(allo_arena_copy(&arena, NULL, 0), "");
}

static void large_pieces_fit(void **state)
{
	ALLO_DEFER(allo_arena_done) struct allo_arena arena = { 0 };
	char *large = ALLO_ARENA_NEW(&arena, 5 << 20, char);

	(void)state;
	assert_non_null(large);
	large[(5 << 20) - 1] = 1;
	assert_non_null(ALLO_ARENA_NEW(&arena, 1, char));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_and_aligned),
		cmocka_unit_test(what_cannot_be_had_is_null),
		cmocka_unit_test(a_copy_ends_in_nul),
		cmocka_unit_test(large_pieces_fit),
	};

	return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
