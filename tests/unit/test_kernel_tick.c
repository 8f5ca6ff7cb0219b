/* test_kernel_tick.c - capture/time/kernel_tick.h, with words and a clock of the test, and the real
 * ones. */
#include "check.h"

#include "capture/time/kernel_tick.h"

#include <time.h>

static uint64_t clock_ns, words[ALLO_TICK_CANDIDATES];

static uint64_t read_clock(void)
{
	return clock_ns;
}

/* A trial of `count` words, which are all 0. */
static struct allo_tick_trial trial_of(unsigned count)
{
	struct allo_tick_trial trial = { .words = words, .count = count, .read_clock = read_clock };

	memset(words, 0, sizeof(words));
	clock_ns = 1000;
	allo_tick_trial_begin(&trial);
	return trial;
}

/* A tick of the clock that changes the words of the set `changed`. */
static const uint64_t *tick(struct allo_tick_trial *trial, unsigned changed)
{
	clock_ns += 4000000;
	for (unsigned i = 0; i < trial->count; i++)
		words[i] += changed >> i & 1;
	return allo_tick_trial_look(trial);
}

static void a_word_that_changes_with_the_clock_passes(void **state)
{
	struct allo_tick_trial trial = trial_of(1);

	(void)state;
	for (int i = 1; i < ALLO_TICK_PROOF; i++)
		assert_null(tick(&trial, 1));
	assert_ptr_equal(tick(&trial, 1), words);
	assert_ptr_equal(tick(&trial, 1), words);
}

static void nothing_passes_while_the_clock_stands_still(void **state)
{
	struct allo_tick_trial trial = trial_of(1);

	(void)state;
	for (int i = 0; i < 10; i++) {
		words[0]++;
		assert_null(allo_tick_trial_look(&trial));
	}
	assert_int_equal(trial.left, 1);
}

static void words_that_stand_still_fail(void **state)
{
	struct allo_tick_trial trial = trial_of(3);

	(void)state;
	for (int i = 0; i < 10; i++)
		assert_null(tick(&trial, 0));
	assert_int_equal(trial.left, 0);
}

static void of_several_words_one_that_misses_a_tick_fails(void **state)
{
	struct allo_tick_trial trial = trial_of(4);

	(void)state;
	tick(&trial, 014);
	assert_ptr_equal(tick(&trial, 013), &words[3]);
}

/* Hooks use the first word: no other one may hide its failure. */
static void a_word_that_stops_later_fails_without_a_replacement(void **state)
{
	struct allo_tick_trial trial = trial_of(2);

	(void)state;
	for (int i = 0; i < 10; i++)
		tick(&trial, 3);
	assert_int_equal(trial.left, 1);
	assert_null(tick(&trial, 2));
	assert_int_equal(trial.left, 0);
}

/* The clock data of Linux 6.18 on x86-64, in words: the sequence number with the mode, the counter,
 * its limit and mask, multiplier and shift, and the times of 12 clocks. */
static void clock_data_are_found_by_the_time_in_them(void **state)
{
	enum { TIMES = 5, COARSE = TIMES + 2 * CLOCK_MONOTONIC_COARSE };
	uint64_t page[512] = { 0x1005b9b4a, 0x1c75fe8a98a8, 0x233fdbaba77, UINT64_MAX, 7 };
	struct allo_tick_trial trial = { 0 };

	(void)state;
	page[COARSE] = 12796;
	page[COARSE + 1] = 451112347;
	assert_true(allo_tick_trial_find(&trial, page, 512, 12796451112347));
	assert_ptr_equal(trial.words, page);
	assert_int_equal(trial.count, TIMES);
	assert_false(allo_tick_trial_find(&trial, page, 512, 12796451112348));
	assert_false(allo_tick_trial_find(&trial, page, COARSE + 1, 12796451112347));
}

static void at_most_eight_words_before_the_times_are_candidates(void **state)
{
	enum { TIMES = 21, COARSE = TIMES + 2 * CLOCK_MONOTONIC_COARSE };
	uint64_t page[512] = { 0 };
	struct allo_tick_trial trial = { 0 };

	(void)state;
	page[COARSE] = 7;
	page[COARSE + 1] = 9;
	assert_true(allo_tick_trial_find(&trial, page, 512, 7000000009));
	assert_ptr_equal(trial.words, &page[TIMES - ALLO_TICK_CANDIDATES]);
	assert_int_equal(trial.count, ALLO_TICK_CANDIDATES);
}

static void wait_for_tick(void)
{
	struct timespec before, after;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &before);
	do
		clock_gettime(CLOCK_MONOTONIC_COARSE, &after);
	while (after.tv_sec == before.tv_sec && after.tv_nsec == before.tv_nsec);
}

static void the_kernels_word_changes_with_each_tick(void **state)
{
	(void)state;
	allo_tick_reset(false);
	if (!allo_tick_prepare()) {
		print_message("this kernel shows no clock data\n");
		skip();
	}
	for (int i = 0; i < 4 && allo_tick_word() == &allo_tick_unproven; i++) {
		wait_for_tick();
		allo_tick_look();
	}
	if (!allo_tick_look())
		skip();
	for (int i = 0; i < 20; i++) {
		uint64_t before = *allo_tick_word();

		assert_true(allo_tick_word() != &allo_tick_unproven);
		wait_for_tick();
		assert_true(*allo_tick_word() != before);
		assert_true(allo_tick_look());
	}
}

static void ticks_that_are_off_stay_off(void **state)
{
	(void)state;
	allo_tick_reset(false);
	if (!allo_tick_prepare())
		skip();
	allo_tick_stop();
	for (int i = 0; i < 4; i++) {
		wait_for_tick();
		allo_tick_look();
		assert_true(allo_tick_is_off());
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_that_changes_with_the_clock_passes),
		cmocka_unit_test(nothing_passes_while_the_clock_stands_still),
		cmocka_unit_test(words_that_stand_still_fail),
		cmocka_unit_test(of_several_words_one_that_misses_a_tick_fails),
		cmocka_unit_test(a_word_that_stops_later_fails_without_a_replacement),
		cmocka_unit_test(clock_data_are_found_by_the_time_in_them),
		cmocka_unit_test(at_most_eight_words_before_the_times_are_candidates),
		cmocka_unit_test(the_kernels_word_changes_with_each_tick),
		cmocka_unit_test(ticks_that_are_off_stay_off),
	};

	return cmocka_run_group_tests_name("kernel tick", tests, NULL, NULL);
}
