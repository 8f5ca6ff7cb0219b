/* test_safepoint.c - capture/safepoint.h, with threads that enter and leave all the time. */
#include "check.h"

#include "capture/process.h"
#include "capture/safepoint.h"
#include "capture/settings.h"
#include "capture/system.h"

#include <allo.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 3, ROUNDS = 200 };

/* Written by threads inside of hooks without any other synchronisation than the safepoint. */
static uint64_t entries[THREADS];
static uint32_t inside, is_over;

/* The runtime reads its environment in a constructor that runs after this one.  The control thread
 * is made with clone(2), which sanitizers do not understand. */
__attribute__((constructor(101))) static void prepare(void)
{
	setenv("ALLO_CONTROL", "0", 1);
}

static void *enter_and_leave(void *given)
{
	uint64_t *own = given;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		struct allo_thread_state *thread = allo_enter();

		if (!thread)
			continue;
		__atomic_add_fetch(&inside, 1, __ATOMIC_RELAXED);
		++*own;
		__atomic_sub_fetch(&inside, 1, __ATOMIC_RELAXED);
		allo_leave(thread);
	}
	return NULL;
}

static void start_threads(pthread_t *threads)
{
	__atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, enter_and_leave, &entries[i]),
				 0);
}

static void end_threads(const pthread_t *threads)
{
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
}

static uint64_t all_entries(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < THREADS; i++)
		sum += entries[i];
	return sum;
}

static int begin(void **state)
{
	(void)state;
	return allo_start(&(struct allo_config){ .mode = ALLO_COUNTERS }) ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	return allo_stop() ? 0 : -1;
}

static void no_thread_is_inside_while_it_is_frozen(void **state)
{
	pthread_t threads[THREADS];
	uint64_t first, last = 0;

	(void)state;
	start_threads(threads);
	for (int i = 0; i < ROUNDS; i++) {
		assert_true(allo_safepoint_freeze(NULL));
		first = all_entries();
		assert_int_equal(__atomic_load_n(&inside, __ATOMIC_RELAXED), 0);
		allo_sleep_ns(20000);
		assert_int_equal(all_entries(), first);
		allo_safepoint_thaw();
		last = first;
		allo_sleep_ns(20000);
	}
	end_threads(threads);
	assert_true(last > 0 && all_entries() > last);
}

static void a_thread_inside_of_a_hook_can_freeze_the_others(void **state)
{
	struct allo_thread_state *self;
	pthread_t threads[THREADS];
	uint64_t first;

	(void)state;
	start_threads(threads);
	for (int i = 0; i < ROUNDS; i++) {
		self = allo_enter();
		assert_non_null(self);
		assert_true(allo_safepoint_freeze(self));
		first = all_entries();
		allo_sleep_ns(20000);
		assert_int_equal(all_entries(), first);
		allo_safepoint_thaw();
		allo_leave(self);
	}
	end_threads(threads);
}

static void threads_leave_for_the_end_and_stay_outside(void **state)
{
	pthread_t threads[THREADS];
	uint64_t first;

	(void)state;
	start_threads(threads);
	for (int i = 0; i < ROUNDS / 10; i++) {
		assert_non_null(allo_start(&(struct allo_config){ .mode = ALLO_COUNTERS }));
		assert_int_equal(allo_safepoint_state(), ALLO_SAFEPOINT_OPEN);
		allo_sleep_ns(1000000);
		assert_non_null(allo_stop());
		assert_int_equal(allo_safepoint_state(), ALLO_SAFEPOINT_SHUT);
		first = all_entries();
		allo_sleep_ns(100000);
		assert_int_equal(all_entries(), first);
	}
	end_threads(threads);
}

static void the_word_says_whether_short_hooks_may_record(void **state)
{
	(void)state;
	assert_false(allo_settings.is_plain);
	assert_int_equal(allo_safepoint_load(), allo_safepoint_open_word());
	allo_settings.is_plain = true;
	allo_safepoint_set(ALLO_SAFEPOINT_OPEN);
	assert_int_equal(allo_safepoint_load(), allo_safepoint_open_word() | ALLO_SAFEPOINT_PLAIN);
	assert_int_equal(allo_safepoint_state(), ALLO_SAFEPOINT_OPEN);
	allo_settings.is_plain = false;
	allo_safepoint_set(ALLO_SAFEPOINT_OPEN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(no_thread_is_inside_while_it_is_frozen, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_inside_of_a_hook_can_freeze_the_others,
						begin, end),
		cmocka_unit_test(threads_leave_for_the_end_and_stay_outside),
		cmocka_unit_test_setup_teardown(the_word_says_whether_short_hooks_may_record, begin,
						end),
	};

	return cmocka_run_group_tests_name("safepoint", tests, NULL, NULL);
}
