/* test_glibc_arenas.c - ledger/glibc_arenas.h: where words look like an arena, and where not. */
#include "check.h"

#include "ledger/glibc_arenas.h"

enum { BEFORE = 40, LISTS = 127, BEHIND = 20, COUNT = BEFORE + 2 * LISTS + BEHIND };

static const uint64_t address = 0x7f0012345000;

/* An arena in which all lists are empty, among other words. */
static void make(uint64_t words[COUNT])
{
	memset(words, 0, COUNT * sizeof(*words));
	for (uint64_t i = 0; i < LISTS; i++)
		words[BEFORE + 2 * i] = words[BEFORE + 2 * i + 1] = address + 8 * BEFORE + 16 * i -
								    16;
	words[BEFORE - 2] = 0x55aa00001230;
}

static void an_arena_is_found_by_its_lists(void **state)
{
	uint64_t words[COUNT];

	(void)state;
	make(words);
	assert_int_equal(allo_glibc_find_lists(words, COUNT, address), BEFORE);
	/* Anywhere else the same words mean nothing. */
	assert_true(allo_glibc_find_lists(words, COUNT, address + 8) == SIZE_MAX);
	assert_true(allo_glibc_find_lists(words, COUNT - BEHIND, address) == SIZE_MAX);
}

static void lists_need_not_be_empty(void **state)
{
	uint64_t words[COUNT];

	(void)state;
	make(words);
	/* Two pointers to blocks before the lists look like one more list. */
	words[BEFORE - 1] = 0x55aa00004560;
	for (size_t i = 0; i < 100; i++)
		words[BEFORE + 2 * i] = words[BEFORE + 2 * i + 1] = 0x55aa00000000 + 64 * i;
	words[BEFORE] = 0x55aa00000040;
	assert_int_equal(allo_glibc_find_lists(words, COUNT, address), BEFORE);
	/* A pointer to no block. */
	words[BEFORE + 20] = 0x55aa00000001;
	assert_true(allo_glibc_find_lists(words, COUNT, address) == SIZE_MAX);
}

static void too_few_empty_lists_are_no_arena(void **state)
{
	uint64_t words[COUNT];

	(void)state;
	make(words);
	for (size_t i = 0; i < 115; i++)
		words[BEFORE + 2 * i] = words[BEFORE + 2 * i + 1] = 0x55aa00000040;
	assert_true(allo_glibc_find_lists(words, COUNT, address) == SIZE_MAX);
}

static void mapped_bytes_are_found_by_the_start_of_the_heap(void **state)
{
	/* As glibc 2.36 has it, and as older ones do. */
	uint64_t newer[] = { 0,      7,      (uint64_t)2 << 32, (uint64_t)3 << 32 | 65536, 0,
			     0x6000, 0x9000, 0x55aa000 };
	uint64_t older[] = { 0, 0, (uint64_t)65536 << 32 | 2, 3, 0x8000, 0x9000, 0x55aa000 };
	uint64_t other[] = { 0, 0, 0, 0, 0, 0, 0x55aa000 };

	(void)state;
	assert_int_equal(allo_glibc_find_mapped(newer, 8, 0x55aa000), 0x6000);
	assert_int_equal(allo_glibc_find_mapped(older, 7, 0x55aa000), 0x8000);
	assert_true(allo_glibc_find_mapped(newer, 8, 0x66aa000) == UINT64_MAX);
	assert_true(allo_glibc_find_mapped(newer, 8, 0) == UINT64_MAX);
	assert_true(allo_glibc_find_mapped(other, 7, 0x55aa000) == UINT64_MAX);
	newer[5] = 0xa000; /* more than ever */
	assert_true(allo_glibc_find_mapped(newer, 8, 0x55aa000) == UINT64_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_arena_is_found_by_its_lists),
		cmocka_unit_test(lists_need_not_be_empty),
		cmocka_unit_test(too_few_empty_lists_are_no_arena),
		cmocka_unit_test(mapped_bytes_are_found_by_the_start_of_the_heap),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
