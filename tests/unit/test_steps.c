/* test_steps.c - capture/steps.h. */
#include "check.h"

#include "capture/time/steps.h"

enum { A = 5, B = 6 };

static struct allo_steps steps;

static void be_short(uint64_t step, unsigned times)
{
	for (unsigned i = 0; i < times; i++)
		allo_steps_add_short(&steps, step);
}

static void a_step_is_known_after_four_short_times(void **state)
{
	(void)state;
	allo_steps_begin(&steps);
	be_short(A, 3);
	assert_int_not_equal(steps.left[A], 0);
	be_short(A, 1);
	assert_int_equal(steps.left[A], 0);
	be_short(A, 1);
	assert_int_equal(steps.left[A], 0);
	assert_int_equal(steps.left[B], ALLO_STEP_NEW);
}

static void a_long_step_takes_many_short_times(void **state)
{
	(void)state;
	allo_steps_begin(&steps);
	allo_steps_add_long(&steps, A);
	be_short(A, ALLO_STEP_LONG - 1);
	assert_int_not_equal(steps.left[A], 0);
	be_short(A, 1);
	assert_int_equal(steps.left[A], 0);
}

static void a_doubted_step_takes_many_more_after_a_sleep(void **state)
{
	static const unsigned least[] = { ALLO_STEP_LONG, 30000 };

	(void)state;
	for (int has_slept = 0; has_slept < 2; has_slept++) {
		allo_steps_begin(&steps);
		be_short(A, 10);
		steps.last = A;
		allo_steps_doubt_last(&steps, has_slept);
		be_short(A, least[has_slept] - 1);
		assert_int_not_equal(steps.left[A], 0);
		be_short(A, 2 * least[has_slept]);
		assert_int_equal(steps.left[A], 0);
	}
}

/* A computation before each tenth event at a place that is otherwise quick. */
static void a_place_that_was_wrong_stays_timed(void **state)
{
	unsigned untimed = 0;

	(void)state;
	allo_steps_begin(&steps);
	for (int round = 0; round < 1000; round++) {
		be_short(A, 9);
		if (steps.left[A] > 0) {
			allo_steps_add_long(&steps, A);
			continue;
		}
		untimed++;
		steps.last = A;
		allo_steps_doubt_last(&steps, true);
	}
	assert_int_equal(untimed, 1);
}

static void forgetting_keeps_long_steps(void **state)
{
	(void)state;
	allo_steps_begin(&steps);
	be_short(A, 10);
	allo_steps_add_long(&steps, B);
	allo_steps_forget(&steps, ALLO_STEP_OLD);
	assert_int_equal(steps.left[A], ALLO_STEP_OLD);
	assert_int_equal(steps.left[B], ALLO_STEP_LONG);
	allo_steps_forget(&steps, ALLO_STEP_NEW);
	assert_int_equal(steps.left[A], ALLO_STEP_NEW);
	allo_steps_forget(&steps, ALLO_STEP_OLD);
	assert_int_equal(steps.left[A], ALLO_STEP_NEW);
}

static void a_weaker_doubt_does_not_replace_a_stronger_one(void **state)
{
	(void)state;
	allo_steps_begin(&steps);
	steps.last = A;
	allo_steps_doubt_last(&steps, true);
	allo_steps_doubt_last(&steps, false);
	assert_int_equal(steps.left[A], ALLO_STEP_WRONG);
	allo_steps_add_long(&steps, A);
	assert_int_equal(steps.left[A], ALLO_STEP_WRONG);
}

static void only_an_event_without_a_clock_is_unsure(void **state)
{
	(void)state;
	allo_steps_begin(&steps);
	assert_false(allo_steps_is_unsure(&steps));
	steps.last = A;
	assert_true(allo_steps_is_unsure(&steps));
}

static void frees_of_two_callers_are_two_steps(void **state)
{
	(void)state;
	assert_int_not_equal(allo_step(7, 0x401136), allo_step(7, 0x401150));
	assert_true(allo_step(UINT32_MAX, UINT64_MAX) < ALLO_STEPS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_step_is_known_after_four_short_times),
		cmocka_unit_test(a_long_step_takes_many_short_times),
		cmocka_unit_test(a_doubted_step_takes_many_more_after_a_sleep),
		cmocka_unit_test(a_place_that_was_wrong_stays_timed),
		cmocka_unit_test(forgetting_keeps_long_steps),
		cmocka_unit_test(a_weaker_doubt_does_not_replace_a_stronger_one),
		cmocka_unit_test(only_an_event_without_a_clock_is_unsure),
		cmocka_unit_test(frees_of_two_callers_are_two_steps),
	};

	return cmocka_run_group_tests_name("steps", tests, NULL, NULL);
}
