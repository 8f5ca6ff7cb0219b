/*
 * test_library_threads.c - liballotrope in several threads: each with a separate profile, and all
 * looking at one.  ThreadSanitizer is to run it as well.
 */
#include "check_library.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 20, SAMPLES = 500 };

static atomic_int failures; /* cmocka's asserts are for the main thread only */

static void expect(bool ok)
{
	if (!ok)
		atomic_fetch_add(&failures, 1);
}

/* Starts all at once and waits for them. */
static void run_together(void *(*work)(void *argument), void *argument)
{
	pthread_t threads[THREADS];

	atomic_store(&failures, 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, argument), 0);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(atomic_load(&failures), 0);
}

static struct allotrope_profile *build(struct allotrope_error *err)
{
	struct allotrope_profile *profile = allotrope_profile_new(err);
	struct allotrope_module module = { .path = "/bin/m", .start = 0x1000, .limit = 0x9000 };

	allotrope_add_metric(profile, "alloc_bytes", NULL, err);
	allotrope_add_module(profile, &module, err);
	for (uint64_t i = 0; i < SAMPLES; i++) {
		uint64_t addresses[] = { 0x1000 + i, 0x2000 };

		add_value(profile, allotrope_add_stack_of_addresses(profile, addresses, 2, err), 0,
			  1009, err);
	}
	return profile;
}

static void *work_alone(void *argument)
{
	struct allotrope_write_options options = { .to = "pprof" };

	(void)argument;
	for (int i = 0; i < ROUNDS; i++) {
		struct allotrope_error err = { 0 };
		struct allotrope_profile *profile = build(&err), *again;
		size_t len = 0;
		char *memory = allotrope_write_memory(profile, &options, &len, &err);

		again = allotrope_read_memory(memory, len, NULL, NULL, &err);
		allotrope_merge(again, profile, &err);
		expect(err.code == ALLOTROPE_OK);
		expect(allotrope_sum(again, 0) == 2 * SAMPLES * 1009);
		allotrope_free(memory);
		allotrope_profile_free(again);
		allotrope_profile_free(profile);
	}
	return NULL;
}

static void each_thread_has_its_own_profiles(void **state)
{
	(void)state;
	run_together(work_alone, NULL);
}

static void *look_only(void *argument)
{
	const struct allotrope_profile *profile = argument;
	struct allotrope_write_options options = { .to = "pprof" };

	for (int i = 0; i < ROUNDS; i++) {
		struct allotrope_error err = { 0 };
		struct allotrope_profile *diff;
		size_t count = 0, len = 0;

		allotrope_free(allotrope_top(profile, NULL, &count, &err));
		allotrope_free(allotrope_write_memory(profile, &options, &len, &err));
		diff = allotrope_diff(profile, profile, ALLOTROPE_MATCH_ADDRESS, &err);
		expect(err.code == ALLOTROPE_OK && count == 1 && len > 0);
		expect(allotrope_sum(diff, 0) == SAMPLES * 1009);
		allotrope_profile_free(diff);
	}
	return NULL;
}

static void all_may_look_at_one_profile(void **state)
{
	struct allotrope_profile *profile = NULL;

	(void)state;
	assert_works((profile = build(&err)));
	run_together(look_only, profile);
	free_valid(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_thread_has_its_own_profiles),
		cmocka_unit_test(all_may_look_at_one_profile),
	};

	return cmocka_run_group_tests_name("library_threads", tests, NULL, NULL);
}
