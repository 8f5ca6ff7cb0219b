/* test_map.c - base/map.h and base/hash.h. */
#include "check.h"

#include "base/defer.h"
#include "base/hash.h"
#include "base/map.h"

static uint64_t hash_of(uint64_t number)
{
	return allo_hash_pair(number, 1, 42);
}

/* Entries are numbers: id n stands for the number n * 3. */
static uint32_t find(const struct allo_map *map, uint64_t number)
{
	struct allo_probe probe = allo_map_probe(map, hash_of(number));
	uint32_t id;

	while ((id = allo_map_next(map, &probe)) != 0) {
		if (id * (uint64_t)3 == number)
			break;
	}
	return id;
}

static void everything_put_is_found_and_nothing_else(void **state)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };

	(void)state;
	for (uint32_t id = 1; id <= 100000; id++)
		assert_true(allo_map_put(&map, hash_of(id * (uint64_t)3), id));
	for (uint32_t id = 1; id <= 100000; id++) {
		assert_int_equal(find(&map, id * (uint64_t)3), id);
		assert_int_equal(find(&map, id * (uint64_t)3 + 1), 0);
	}
}

static void equal_hashes_are_told_apart_by_the_owner(void **state)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };
	struct allo_probe probe;
	unsigned seen = 0;
	uint32_t id;

	(void)state;
	for (id = 1; id <= 50; id++)
		assert_true(allo_map_put(&map, 7ull << 32, id));
	probe = allo_map_probe(&map, 7ull << 32);
	while ((id = allo_map_next(&map, &probe)) != 0)
		seen++;
	assert_int_equal(seen, 50);
}

static void an_empty_or_cleared_map_finds_nothing(void **state)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };

	(void)state;
	assert_int_equal(find(&map, 3), 0);
	assert_true(allo_map_put(&map, hash_of(3), 1));
	allo_map_clear(&map);
	assert_int_equal(find(&map, 3), 0);
}

static void clearing_costs_no_more_than_what_is_used(void **state)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };

	(void)state;
	for (uint32_t id = 1; id <= 1000000; id++)
		assert_true(allo_map_put(&map, hash_of(id * (uint64_t)3), id));
	allo_map_clear(&map);
	assert_non_null(map.slots); /* it was full: it may well be again */
	assert_true(allo_map_put(&map, hash_of(3), 1));
	allo_map_clear(&map);
	assert_null(map.slots);
	assert_true(allo_map_put(&map, hash_of(3), 1));
	assert_int_equal(find(&map, 3), 1);
}

static void long_hashes_tell_all_lengths_apart(void **state)
{
	struct allo_hasher hasher;
	struct allo_hash128 last = { 0 };
	static char zeros[1000];

	(void)state;
	allo_hasher_init(&hasher);
	for (size_t len = 0; len < sizeof(zeros); len++) {
		struct allo_hash128 hash = allo_hasher_hash(&hasher, zeros, len);

		assert_false(hash.low == last.low && hash.high == last.high);
		last = hash;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(everything_put_is_found_and_nothing_else),
		cmocka_unit_test(equal_hashes_are_told_apart_by_the_owner),
		cmocka_unit_test(an_empty_or_cleared_map_finds_nothing),
		cmocka_unit_test(clearing_costs_no_more_than_what_is_used),
		cmocka_unit_test(long_hashes_tell_all_lengths_apart),
	};

	return cmocka_run_group_tests_name("map", tests, NULL, NULL);
}
