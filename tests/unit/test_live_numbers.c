/* test_live_numbers.c - the set of live numbers, and ways between them. */
#include "base/defer.h"
#include "check.h"
#include "random.h"
#include "replay/packed/live_numbers.h"

#include <string.h>

enum { NUMBERS = 200000 };

/* A simple model of the same. */
struct simple {
	uint32_t before; /* the first number */
	uint32_t count;
	uint32_t last; /* that has ended, counted from 1 */
	bool is_live[NUMBERS + 1];
};

static void add(struct allo_live_numbers *numbers, struct simple *simple)
{
	simple->is_live[++simple->count] = true;
	assert_true(allo_live_numbers_add(numbers, simple->before + simple->count));
}

static struct allo_number_way simple_way(const struct simple *simple, uint32_t at)
{
	struct allo_number_way way = { .is_back = at < simple->last };
	uint32_t low = way.is_back ? at : simple->last, high = way.is_back ? simple->last : at;

	for (uint32_t i = low + 1; i < high; i++)
		way.passed += simple->is_live[i];
	return way;
}

static void end(struct allo_live_numbers *numbers, struct simple *simple, uint32_t at)
{
	uint32_t number = simple->before + at;
	struct allo_number_way way = allo_live_numbers_way(numbers, number);
	struct allo_number_way expected = simple_way(simple, at);

	assert_true(allo_live_numbers_has(numbers, number));
	assert_int_equal(way.is_back, expected.is_back);
	assert_int_equal(way.passed, expected.passed);
	assert_true(way.passed < allo_live_numbers_side(numbers, way.is_back));
	assert_int_equal(allo_live_numbers_at(numbers, way), number);
	allo_live_numbers_end(numbers, number, way);
	assert_false(allo_live_numbers_has(numbers, number));
	simple->is_live[at] = false;
	simple->last = at;
}

/* A live number near a position. */
static uint32_t draw_live(const struct simple *simple, uint64_t *seed, uint32_t range)
{
	for (;;) {
		uint32_t at = simple->count -
			      draw(seed, simple->count < range ? simple->count : range);

		if (simple->is_live[at])
			return at;
	}
}

static void count_sides(const struct allo_live_numbers *numbers, const struct simple *simple)
{
	uint32_t back = 0, after = 0;

	for (uint32_t i = 1; i <= simple->count; i++) {
		if (i < simple->last)
			back += simple->is_live[i];
		else
			after += simple->is_live[i];
	}
	assert_int_equal(allo_live_numbers_side(numbers, true), back);
	assert_int_equal(allo_live_numbers_side(numbers, false), after);
}

/* Numbers start anywhere, and wrap to 0. */
static void ways_lead_to_all_live_numbers(void **state)
{
	static const uint32_t before[] = { 0, 511, 70000, UINT32_MAX - 3000 };
	static struct simple simple;

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		ALLO_DEFER(allo_live_numbers_done) struct allo_live_numbers numbers = { 0 };
		uint64_t seed = i;
		uint32_t live = 0;

		memset(&simple, 0, sizeof(simple));
		simple.before = before[i];
		for (uint32_t step = 0; step < 40000; step++) {
			/* The number of live ones grows, then shrinks. */
			bool grows = draw(&seed, 10) < (step / 5000 % 2 ? 3 : 7);

			if (live == 0 || grows) {
				add(&numbers, &simple);
				live++;
			} else {
				end(&numbers, &simple, draw_live(&simple, &seed, 30000));
				live--;
			}
			if (step % 1000 == 0)
				count_sides(&numbers, &simple);
		}
		assert_true(numbers.capacity <= ALLO_NUMBERS_KEPT);
	}
}

static void ended_numbers_take_no_memory(void **state)
{
	ALLO_DEFER(allo_live_numbers_done) struct allo_live_numbers numbers = { 0 };

	(void)state;
	for (uint32_t number = 1; number < NUMBERS; number++) {
		assert_true(allo_live_numbers_add(&numbers, number));
		if (number > 100)
			allo_live_numbers_end(&numbers, number - 100,
					      (struct allo_number_way){ 0 });
	}
	assert_int_equal(numbers.live, 100);
	assert_true(numbers.capacity <= 2 * ALLO_NUMBERS_GROUP);
}

/* One in a hundred stays live. */
static void old_numbers_are_dropped(void **state)
{
	ALLO_DEFER(allo_live_numbers_done) struct allo_live_numbers numbers = { 0 };
	uint32_t kept = 0;

	(void)state;
	for (uint32_t number = 1; number < NUMBERS; number++) {
		assert_true(allo_live_numbers_add(&numbers, number));
		if (number % 100)
			allo_live_numbers_end(&numbers, number,
					      allo_live_numbers_way(&numbers, number));
	}
	assert_int_equal(numbers.capacity, ALLO_NUMBERS_KEPT);
	for (uint32_t number = 1; number < NUMBERS; number++)
		kept += allo_live_numbers_has(&numbers, number);
	assert_int_equal(numbers.live, kept);
	assert_true(kept >= (ALLO_NUMBERS_KEPT - ALLO_NUMBERS_GROUP) / 100);
	assert_false(allo_live_numbers_has(&numbers, 100));
	/* All live numbers are found from the last one, even if that was dropped. */
	for (; kept > 0; kept--) {
		struct allo_number_way way = { .is_back = numbers.after == 0 };

		allo_live_numbers_end(&numbers, allo_live_numbers_at(&numbers, way), way);
	}
	assert_int_equal(numbers.live, 0);
}

static void the_number_that_ended_last_may_be_dropped(void **state)
{
	ALLO_DEFER(allo_live_numbers_done) struct allo_live_numbers numbers = { 0 };
	struct allo_number_way way = { false, 1000 };
	uint32_t number;

	(void)state;
	for (number = 1; number < NUMBERS; number++)
		assert_true(allo_live_numbers_add(&numbers, number));
	assert_int_equal(numbers.after, numbers.live);
	number = allo_live_numbers_at(&numbers, way);
	assert_int_equal(number, numbers.first + 1000);
	assert_int_equal(allo_live_numbers_way(&numbers, number).passed, 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ways_lead_to_all_live_numbers),
		cmocka_unit_test(ended_numbers_take_no_memory),
		cmocka_unit_test(old_numbers_are_dropped),
		cmocka_unit_test(the_number_that_ended_last_may_be_dropped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
