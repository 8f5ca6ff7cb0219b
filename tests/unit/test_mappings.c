/* test_mappings.c - capture/hooks/mappings.h, with small numbers as addresses. */
#include "check.h"

#include "capture/hooks/mappings.h"
#include "capture/settings.h"

#include <signal.h>
#include <stdlib.h>

static struct allo_mappings mappings;

/* The calls of the visitor in the last cut. */
static struct allo_mapping_cut cuts[8];
static size_t cut_count;

static void note_cut(void *context, const struct allo_mapping_cut *cut)
{
	assert_ptr_equal(context, cuts);
	if (cut_count < sizeof(cuts) / sizeof(*cuts))
		cuts[cut_count] = *cut;
	cut_count++;
}

static int begin(void **state)
{
	(void)state;
	memset(&mappings, 0, sizeof(mappings));
	return 0;
}

static bool add(uint64_t start, uint64_t end, uint32_t stack)
{
	return allo_mappings_add(&mappings, (struct allo_mapping){ start, end, stack });
}

static bool cut_to(uint64_t start, uint64_t end, uint64_t least)
{
	cut_count = 0;
	return allo_mappings_cut(&mappings, start, end, least, note_cut, cuts);
}

static bool cut(uint64_t start, uint64_t end)
{
	return cut_to(start, end, 0);
}

static void must_be(const struct allo_mapping *mapping, uint64_t start, uint64_t end,
		    uint32_t stack)
{
	assert_int_equal(mapping->start, start);
	assert_int_equal(mapping->end, end);
	assert_int_equal(mapping->stack, stack);
}

static void must_be_empty(const struct allo_mapping *mapping)
{
	assert_int_equal(mapping->start, mapping->end);
}

static void mappings_are_sorted_by_address(void **state)
{
	(void)state;
	assert_true(add(30, 40, 3) && add(10, 20, 1) && add(50, 60, 5) && add(20, 30, 2));
	assert_int_equal(mappings.count, 4);
	must_be(&mappings.at[0], 50, 60, 5);
	must_be(&mappings.at[1], 30, 40, 3);
	must_be(&mappings.at[2], 20, 30, 2);
	must_be(&mappings.at[3], 10, 20, 1);
}

static void a_whole_mapping_is_removed(void **state)
{
	(void)state;
	add(10, 20, 1);
	add(30, 40, 2);
	assert_true(cut(10, 20));
	assert_int_equal(cut_count, 1);
	must_be(&cuts[0].whole, 10, 20, 1);
	must_be_empty(&cuts[0].below);
	must_be_empty(&cuts[0].above);
	assert_int_equal(mappings.count, 1);
	must_be(&mappings.at[0], 30, 40, 2);
}

static void a_range_without_mappings_changes_nothing(void **state)
{
	(void)state;
	assert_true(cut(0, UINT64_MAX));
	add(10, 20, 1);
	add(30, 40, 2);
	assert_true(cut(0, 10) && cut_count == 0);
	assert_true(cut(20, 30) && cut_count == 0);
	assert_true(cut(40, 99) && cut_count == 0);
	assert_true(cut(15, 15) && cut_count == 0);
	assert_true(cut(18, 12) && cut_count == 0);
	assert_int_equal(mappings.count, 2);
}

static void the_start_is_cut(void **state)
{
	(void)state;
	add(10, 20, 1);
	assert_true(cut(5, 13));
	must_be_empty(&cuts[0].below);
	must_be(&cuts[0].above, 13, 20, 1);
	must_be(&mappings.at[0], 13, 20, 1);
}

static void the_end_is_cut(void **state)
{
	(void)state;
	add(10, 20, 1);
	assert_true(cut(17, 25));
	must_be(&cuts[0].below, 10, 17, 1);
	must_be_empty(&cuts[0].above);
	must_be(&mappings.at[0], 10, 17, 1);
}

static void the_middle_is_cut(void **state)
{
	(void)state;
	add(0, 5, 9);
	add(10, 20, 1);
	add(30, 40, 8);
	assert_true(cut(12, 15));
	must_be(&cuts[0].below, 10, 12, 1);
	must_be(&cuts[0].above, 15, 20, 1);
	assert_int_equal(mappings.count, 4);
	must_be(&mappings.at[1], 15, 20, 1);
	must_be(&mappings.at[2], 10, 12, 1);
}

static void parts_of_several_are_cut(void **state)
{
	(void)state;
	add(0, 5, 9);
	add(10, 20, 1);
	add(20, 30, 2);
	add(35, 40, 3);
	add(50, 60, 8);
	assert_true(cut(13, 37));
	assert_int_equal(cut_count, 3);
	must_be(&cuts[0].above, 37, 40, 3);
	must_be(&cuts[1].whole, 20, 30, 2);
	must_be(&cuts[2].below, 10, 13, 1);
	assert_int_equal(mappings.count, 4);
	must_be(&mappings.at[0], 50, 60, 8);
	must_be(&mappings.at[1], 37, 40, 3);
	must_be(&mappings.at[2], 10, 13, 1);
	must_be(&mappings.at[3], 0, 5, 9);
}

