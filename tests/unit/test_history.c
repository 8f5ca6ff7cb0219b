/* test_history.c - report/history.h. */
#include "check.h"

#include "report/history.h"

enum { START = 1000, STEP = 10 };

static struct allo_history history;

static void add(uint64_t step, uint64_t value)
{
	allo_history_add(&history, START + step * STEP, value);
}

static int set_up(void **state)
{
	(void)state;
	history = (struct allo_history){ .step_ns = STEP };
	return 0;
}

static void each_step_has_its_maximum(void **state)
{
	(void)state;
	allo_history_add(&history, START, 5);
	allo_history_add(&history, START + 1, 9);
	allo_history_add(&history, START + 2, 7);
	allo_history_add(&history, START + STEP, 3);
	assert_int_equal(history.count, 2);
	assert_int_equal(history.values[0], 9);
	assert_int_equal(history.values[1], 3);
	assert_int_equal(history.least, 3);
	assert_int_equal(history.most, 9);
}

static void a_pause_keeps_the_last_value(void **state)
{
	(void)state;
	add(0, 4);
	add(3, 6);
	assert_int_equal(history.count, 4);
	assert_int_equal(history.values[1], 4);
	assert_int_equal(history.values[2], 4);
	assert_int_equal(history.values[3], 6);
}

static void memory_is_bounded_and_maxima_stay(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 10 * ALLO_HISTORY_MOST; i++)
		add(i, i == 1234 ? 1000000 : i);
	assert_true(history.count <= ALLO_HISTORY_MOST);
	assert_true(history.count > ALLO_HISTORY_MOST / 2);
	assert_int_equal(history.step_ns, 16 * STEP);
	assert_int_equal(history.values[1234 / 16], 1000000);
	assert_int_equal(history.values[100], 100 * 16 + 15);
	assert_int_equal(history.least, 0);
	assert_int_equal(history.most, 1000000);
}

static void a_very_long_pause_is_one_step_of_work_per_doubling(void **state)
{
	(void)state;
	add(0, 1);
	add((uint64_t)1 << 40, 2);
	assert_true(history.count <= ALLO_HISTORY_MOST);
	assert_int_equal(history.values[0], 1);
	assert_int_equal(history.values[history.count - 1], 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_step_has_its_maximum, set_up),
		cmocka_unit_test_setup(a_pause_keeps_the_last_value, set_up),
		cmocka_unit_test_setup(memory_is_bounded_and_maxima_stay, set_up),
		cmocka_unit_test_setup(a_very_long_pause_is_one_step_of_work_per_doubling, set_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
