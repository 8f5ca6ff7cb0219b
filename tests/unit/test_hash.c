/* test_hash.c - base/hash.h. */
#include "check.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>

static void the_seed_stays_for_the_life_of_the_process(void **state)
{
	(void)state;
	assert_true(allo_hash_seed() == allo_hash_seed());
	assert_true(allo_hash_seed() != 0);
}

static int compare(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* Equal upper halves among a million pairs of small numbers: chance alone makes about 116. */
static void pairs_of_small_numbers_spread_well(void **state)
{
	enum { SIDE = 1000, COUNT = SIDE * SIDE };
	uint32_t *tags = malloc(COUNT * sizeof(*tags));
	unsigned equal = 0;

	(void)state;
	for (uint32_t a = 0; a < SIDE; a++) {
		for (uint32_t b = 0; b < SIDE; b++)
			tags[a * SIDE + b] = (uint32_t)(allo_hash_pair(a, b, 12345) >> 32);
	}
	qsort(tags, COUNT, sizeof(*tags), compare);
	for (size_t i = 1; i < COUNT; i++)
		equal += tags[i] == tags[i - 1];
	assert_in_range(equal, 0, 1000);
	free(tags);
}

static void order_and_seed_matter(void **state)
{
	(void)state;
	assert_true(allo_hash_pair(1, 2, 3) != allo_hash_pair(2, 1, 3));
	assert_true(allo_hash_pair(1, 2, 3) != allo_hash_pair(1, 2, 4));
	assert_true(allo_hash_bytes("ab", 2, 1) != allo_hash_bytes("ab", 2, 2));
	assert_true(allo_hash_bytes("ab", 2, 1) == allo_hash_bytes("ab", 2, 1));
	assert_true(allo_hash_bytes(NULL, 0, 1) == allo_hash_bytes("", 0, 1));
}

static void a_hasher_depends_on_every_byte(void **state)
{
	struct allo_hasher hasher;
	char text[300] = { 0 };
	struct allo_hash128 before, after;

	(void)state;
	allo_hasher_init(&hasher);
	before = allo_hasher_hash(&hasher, text, sizeof(text));
	for (size_t i = 0; i < sizeof(text); i++) {
		text[i] = 1;
		after = allo_hasher_hash(&hasher, text, sizeof(text));
		assert_false(after.low == before.low && after.high == before.high);
		text[i] = 0;
	}
	after = allo_hasher_hash(&hasher, text, sizeof(text));
	assert_true(after.low == before.low && after.high == before.high);
}

static void beginnings_have_the_hash_of_their_bytes(void **state)
{
	struct allo_hash_state states[300 / ALLO_HASH_BLOCK + 1];
	struct allo_hasher hasher;
	char text[300];

	(void)state;
	allo_hasher_init(&hasher);
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * i);
	assert_int_equal(allo_hash_states(sizeof(text)), sizeof(states) / sizeof(*states));
	allo_hasher_walk(&hasher, text, sizeof(text), states);
	for (size_t len = 0; len <= sizeof(text); len++) {
		struct allo_hash128 alone = allo_hasher_hash(&hasher, text, len);
		struct allo_hash128 hash = allo_hasher_hash_beginning(&hasher, states, text, len);

		assert_true(alone.low == hash.low && alone.high == hash.high);
	}
}

static int compare_low(const void *a, const void *b)
{
	const struct allo_hash128 *x = a, *y = b;

	return (x->low > y->low) - (x->low < y->low);
}

static int compare_high(const void *a, const void *b)
{
	const struct allo_hash128 *x = a, *y = b;

	return (x->high > y->high) - (x->high < y->high);
}

/* Names as programs have them, which differ in a digit or in their length; and all zeros, which
 * differ in their length only.  Either half of a hash must tell them apart, whatever the seed is.
 */
static void a_hasher_tells_names_apart(void **state)
{
	enum { COUNT = 300000, ZEROS = 300 };
	struct allo_hash128 *hashes = malloc((COUNT + ZEROS) * sizeof(*hashes));
	static const char zeros[ZEROS];

	(void)state;
	for (uint64_t round = 0; round < 16; round++) {
		struct allo_hasher hasher;
		size_t count = 0;

		allo_hasher_init(&hasher);
		for (unsigned i = 0; i < 4; i++)
			hasher.key[i] = allo_hash_pair(hasher.key[i], round, round);
		for (int i = 0; i < COUNT; i++) {
			const char *forms[] = { "%d", "f%d", "step::%d",
						"a_rather_long_name<%d>::f",
						"main;parse;f%d;malloc and something behind" };
			char name[80];
			int len = snprintf(name, sizeof(name), forms[i % 5], i / 5);

			hashes[count++] = allo_hasher_hash(&hasher, name, (size_t)len);
		}
		for (size_t len = 0; len < ZEROS; len++)
			hashes[count++] = allo_hasher_hash(&hasher, zeros, len);
		qsort(hashes, count, sizeof(*hashes), compare_low);
		for (size_t i = 1; i < count; i++)
			assert_true(hashes[i].low != hashes[i - 1].low);
		qsort(hashes, count, sizeof(*hashes), compare_high);
		for (size_t i = 1; i < count; i++)
			assert_true(hashes[i].high != hashes[i - 1].high);
	}
	free(hashes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_seed_stays_for_the_life_of_the_process),
		cmocka_unit_test(pairs_of_small_numbers_spread_well),
		cmocka_unit_test(order_and_seed_matter),
		cmocka_unit_test(a_hasher_depends_on_every_byte),
		cmocka_unit_test(beginnings_have_the_hash_of_their_bytes),
		cmocka_unit_test(a_hasher_tells_names_apart),
	};

	return cmocka_run_group_tests_name("hash", tests, NULL, NULL);
}
