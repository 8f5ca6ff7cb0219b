/* test_sizes.c - capture/sizes.h: the table of block sizes. */
#include "check.h"

#include "capture/sizes.h"

enum { LAST_PLACE = (1 << ALLO_REGION_BITS) - 8 };

static int begin(void **state)
{
	(void)state;
	return allo_sizes_begin() ? 0 : -1;
}

static void assert_size(uint32_t heap, uint64_t address, uint64_t size, bool is_sampled)
{
	struct allo_size known = allo_size_take(heap, address);

	assert_true(known.is_known);
	assert_int_equal(known.size, size);
	assert_int_equal(known.is_sampled, is_sampled);
}

static void assert_unknown(uint32_t heap, uint64_t address)
{
	assert_false(allo_size_take(heap, address).is_known);
}

static void a_size_is_taken_once(void **state)
{
	static const uint64_t sizes[] = { 0,     1,     8,     32765,      32766,
					  32767, 32768, 65536, 1ull << 40, UINT64_MAX };

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		allo_size_put(0, 0x7f0000001000, sizes[i], i % 2);
		assert_size(0, 0x7f0000001000, sizes[i], i % 2);
		assert_unknown(0, 0x7f0000001000);
		assert_unknown(0, 0x7f0000001008);
	}
}

static void neighbours_do_not_touch_each_other(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 1000; i++)
		allo_size_put(0, 0x10000 + 8 * i, i % 9, i % 3 == 0);
	for (uint64_t i = 0; i < 1000; i++)
		assert_size(0, 0x10000 + 8 * i, i % 9, i % 3 == 0);
}

static void heaps_are_separate(void **state)
{
	(void)state;
	allo_size_put(1, 0x20000, 100, false);
	allo_size_put(2, 0x20000, 200, false);
	assert_unknown(0, 0x20000);
	assert_size(2, 0x20000, 200, false);
	assert_size(1, 0x20000, 100, false);
}

static void an_unknown_block_has_no_size(void **state)
{
	(void)state;
	assert_unknown(0, 0x555500000000);
	assert_unknown(ALLO_HEAPS - 1, 0x1000);
	assert_unknown(0, UINT64_MAX);
	allo_size_put(0, UINT64_MAX, 5, true);
	assert_unknown(0, UINT64_MAX);
}

static void a_large_block_may_begin_at_the_end_of_a_region(void **state)
{
	(void)state;
	allo_size_put(0, 0x40000000 + LAST_PLACE, 1 << 20, true);
	allo_size_put(0, 0x40000000 + LAST_PLACE + 8, 1 << 20, false);
	assert_size(0, 0x40000000 + LAST_PLACE, 1 << 20, true);
	assert_size(0, 0x40000000 + LAST_PLACE + 8, 1 << 20, false);
}

static void a_page_without_samples_is_recognized(void **state)
{
	(void)state;
	allo_size_put(0, 0x50001000, 10, false);
	assert_false(allo_size_may_be_sampled(0, 0x50001000));
	allo_size_put(0, 0x50002010, 10, true);
	assert_true(allo_size_may_be_sampled(0, 0x50002ff8));
	assert_size(0, 0x50002010, 10, true);
	assert_false(allo_size_may_be_sampled(0, 0x50002ff8));
	allo_size_put(0, 0x50002010, 10, true);
	assert_false(allo_size_may_be_sampled(0, 0x50003000));
	assert_false(allo_size_may_be_sampled(3, 0x50002010));
	assert_false(allo_size_may_be_sampled(0, UINT64_MAX));
}

static void a_new_recording_forgets_all_blocks(void **state)
{
	(void)state;
	allo_size_put(0, 0x60000000, 10, true);
	assert_true(allo_sizes_begin());
	assert_false(allo_size_may_be_sampled(0, 0x60000000));
	assert_unknown(0, 0x60000000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_size_is_taken_once),
		cmocka_unit_test(neighbours_do_not_touch_each_other),
		cmocka_unit_test(heaps_are_separate),
		cmocka_unit_test(an_unknown_block_has_no_size),
		cmocka_unit_test(a_large_block_may_begin_at_the_end_of_a_region),
		cmocka_unit_test(a_page_without_samples_is_recognized),
		cmocka_unit_test(a_new_recording_forgets_all_blocks),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
