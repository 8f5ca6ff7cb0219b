/* test_stack_bounds.c - capture/stacks/stack_bounds.h, on pages of which some are unreadable. */
#include "check.h"

#include "capture/stacks/stack_bounds.h"

#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 16 };

/* Maps PAGES pages; only those in [from, to) are readable. */
static uint64_t map_pages(unsigned from, unsigned to)
{
	char *pages = mmap(NULL, PAGES * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	assert_true(pages != MAP_FAILED);
	assert_int_equal(mprotect(pages + from * PAGE, (to - from) * PAGE, PROT_READ), 0);
	return (uint64_t)pages;
}

static void unmap_pages(uint64_t pages)
{
	munmap((void *)pages, PAGES * PAGE);
}

static void a_stack_is_readable_up_to_the_first_unreadable_page(void **state)
{
	uint64_t pages = map_pages(4, 8);
	struct allo_stack_bounds bounds = { 0 };

	(void)state;
	assert_true(allo_stack_bounds_begin(&bounds, pages + 5 * PAGE + 16));
	assert_true(allo_stack_bounds_cover(&bounds, pages + 6 * PAGE + 1));
	assert_true(allo_stack_bounds_cover(&bounds, pages + 8 * PAGE));
	assert_false(allo_stack_bounds_cover(&bounds, pages + 8 * PAGE + 1));
	assert_false(allo_stack_bounds_cover(&bounds, pages + 12 * PAGE));
	/* A refused extension changes nothing. */
	assert_true(allo_stack_bounds_cover(&bounds, pages + 8 * PAGE));
	unmap_pages(pages);
}

static void a_hole_ends_a_stack(void **state)
{
	uint64_t pages = map_pages(4, 8);
	struct allo_stack_bounds bounds = { 0 };

	(void)state;
	assert_int_equal(mprotect((void *)(pages + 6 * PAGE), PAGE, PROT_NONE), 0);
	assert_true(allo_stack_bounds_begin(&bounds, pages + 4 * PAGE));
	assert_false(allo_stack_bounds_cover(&bounds, pages + 8 * PAGE));
	unmap_pages(pages);
}

static void an_unreadable_stack_pointer_is_refused(void **state)
{
	const uint64_t nowhere[] = { 0, 8, 4095, (uint64_t)1 << 62, UINT64_MAX - 4096, UINT64_MAX };
	uint64_t pages = map_pages(4, 8);
	struct allo_stack_bounds bounds = { 0 };

	(void)state;
	assert_false(allo_stack_bounds_begin(&bounds, pages));
	assert_false(allo_stack_bounds_begin(&bounds, pages + 8 * PAGE));
	for (unsigned i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++)
		assert_false(allo_stack_bounds_begin(&bounds, nowhere[i]));
	unmap_pages(pages);
}

static void an_end_beyond_all_addresses_is_refused(void **state)
{
	uint64_t pages = map_pages(4, 8);
	struct allo_stack_bounds bounds = { 0 };

	(void)state;
	assert_true(allo_stack_bounds_begin(&bounds, pages + 4 * PAGE));
	assert_false(allo_stack_bounds_cover(&bounds, UINT64_MAX));
	assert_false(allo_stack_bounds_cover(&bounds, UINT64_MAX - 2 * PAGE));
	unmap_pages(pages);
}

static void a_stack_grows_down(void **state)
{
	uint64_t pages = map_pages(1, 8);
	struct allo_stack_bounds bounds = { 0 };

	(void)state;
	assert_true(allo_stack_bounds_begin(&bounds, pages + 6 * PAGE));
	assert_true(allo_stack_bounds_cover(&bounds, pages + 8 * PAGE));
	assert_true(allo_stack_bounds_begin(&bounds, pages + 2 * PAGE + 8));
	assert_int_equal(bounds.current.start, pages + 2 * PAGE);
	assert_int_equal(bounds.current.end, pages + 8 * PAGE);
	unmap_pages(pages);
}

static void memory_below_an_unreadable_page_is_another_stack(void **state)
{
	uint64_t pages = map_pages(1, 8);
	struct allo_stack_bounds bounds = { 0 };

	(void)state;
	assert_int_equal(mprotect((void *)(pages + 4 * PAGE), PAGE, PROT_NONE), 0);
	assert_true(allo_stack_bounds_begin(&bounds, pages + 6 * PAGE));
	assert_true(allo_stack_bounds_cover(&bounds, pages + 8 * PAGE));
	assert_true(allo_stack_bounds_begin(&bounds, pages + 2 * PAGE));
	assert_true(allo_stack_bounds_cover(&bounds, pages + 4 * PAGE));
	assert_false(allo_stack_bounds_cover(&bounds, pages + 5 * PAGE));
	unmap_pages(pages);
}

static void alternating_stacks_are_cached(void **state)
{
	struct allo_stack_bounds bounds = { 0 };
	uint64_t pages[ALLO_BOUNDS_STACKS];

	(void)state;
	for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++)
		pages[i] = map_pages(1, 8);
	for (unsigned turn = 0; turn < 3; turn++) {
		for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++) {
			assert_true(allo_stack_bounds_begin(&bounds, pages[i] + PAGE));
			assert_true(turn == 0 || bounds.current.end == pages[i] + 8 * PAGE);
			assert_true(allo_stack_bounds_cover(&bounds, pages[i] + 8 * PAGE));
		}
	}
	for (unsigned i = 0; i < ALLO_BOUNDS_STACKS; i++)
		unmap_pages(pages[i]);
}

static void the_stack_of_a_thread_can_be_read_up_to_its_outermost_frame(void **state)
{
	struct allo_stack_bounds bounds = { 0 };
	uint64_t here = (uint64_t)__builtin_frame_address(0);

	(void)state;
	assert_true(allo_stack_bounds_begin(&bounds, here));
	assert_true(allo_stack_bounds_cover(&bounds, (uint64_t)environ));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_readable_up_to_the_first_unreadable_page),
		cmocka_unit_test(a_hole_ends_a_stack),
		cmocka_unit_test(an_unreadable_stack_pointer_is_refused),
		cmocka_unit_test(an_end_beyond_all_addresses_is_refused),
		cmocka_unit_test(a_stack_grows_down),
		cmocka_unit_test(memory_below_an_unreadable_page_is_another_stack),
		cmocka_unit_test(alternating_stacks_are_cached),
		cmocka_unit_test(the_stack_of_a_thread_can_be_read_up_to_its_outermost_frame),
	};

	return cmocka_run_group_tests_name("bounds", tests, NULL, NULL);
}
