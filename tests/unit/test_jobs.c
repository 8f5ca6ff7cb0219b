/* test_jobs.c - base/jobs.h. */
#include "check.h"
#include "random.h"

#include "base/defer.h"
#include "base/jobs.h"

#include <sched.h>

struct work {
	uint64_t number, square;
};

/* Odd ones take longer, so that they are done out of order. */
static void square(void *work)
{
	struct work *w = work;

	for (unsigned i = 0; w->number % 2 && i < 20; i++)
		sched_yield();
	w->square = w->number * w->number;
}

static void check_order(unsigned threads, unsigned most)
{
	ALLO_DEFER(allo_jobs_close) struct allo_jobs jobs = { 0 };
	static struct work work[2000];
	size_t given = 0;

	allo_jobs_open(&jobs, square, threads);
	for (size_t taken = 0; taken < 2000; taken++) {
		const struct work *done;

		while (given < 2000 && allo_jobs_under_way(&jobs) < most) {
			work[given] = (struct work){ .number = given };
			allo_jobs_give(&jobs, &work[given++]);
		}
		done = allo_jobs_take(&jobs);
		assert_ptr_equal(done, &work[taken]);
		assert_int_equal(done->square, (uint64_t)taken * taken);
	}
	assert_null(allo_jobs_take(&jobs));
}

static void jobs_come_back_in_order_from_any_number_of_threads(void **state)
{
	(void)state;
	for (unsigned threads = 0; threads <= ALLO_JOBS_THREADS_MAX + 1; threads++) {
		check_order(threads, 1);
		check_order(threads, 3);
		check_order(threads, ALLO_JOBS_MAX);
	}
}

/* Counts in a number of all jobs, without a lock. */
static void count_up(void *number)
{
	volatile uint64_t *count = number;
	uint64_t before = *count;

	sched_yield();
	*count = before + 1;
}

static void serial_jobs_share_their_data(void **state)
{
	(void)state;
	for (unsigned threads = 0; threads < 4; threads++) {
		ALLO_DEFER(allo_jobs_close) struct allo_jobs jobs = { 0 };
		uint64_t count = 0;

		allo_jobs_open(&jobs, count_up, threads);
		jobs.is_serial = true;
		for (int given = 0; given < 2000; given++) {
			if (allo_jobs_under_way(&jobs) == 3)
				allo_jobs_take(&jobs);
			allo_jobs_give(&jobs, &count);
		}
		while (allo_jobs_take(&jobs))
			;
		assert_int_equal(count, 2000);
	}
}

static void closing_with_jobs_under_way_is_fine(void **state)
{
	static struct work work[ALLO_JOBS_MAX];

	(void)state;
	for (unsigned threads = 0; threads < 4; threads++) {
		struct allo_jobs jobs = { 0 };

		allo_jobs_open(&jobs, square, threads);
		for (size_t i = 0; i < ALLO_JOBS_MAX; i++)
			allo_jobs_give(&jobs, &work[i]);
		allo_jobs_close(&jobs);
		allo_jobs_close(&jobs);
	}
}

static void what_was_never_opened_has_no_jobs(void **state)
{
	struct allo_jobs jobs = { 0 };

	(void)state;
	assert_null(allo_jobs_take(&jobs));
	allo_jobs_close(&jobs);
}

static void cores_are_those_that_we_may_use(void **state)
{
	cpu_set_t all, one;

	(void)state;
	assert_true(allo_cpu_count() >= 1);
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
		assert_int_equal(allo_cpu_count(), 1);
		break;
	}
	sched_setaffinity(0, sizeof(all), &all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jobs_come_back_in_order_from_any_number_of_threads),
		cmocka_unit_test(serial_jobs_share_their_data),
		cmocka_unit_test(closing_with_jobs_under_way_is_fine),
		cmocka_unit_test(what_was_never_opened_has_no_jobs),
		cmocka_unit_test(cores_are_those_that_we_may_use),
	};

	return cmocka_run_group_tests_name("jobs", tests, NULL, NULL);
}
