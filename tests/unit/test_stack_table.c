/* test_stack_table.c - capture/stacks/stack_table.h: lookups while entries are added. */
#include "check.h"

#include "capture/file/recorder.h"
#include "capture/stacks/stack_table.h"

#include <pthread.h>

enum { COUNT = 200000 };

static struct allo_stack_table table;
static uint32_t added; /* so far */

static uint64_t hash_of(uint64_t number)
{
	return number * 0x9e3779b97f4a7c15 | 1;
}

static int begin(void **state)
{
	static struct allo_wire_head head;
	static struct allo_recorder recording = { .head = &head };

	(void)state;
	allo_recorder = &recording;
	added = 0;
	return 0;
}

static int end(void **state)
{
	(void)state;
	allo_stack_table_done(&table);
	return 0;
}

static void add(uint32_t number)
{
	assert_true(allo_stack_table_make_room(&table));
	allo_stack_table_add(&table, hash_of(number), number);
	__atomic_store_n(&added, number, __ATOMIC_RELEASE);
}

static void all_entries_are_found_while_the_table_grows(void **state)
{
	(void)state;
	for (uint32_t i = 1; i <= COUNT; i++) {
		assert_int_equal(allo_stack_table_find(&table, hash_of(i)), 0);
		add(i);
		assert_int_equal(allo_stack_table_find(&table, hash_of(i)), i);
		assert_int_equal(allo_stack_table_find(&table, hash_of(i / 2 + 1)), i / 2 + 1);
	}
	for (uint32_t i = 1; i <= COUNT; i++)
		assert_int_equal(allo_stack_table_find(&table, hash_of(i)), i);
}

/* At most two tables: the new one and the one that is being moved. */
static void emptied_tables_are_freed(void **state)
{
	uint64_t before = allo_recorder->head->counts.own_bytes, bytes;

	(void)state;
	for (uint32_t i = 1; i <= COUNT; i++) {
		add(i);
		bytes = allo_recorder->head->counts.own_bytes - before;
		assert_in_range(bytes, 0, 65536 + 4 * i * sizeof(struct allo_stack_entry));
	}
}

/* Looks up random entries without a lock; counts wrong results. */
static void *look(void *given)
{
	size_t *wrong = given;
	uint64_t random = 1;
	uint32_t last;

	while ((last = __atomic_load_n(&added, __ATOMIC_ACQUIRE)) < COUNT) {
		uint32_t number, found;

		random = random * 6364136223846793005 + 1442695040888963407;
		if (last == 0)
			continue;
		number = (uint32_t)(random >> 33) % last + 1;
		found = allo_stack_table_find(&table, hash_of(number));
		*wrong += found != number && found != 0;
	}
	return NULL;
}

static void a_concurrent_lookup_never_finds_a_wrong_id(void **state)
{
	pthread_t threads[3];
	size_t wrong[3] = { 0 };

	(void)state;
	for (int i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, look, &wrong[i]), 0);
	for (uint32_t i = 1; i <= COUNT; i++)
		add(i);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(pthread_join(threads[i], NULL), 0);
		assert_int_equal(wrong[i], 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_entries_are_found_while_the_table_grows, begin,
						end),
		cmocka_unit_test_setup_teardown(emptied_tables_are_freed, begin, end),
		cmocka_unit_test_setup_teardown(a_concurrent_lookup_never_finds_a_wrong_id, begin,
						end),
	};

	return cmocka_run_group_tests_name("stack_table", tests, NULL, NULL);
}
