/* test_top_rows.c - replay/top_rows.h. */
#include "check.h"
#include "random.h"
#include "replay/top_rows.h"

#include <stdlib.h>

enum { ROWS = 500 };

static struct allo_block_row rows[ROWS];

/* Few different values, so that many rows are equal. */
static void draw_rows(uint64_t seed)
{
	for (size_t i = 0; i < ROWS; i++) {
		rows[i] = (struct allo_block_row){ .number = i + 1,
						   .alloc_ns = draw(&seed, 50),
						   .size = draw(&seed, 40),
						   .free_ns = 60 + draw(&seed, 50) };
		rows[i].first_ns = rows[i].alloc_ns - draw(&seed, (uint32_t)rows[i].alloc_ns + 1);
		if (draw(&seed, 5) == 0)
			rows[i].free_ns = ALLO_NEVER;
		else if (draw(&seed, 5) == 0)
			rows[i].flags = ALLO_ROW_RESIZED_ON;
	}
	for (size_t i = ROWS; i-- > 1;) {
		size_t other = draw(&seed, (uint32_t)i + 1);
		struct allo_block_row kept = rows[i];

		rows[i] = rows[other];
		rows[other] = kept;
	}
}

/* As the header defines the order. */
static bool comes_before(const struct allo_block_row *a, const struct allo_block_row *b,
			 enum allo_row_order order)
{
	bool a_never = a->free_ns == ALLO_NEVER, b_never = b->free_ns == ALLO_NEVER;
	uint64_t a_ns = 0, b_ns = 0;

	if (order == ALLO_ROWS_BY_SIZE && a->size != b->size)
		return a->size > b->size;
	if (order == ALLO_ROWS_BY_LIFETIME) {
		if (a_never != b_never)
			return a_never;
		if (a_never && a->first_ns != b->first_ns)
			return a->first_ns < b->first_ns;
		allo_row_lifetime(a, &a_ns);
		allo_row_lifetime(b, &b_ns);
		if (!a_never && a_ns != b_ns)
			return a_ns > b_ns;
	}
	return a->number < b->number;
}

static void check(enum allo_row_order order, size_t most)
{
	struct allo_top_rows best = { .most = most, .order = order };
	size_t expected = most > 0 && most < ROWS ? most : ROWS;
	struct allo_error err = { 0 };

	for (size_t i = 0; i < ROWS; i++)
		assert_true(allo_top_rows_add(&best, &rows[i], &err));
	allo_top_rows_sort(&best);
	assert_int_equal(best.rows.len, expected);
	for (size_t i = 0; i < expected; i++) {
		size_t before = 0;

		for (size_t k = 0; k < ROWS; k++)
			before += comes_before(&rows[k], &best.rows.at[i], order);
		assert_int_equal(before, i);
	}
	allo_top_rows_done(&best);
}

static void the_first_rows_of_any_order_are_kept(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 7, 64, ROWS - 1, ROWS, ROWS + 9 };

	(void)state;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		draw_rows(seed);
		for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++) {
			check(ALLO_ROWS_BY_SIZE, counts[i]);
			check(ALLO_ROWS_BY_TIME, counts[i]);
			check(ALLO_ROWS_BY_LIFETIME, counts[i]);
		}
	}
}

static void a_lifetime_starts_with_the_first_allocation(void **state)
{
	struct allo_block_row row = { .alloc_ns = 50, .first_ns = 20, .free_ns = 70 };
	uint64_t ns = 0;

	(void)state;
	assert_true(allo_row_lifetime(&row, &ns));
	assert_int_equal(ns, 50);
	row.flags = ALLO_ROW_RESIZED_ON;
	assert_false(allo_row_lifetime(&row, &ns));
	row = (struct allo_block_row){ .free_ns = ALLO_NEVER };
	assert_false(allo_row_lifetime(&row, &ns));
	/* Clocks of two processors may differ. */
	row = (struct allo_block_row){ .first_ns = 9, .alloc_ns = 9, .free_ns = 5 };
	assert_true(allo_row_lifetime(&row, &ns));
	assert_int_equal(ns, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_rows_of_any_order_are_kept),
		cmocka_unit_test(a_lifetime_starts_with_the_first_allocation),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
