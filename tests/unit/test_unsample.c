/* test_unsample.c - readers/heap_text.h. */
#include "check.h"

#include "readers/heap_text.h"

static void counts_may_be_padded_and_negative(void **state)
{
	struct allo_text text = ALLO_TEXT("   201:  1088576 [   401:  1118576] @ heapprofile");
	struct allo_text diff = ALLO_TEXT("-3: -96 [0: 0]");
	struct allo_site_sums counts;

	(void)state;
	assert_true(allo_site_sums_take(&text, &counts));
	assert_int_equal(counts.live.blocks, 201);
	assert_int_equal(counts.live.bytes, 1088576);
	assert_int_equal(counts.ever.blocks, 401);
	assert_int_equal(counts.ever.bytes, 1118576);
	assert_text_equal(text, " @ heapprofile");
	assert_true(allo_site_sums_take(&diff, &counts));
	assert_int_equal(counts.live.blocks, -3);
	assert_int_equal(counts.live.bytes, -96);
	assert_int_equal(diff.len, 0);
}

static void other_texts_are_left_alone(void **state)
{
	static const char *const wrong[] = {
		"",           "1: 2",       "1: 2 [3: 4",  "1: 2 [3 4]",
		"1 2 [3: 4]", "1: 2 3: 4]", "x: 2 [3: 4]", "1: 9223372036854775808 [3: 4]"
	};
	struct allo_site_sums counts;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		struct allo_text text = allo_text_of(wrong[i]);

		assert_false(allo_site_sums_take(&text, &counts));
		assert_text_equal(text, wrong[i]);
	}
}

static void unsampled(int64_t blocks, int64_t bytes, int64_t rate, int64_t want_blocks,
		      int64_t want_bytes)
{
	struct allo_notes notes = { 0 };
	struct allo_block_sum seen = { blocks, bytes }, was = allo_unsample(seen, rate, &notes);

	assert_int_equal(was.blocks, want_blocks);
	assert_int_equal(was.bytes, want_bytes);
	assert_int_equal(notes.of[ALLO_NOTE_SATURATED].count, 0);
}

static void small_blocks_stand_for_many(void **state)
{
	(void)state;
	unsampled(2, 2048, 524288, 1025, 1049600);
	unsampled(19, 26752, 512, 20, 28578); /* the result of pprof for a line of Go */
	unsampled(-2, -2048, 524288, -1025, -1049600);
	unsampled(1, 1 << 30, 524288, 1, 1 << 30); /* so large that it cannot be missed */
}

static void a_rate_of_one_or_none_means_that_all_was_seen(void **state)
{
	(void)state;
	unsampled(7, 700, 1, 7, 700);
	unsampled(7, 700, 0, 7, 700);
}

static void nothing_stands_for_nothing(void **state)
{
	(void)state;
	unsampled(0, 0, 4096, 0, 0);
	unsampled(0, 100, 4096, 0, 0);
	unsampled(5, 0, 4096, 0, 0);
	unsampled(5, 0, 1, 0, 0);
}

static void overflow_is_clamped_and_noted(void **state)
{
	struct allo_notes notes = { 0 };
	struct allo_block_sum seen = { INT64_MAX, INT64_MAX }, was;

	(void)state;
	was = allo_unsample(seen, INT64_MAX, &notes);
	assert_true(was.blocks == INT64_MAX);
	assert_true(was.bytes == INT64_MAX);
	assert_int_equal(notes.of[ALLO_NOTE_SATURATED].count, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_may_be_padded_and_negative),
		cmocka_unit_test(other_texts_are_left_alone),
		cmocka_unit_test(small_blocks_stand_for_many),
		cmocka_unit_test(a_rate_of_one_or_none_means_that_all_was_seen),
		cmocka_unit_test(nothing_stands_for_nothing),
		cmocka_unit_test(overflow_is_clamped_and_noted),
	};

	return cmocka_run_group_tests_name("unsample", tests, NULL, NULL);
}
