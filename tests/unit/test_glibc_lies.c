/* test_glibc_lies.c - heaps of processes that are damaged or hostile. */
#include "check.h"
#include "invented_process.h"

static void walk(struct invented_process *process, struct allo_glibc *glibc,
		 struct allo_glibc_blocks *blocks)
{
	struct allo_error err = { 0 };

	memset(glibc, 0, sizeof(*glibc));
	memset(blocks, 0, sizeof(*blocks));
	assert_true(invented_walk(process, glibc, blocks, &err));
}

static uint64_t sum_of_blocks(const struct allo_glibc_blocks *blocks)
{
	uint64_t bytes = 0;

	for (int i = 0; i < ALLO_BLOCK_STATES; i++)
		bytes += blocks->sums[i].bytes;
	return bytes;
}

static void a_sound_process_is_walked(void **state)
{
	static struct invented_process process;
	struct allo_glibc_blocks blocks;
	struct allo_glibc glibc;

	(void)state;
	invented_init(&process);
	walk(&process, &glibc, &blocks);
	assert_int_equal(glibc.arenas.len, 2);
	assert_int_equal(glibc.segments.len, 3);
	assert_int_equal(sum_of_blocks(&blocks), 3 * INVENTED_PART);
	assert_true(blocks.sums[ALLO_BLOCK_USED].blocks > INVENTED_PART / 2 / 64);
	allo_glibc_done(&glibc);
}

/* The arena claims to have nearly all memory, so its sum never ends the walk. */
static void a_chain_of_heaps_that_loops_ends(void **state)
{
	static struct invented_process process;
	struct allo_glibc_blocks blocks;
	struct allo_glibc glibc;
	uint64_t *arena;

	(void)state;
	invented_init(&process);
	arena = invented_find(&process, invented_second_arena());
	arena[INVENTED_SYSTEM] = arena[INVENTED_SYSTEM + 1] = UINT64_MAX - 1;
	process.words[INVENTED_OLD_HEAP][1] = invented_starts[INVENTED_HEAP];
	walk(&process, &glibc, &blocks);
	assert_int_equal(glibc.segments.len, 3);
	assert_int_equal(sum_of_blocks(&blocks), 3 * INVENTED_PART);
	allo_glibc_done(&glibc);
}

/* It may have grown after the mappings were read. */
static void a_heap_is_not_walked_beyond_its_mapping(void **state)
{
	static struct invented_process process;
	struct allo_glibc_blocks blocks;
	struct allo_glibc glibc;

	(void)state;
	invented_init(&process);
	process.words[INVENTED_HEAP][2] = ALLO_GLIBC_HEAP_MAX;
	walk(&process, &glibc, &blocks);
	assert_int_equal(glibc.segments.len, 2);
	assert_int_equal(glibc.segments.at[1].end, invented_starts[INVENTED_HEAP] + INVENTED_PART);
	assert_int_equal(sum_of_blocks(&blocks), 2 * INVENTED_PART);
	allo_glibc_done(&glibc);
}

static void a_mapping_without_resident_memory_is_passed_over(void **state)
{
	static struct invented_process process;
	struct allo_vma huge = { .start = (uint64_t)1 << 44, .end = (uint64_t)3 << 44 };

	(void)state;
	invented_init(&process);
	assert_int_equal(allo_glibc_find_blocks(&process.memory, &huge, 1 << 20).blocks, 0);
	assert_int_equal(process.states_read, 0);
}

static void the_search_of_a_huge_mapping_depends_on_its_resident_memory(void **state)
{
	static struct invented_process process;
	struct allo_vma huge = { .start = (uint64_t)1 << 44,
				 .end = (uint64_t)3 << 44,
				 .rss = 10 * INVENTED_PAGE };

	(void)state;
	invented_init(&process);
	assert_int_equal(allo_glibc_find_blocks(&process.memory, &huge, 1 << 20).blocks, 0);
	assert_in_range(process.states_read, 1, 2 << 20);
}

static void a_block_that_claims_terabytes_is_not_counted_page_by_page(void **state)
{
	static struct invented_process process;
	uint64_t start = invented_starts[INVENTED_HEAP];
	struct allo_vma huge = { .start = start,
				 .end = start + ((uint64_t)1 << 44),
				 .rss = INVENTED_PART };

	(void)state;
	invented_init(&process);
	process.words[INVENTED_HEAP][0] = 0;
	process.words[INVENTED_HEAP][1] = ((uint64_t)1 << 43) | 2;
	assert_int_equal(allo_glibc_find_blocks(&process.memory, &huge, UINT64_MAX - 1).blocks, 0);
	assert_in_range(process.states_read, 1, 2 << 20);
	process.words[INVENTED_HEAP][1] = ((uint64_t)1 << 44) | 2;
	assert_int_equal(allo_glibc_find_blocks(&process.memory, &huge, UINT64_MAX - 1).resident,
			 INVENTED_PART);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_process_is_walked),
		cmocka_unit_test(a_chain_of_heaps_that_loops_ends),
		cmocka_unit_test(a_heap_is_not_walked_beyond_its_mapping),
		cmocka_unit_test(a_mapping_without_resident_memory_is_passed_over),
		cmocka_unit_test(the_search_of_a_huge_mapping_depends_on_its_resident_memory),
		cmocka_unit_test(a_block_that_claims_terabytes_is_not_counted_page_by_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