static void parts_that_are_too_small_are_not_kept(void **state)
{
	(void)state;
	add(10, 20, 1);
	assert_true(cut_to(12, 14, 6));
	must_be_empty(&cuts[0].below);
	must_be(&cuts[0].above, 14, 20, 1);
	assert_true(cut_to(14, 15, 6));
	must_be_empty(&cuts[0].above);
	assert_int_equal(mappings.count, 0);
}

static void a_full_table_refuses(void **state)
{
	(void)state;
	for (uint64_t i = ALLO_MAPPINGS_MAX; i > 0; i--)
		assert_true(add(i * 10, i * 10 + 9, 1));
	assert_false(add(1, 2, 2));
	/* There is room for only one of the two parts. */
	assert_false(cut(103, 105));
	must_be_empty(&cuts[0].below);
	must_be(&cuts[0].above, 105, 109, 1);
	assert_false(cut(107, 108));
	must_be(&cuts[0].below, 105, 107, 1);
	must_be_empty(&cuts[0].above);
	assert_true(cut(105, 106));
	assert_int_equal(mappings.count, ALLO_MAPPINGS_MAX);
	assert_true(cut(0, UINT64_MAX));
	assert_int_equal(cut_count, ALLO_MAPPINGS_MAX);
	assert_int_equal(mappings.count, 0);
}

enum { PLACES = 97 };

/* A plain model: the stack of each address. */
static void must_equal_model(const uint32_t *model)
{
	uint32_t found[PLACES] = { 0 };

	for (uint32_t i = 0; i < mappings.count; i++) {
		const struct allo_mapping *mapping = &mappings.at[i];

		assert_true(mapping->start < mapping->end);
		assert_true(i == 0 || mapping->end <= mappings.at[i - 1].start);
		for (uint64_t at = mapping->start; at < mapping->end; at++)
			found[at] = mapping->stack;
	}
	assert_memory_equal(found, model, sizeof(found));
}

static void a_thousand_calls_agree_with_a_plain_array(void **state)
{
	uint32_t model[PLACES] = { 0 };

	(void)state;
	srand(1009);
	for (uint32_t turn = 1; turn < 1000; turn++) {
		uint64_t start = (uint64_t)rand() % PLACES;
		uint64_t end = start + 1 + (uint64_t)rand() % (PLACES - start);
		bool is_new = rand() % 2;

		assert_true(cut(start, end));
		if (is_new)
			assert_true(add(start, end, turn));
		for (uint64_t at = start; at < end; at++)
			model[at] = is_new ? turn : 0;
		must_equal_model(model);
	}
}

static void signals_are_blocked_under_the_lock(void **state)
{
	sigset_t before, meanwhile, after;
	uint64_t signals;

	(void)state;
	sigprocmask(SIG_BLOCK, NULL, &before);
	assert_true(allo_mappings_lock(&mappings, &signals));
	sigprocmask(SIG_BLOCK, NULL, &meanwhile);
	assert_true(sigismember(&meanwhile, SIGALRM) && sigismember(&meanwhile, SIGPROF));
	allo_mappings_unlock(&mappings, signals);
	sigprocmask(SIG_BLOCK, NULL, &after);
	assert_int_equal(sigismember(&after, SIGALRM), sigismember(&before, SIGALRM));
}

static void the_wait_for_the_lock_is_bounded(void **state)
{
	uint64_t signals, others;
	sigset_t after;

	(void)state;
	assert_true(allo_mappings_lock(&mappings, &signals));
	assert_false(allo_mappings_lock(&mappings, &others));
	allo_mappings_unlock(&mappings, signals);
	assert_true(allo_mappings_lock(&mappings, &signals));
	allo_mappings_unlock(&mappings, signals);
	sigprocmask(SIG_BLOCK, NULL, &after);
	assert_false(sigismember(&after, SIGALRM));
}

static void there_is_no_table_without_tracking(void **state)
{
	(void)state;
	assert_int_equal(allo_mappings_tracked, ALLO_TRACK_MMAP | ALLO_TRACK_BRK);
	allo_settings.track = ALLO_TRACK_MALLOC | ALLO_TRACK_NEW;
	allo_mappings_init();
	assert_null(allo_mappings);
	assert_int_equal(allo_mappings_tracked, 0);
	allo_settings.track = ALLO_TRACK_MALLOC | ALLO_TRACK_BRK;
	allo_mappings_init();
	assert_non_null(allo_mappings);
	assert_int_equal(allo_mappings_tracked, ALLO_TRACK_BRK);
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(mappings_are_sorted_by_address),
		TEST(a_whole_mapping_is_removed),
		TEST(a_range_without_mappings_changes_nothing),
		TEST(the_start_is_cut),
		TEST(the_end_is_cut),
		TEST(the_middle_is_cut),
		TEST(parts_of_several_are_cut),
		TEST(parts_that_are_too_small_are_not_kept),
		TEST(a_full_table_refuses),
		TEST(a_thousand_calls_agree_with_a_plain_array),
		TEST(signals_are_blocked_under_the_lock),
		TEST(the_wait_for_the_lock_is_bounded),
		TEST(there_is_no_table_without_tracking),
	};

	return cmocka_run_group_tests_name("mappings", tests, NULL, NULL);
}
