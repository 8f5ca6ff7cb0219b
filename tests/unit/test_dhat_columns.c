/* test_dhat_columns.c - writers/dhat_columns.h. */
#include "check.h"

#include "base/defer.h"
#include "writers/dhat_columns.h"

/* A profile of one sample whose metrics have the values 100, 200, 300, ... */
static void fill(struct allo_profile *profile, const enum allo_meaning *meanings, size_t count)
{
	struct allo_error err = { 0 };
	uint64_t *row;

	for (size_t i = 0; i < count; i++)
		assert_true(allo_profile_add_metric(profile, meanings[i], "count", &err));
	row = allo_profile_add_sample(profile, 0, 0, NULL, &err);
	assert_non_null(row);
	for (size_t i = 0; i < count; i++)
		row[i] = 100 * (i + 1);
}

#define FILL(profile, ...)                                                                         \
	fill((profile), (const enum allo_meaning[]){ __VA_ARGS__ },                                \
	     sizeof((const enum allo_meaning[]){ __VA_ARGS__ }) / sizeof(enum allo_meaning))

static void what_is_there_is_taken_and_nothing_is_noted(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const uint64_t expected[ALLO_POINT_FIELDS] = { 100, 200, 900, 300,  400, 500,
						       600, 700, 800, 1000, 1100 };
	uint64_t numbers[ALLO_POINT_FIELDS];
	struct allo_notes notes = { 0 }, none = { 0 };
	struct allo_point_columns columns;

	(void)state;
	FILL(&profile, ALLO_ALLOC_BYTES, ALLO_ALLOC_BLOCKS, ALLO_MAX_BYTES, ALLO_MAX_BLOCKS,
	     ALLO_PEAK_BYTES, ALLO_PEAK_BLOCKS, ALLO_END_BYTES, ALLO_END_BLOCKS, ALLO_LIFETIME,
	     ALLO_READ_BYTES, ALLO_WRITE_BYTES);
	columns = allo_point_columns_of(&profile, &notes);
	allo_point_fill(&columns, &profile, 0, numbers, &notes);
	assert_int_equal(columns.kind, ALLO_POINT_HEAP);
	assert_true(columns.has_lifetimes && columns.has_accesses);
	assert_memory_equal(numbers, expected, sizeof(expected));
	assert_memory_equal(&notes, &none, sizeof(none));
}

static void what_was_live_stands_for_peak_and_end(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const uint64_t expected[ALLO_POINT_FIELDS] = { 100, 200, 0,   300, 400, 300,
						       400, 300, 400, 0,   0 };
	uint64_t numbers[ALLO_POINT_FIELDS];
	struct allo_notes notes = { 0 };
	struct allo_point_columns columns;

	(void)state;
	FILL(&profile, ALLO_ALLOC_BYTES, ALLO_ALLOC_BLOCKS, ALLO_LIVE_BYTES, ALLO_LIVE_BLOCKS);
	columns = allo_point_columns_of(&profile, &notes);
	allo_point_fill(&columns, &profile, 0, numbers, &notes);
	assert_true(columns.has_lifetimes && !columns.has_accesses);
	assert_memory_equal(numbers, expected, sizeof(expected));
	assert_int_equal(notes.of[ALLO_NOTE_NO_PEAK].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_NO_END].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_NO_MAX].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_NO_LIFETIME].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_NO_TOTAL].count, 0);
	assert_int_equal(notes.of[ALLO_NOTE_NO_BLOCKS].count, 0);
	assert_int_equal(notes.of[ALLO_NOTE_LEFT_OUT].count, 0);
}

static void the_larger_of_peak_and_end_stands_for_the_maximum(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	uint64_t numbers[ALLO_POINT_FIELDS];
	struct allo_notes notes = { 0 };
	struct allo_point_columns columns;

	(void)state;
	FILL(&profile, ALLO_END_BLOCKS, ALLO_PEAK_BYTES, ALLO_END_BYTES, ALLO_PEAK_BLOCKS);
	columns = allo_point_columns_of(&profile, &notes);
	allo_point_fill(&columns, &profile, 0, numbers, &notes);
	assert_int_equal(numbers[ALLO_POINT_MB], 300);
	assert_int_equal(numbers[ALLO_POINT_MBK], 400);
	assert_int_equal(numbers[ALLO_POINT_TB], 200);
	assert_int_equal(notes.of[ALLO_NOTE_NO_TOTAL].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_NO_PEAK].count, 0);
}

static void totals_alone_need_no_lifetimes(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_point_columns columns;

	(void)state;
	FILL(&profile, ALLO_ALLOC_BYTES, ALLO_TEMPORARY_BLOCKS);
	columns = allo_point_columns_of(&profile, &notes);
	assert_int_equal(columns.kind, ALLO_POINT_HEAP);
	assert_false(columns.has_lifetimes);
	assert_int_equal(notes.of[ALLO_NOTE_NO_BLOCKS].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_LEFT_OUT].count, 1);
	assert_int_equal(notes.of[ALLO_NOTE_NO_LIFETIME].count, 0);
}

static void what_is_no_memory_is_events(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_point_columns columns;

	(void)state;
	FILL(&profile, ALLO_FREED_BYTES);
	columns = allo_point_columns_of(&profile, &notes);
	assert_int_equal(columns.kind, ALLO_POINT_AD_HOC);
	assert_int_equal(columns.metric[ALLO_POINT_TB], 0);
	assert_int_equal(columns.metric[ALLO_POINT_TBK], 0);
}

static void a_profile_without_metrics_is_zeros(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	uint64_t numbers[ALLO_POINT_FIELDS];
	struct allo_notes notes = { 0 };
	struct allo_error err = { 0 };
	struct allo_point_columns columns;

	(void)state;
	allo_profile_add_sample(&profile, 0, 0, NULL, &err);
	columns = allo_point_columns_of(&profile, &notes);
	allo_point_fill(&columns, &profile, 0, numbers, &notes);
	assert_int_equal(columns.kind, ALLO_POINT_AD_HOC);
	assert_int_equal(numbers[ALLO_POINT_TB], 0);
}

static void negative_numbers_are_left_out(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	uint64_t numbers[ALLO_POINT_FIELDS];
	struct allo_notes notes = { 0 };
	struct allo_point_columns columns;

	(void)state;
	FILL(&profile, ALLO_ALLOC_BYTES, ALLO_ALLOC_BLOCKS);
	profile.metrics.at[0].is_signed = profile.metrics.at[1].is_signed = true;
	profile.values.at[0] = (uint64_t)-5;
	columns = allo_point_columns_of(&profile, &notes);
	allo_point_fill(&columns, &profile, 0, numbers, &notes);
	assert_int_equal(numbers[ALLO_POINT_TB], 0);
	assert_int_equal(numbers[ALLO_POINT_TBK], 200);
	assert_int_equal(notes.of[ALLO_NOTE_NEGATIVE].count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_there_is_taken_and_nothing_is_noted),
		cmocka_unit_test(what_was_live_stands_for_peak_and_end),
		cmocka_unit_test(the_larger_of_peak_and_end_stands_for_the_maximum),
		cmocka_unit_test(totals_alone_need_no_lifetimes),
		cmocka_unit_test(what_is_no_memory_is_events),
		cmocka_unit_test(a_profile_without_metrics_is_zeros),
		cmocka_unit_test(negative_numbers_are_left_out),
	};

	return cmocka_run_group_tests_name("dhat_columns", tests, NULL, NULL);
}
