/*
 * test_recording_threads.c - recordings that start and stop while threads allocate.
 *
 * The blocks are those of a custom heap, so that this runs with a thread sanitizer, which has its
 * own malloc: see the step "threads" of tests/run.py.
 */
#include "scratch.h"

#include "capture/system.h"

#include <allo.h>
#include <pthread.h>

enum { THREADS = 3, ROUNDS = 6, BLOCKS = 64 };

static uint32_t is_over;

__attribute__((constructor(101))) static void prepare(void)
{
	setenv("ALLO_CONTROL", "0", 1); /* see test_safepoint.c */
}

static __attribute__((noinline)) void allocate(uint32_t heap, const char *block, uint64_t random)
{
	allo_on_alloc(heap, block, random % 1000 + 1);
	__asm__ volatile("" ::: "memory"); /* not a tail call: the frame belongs to the stack */
}

static __attribute__((noinline)) void resize(uint32_t heap, const char *block, const char *moved)
{
	allo_on_realloc_begin(heap, block);
	allo_on_realloc_end(heap, moved, 300);
	__asm__ volatile("" ::: "memory");
}

/* Each thread has its blocks: addresses that no other allocator hands out. */
static void *work(void *given)
{
	static char memory[THREADS][2][BLOCKS][16];
	size_t number = (size_t)given;
	uint32_t heap = allo_heap(number ? "one" : "two");
	uint64_t random = number + 1;

	while (!__atomic_load_n(&is_over, __ATOMIC_RELAXED)) {
		for (int i = 0; i < BLOCKS; i++) {
			random = random * 6364136223846793005 + 1442695040888963407;
			allocate(heap, memory[number][0][i], random >> 33);
		}
		allo_label_push("thread", number ? "odd" : "even");
		allo_event(number);
		for (int i = 0; i < BLOCKS; i++)
			resize(heap, memory[number][0][i], memory[number][1][i]);
		allo_label_pop();
		for (int i = 0; i < BLOCKS; i++)
			allo_on_free(heap, memory[number][1][i]);
	}
	return NULL;
}

/* A thread that lives for some blocks only: its state is used again. */
static void *work_shortly(void *given)
{
	static char memory[BLOCKS];

	for (int i = 0; i < BLOCKS; i++)
		allocate(0, &memory[i], 1);
	for (int i = 0; i < BLOCKS; i++)
		allo_on_free(0, &memory[i]);
	return given;
}

static void run_shortly(void)
{
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, work_shortly, NULL), 0);
	assert_int_equal(pthread_join(thread, NULL), 0);
}

static void record_once(const struct allo_config *config)
{
	struct allo_heap_stats stats;
	const char *path = allo_start(config);

	assert_non_null(path);
	assert_true(allo_is_recording());
	for (int i = 0; i < 5; i++) {
		allo_mark("here");
		run_shortly();
		assert_int_equal(allo_get_heap_stats(&stats),
				 config->has_stats || config->mode == ALLO_COUNTERS);
		allo_sleep_ns(1000000);
	}
	path = allo_stop();
	assert_non_null(path);
	assert_int_equal(path[0] != '\0', config->mode != ALLO_COUNTERS);
	assert_true(path[0] == '\0' || access(path, R_OK) == 0);
	assert_false(allo_is_recording());
}

static void record_often(struct allo_config config)
{
	struct scratch scratch;
	pthread_t threads[THREADS];

	scratch_init(&scratch);
	config.path = scratch_path(&scratch, "%n.allo");
	__atomic_store_n(&is_over, 0, __ATOMIC_RELAXED);
	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, work, (void *)i), 0);
	for (int i = 0; i < ROUNDS; i++)
		record_once(&config);
	__atomic_store_n(&is_over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(pthread_join(threads[i], NULL), 0);
	assert_int_equal(scratch_count(&scratch), config.mode == ALLO_COUNTERS ? 0 : ROUNDS);
	scratch_done(&scratch);
}

static void exact_recordings_start_and_stop(void **state)
{
	(void)state;
	record_often((struct allo_config){ .mode = ALLO_EXACT });
}

static void so_do_those_with_statistics(void **state)
{
	(void)state;
	record_often((struct allo_config){ .mode = ALLO_EXACT, .has_stats = true });
}

static void so_do_sampled_ones(void **state)
{
	(void)state;
	record_often((struct allo_config){ .mode = ALLO_SAMPLED, .rate = 4096 });
	record_often((struct allo_config){ .mode = ALLO_SAMPLED_EVENTS, .rate = 10 });
}

static void so_do_statistics_alone(void **state)
{
	(void)state;
	record_often((struct allo_config){ .mode = ALLO_COUNTERS });
}

static void a_full_file_stops_all_threads(void **state)
{
	(void)state;
	/* The head, and a slot for each of stacks, metadata and three threads. */
	record_often((struct allo_config){ .mode = ALLO_EXACT, .max_file = 12 << 16 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_recordings_start_and_stop),
		cmocka_unit_test(so_do_those_with_statistics),
		cmocka_unit_test(so_do_sampled_ones),
		cmocka_unit_test(so_do_statistics_alone),
		cmocka_unit_test(a_full_file_stops_all_threads),
	};

	return cmocka_run_group_tests_name("recording_threads", tests, NULL, NULL);
}
