/* test_sum.c - analysis/sum.h and analysis/filters/select.h. */
#include "check.h"
#include "profiles.h"

#include "analysis/filters/select.h"
#include "analysis/sum.h"
#include "base/defer.h"

/* Metrics of these meanings, and three samples: 0, 1, ...; 100, 101, ...; 200, 201, ... */
static void make(struct allo_profile *profile, const enum allo_meaning *meanings, size_t count)
{
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(profile, ALLO_TEXT("f"), &err);
	allo_stack_id stack = 0;
	uint64_t *row;

	for (size_t i = 0; i < count; i++)
		assert_true(allo_profile_add_metric(profile, meanings[i], "bytes", &err));
	for (uint64_t k = 0; k < 3; k++) {
		row = allo_profile_add_sample(profile, stack, 0, NULL, &err);
		for (size_t i = 0; i < count; i++)
			row[i] = 100 * k + i;
		stack = allo_profile_add_stack(profile, stack, frame, &err);
	}
}

static void sums_are_wider_than_64_bits(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const enum allo_meaning meanings[] = { ALLO_ALLOC_BYTES };

	(void)state;
	make(&profile, meanings, 1);
	for (size_t i = 0; i < 3; i++)
		profile.values.at[i] = UINT64_MAX;
	assert_true(allo_metric_sum(&profile, 0) == (allo_sum)UINT64_MAX * 3);
	assert_true(allo_sum_number(allo_metric_sum(&profile, 0)).magnitude == UINT64_MAX);
	profile.metrics.at[0].is_signed = true;
	assert_true(allo_metric_sum(&profile, 0) == -3);
	assert_int_equal(allo_sum_number(-3).magnitude, 3);
	assert_true(allo_sum_number(-3).is_negative);
}

static void blocks_go_with_bytes_and_before_with_after(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const enum allo_meaning meanings[] = { ALLO_END_BLOCKS, ALLO_PEAK_BYTES, ALLO_PEAK_BYTES,
					       ALLO_PEAK_BLOCKS };
	struct allo_metric_columns columns;
	struct allo_values values;

	(void)state;
	make(&profile, meanings, 4);
	profile.metrics.at[1].is_before = true;
	columns = allo_metric_columns_of(&profile, 2);
	assert_true(columns.has_before && columns.has_blocks);
	values = allo_values_of(&profile, &columns, 1);
	assert_true(values.value == 102 && values.before == 101 && values.blocks == 103);
	profile.metrics.at[3].unit = 0; /* a count, not bytes */
	columns = allo_metric_columns_of(&profile, 3);
	assert_false(columns.has_before || columns.has_blocks);
	allo_values_add(&values, &values);
	assert_true(values.value == 204 && values.before == 202 && values.blocks == 206);
}

static void without_a_wish_the_peak_comes_first(void **state)
{
	const struct {
		enum allo_meaning meanings[3];
		size_t preferred, expected;
	} table[] = {
		{ { ALLO_ALLOC_BYTES, ALLO_PEAK_BYTES, ALLO_END_BYTES }, 0, 1 },
		{ { ALLO_ALLOC_BYTES, ALLO_PEAK_BYTES, ALLO_END_BYTES }, 3, 2 },
		{ { ALLO_ALLOC_BLOCKS, ALLO_ALLOC_BYTES, ALLO_END_BLOCKS }, 0, 1 },
		/* Sums of each site's maximum mean nothing. */
		{ { ALLO_MAX_BYTES, ALLO_PEAK_BYTES, ALLO_END_BYTES }, 1, 1 },
		{ { ALLO_READ_BYTES, ALLO_WRITE_BYTES, ALLO_READ_BYTES }, 0, 2 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

		make(&profile, table[i].meanings, 3);
		profile.meta.default_metric = table[i].preferred;
		assert_int_equal(allo_default_metric(&profile), table[i].expected);
	}
}

static void metrics_go_by_several_names(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const enum allo_meaning meanings[] = { ALLO_ALLOC_BYTES, ALLO_LIVE_BYTES };
	const struct {
		const char *name;
		size_t metric;
	} table[] = {
		{ "alloc_bytes", 0 }, { "alloc_space", 0 }, { "tb", 0 },   { "total", 0 },
		{ "live_bytes", 1 },  { "inuse_space", 1 }, { "live", 1 },
	};
	struct allo_error err = { 0 };
	size_t metric;

	(void)state;
	make(&profile, meanings, 2);
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		assert_true(allo_find_metric(&profile, table[i].name, &metric, &err));
		assert_int_equal(metric, table[i].metric);
	}
	assert_false(allo_find_metric(&profile, "peak", &metric, &err));
	assert_int_equal(err.code, ALLO_USAGE);
	assert_string_equal(err.hint, "it has: alloc_bytes, live_bytes");
}

static void in_use_is_live_memory_except_in_conversions_of_dhat(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const enum allo_meaning meanings[] = { ALLO_MAX_BYTES, ALLO_PEAK_BYTES, ALLO_END_BYTES };
	struct allo_error err = { 0 };
	size_t metric;

	(void)state;
	make(&profile, meanings, 3);
	assert_true(allo_find_metric(&profile, "inuse_space", &metric, &err));
	assert_int_equal(metric, 2);
	profile.meta.max_is_inuse = true;
	assert_true(allo_find_metric(&profile, "inuse_space", &metric, &err));
	assert_int_equal(metric, 0);
}

static void selected_metrics_come_in_the_order_asked_for(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const enum allo_meaning meanings[] = { ALLO_ALLOC_BYTES, ALLO_PEAK_BYTES, ALLO_PEAK_BYTES,
					       ALLO_END_BYTES };
	const char *names[] = { "end", "peak", "end", "eb" };
	struct allo_error err = { 0 };

	(void)state;
	make(&profile, meanings, 4);
	profile.metrics.at[1].is_before = true;
	assert_true(allo_select_metrics(&profile, names, 4, &err));
	assert_true(allo_profile_validate(&profile, &err));
	assert_int_equal(profile.metrics.len, 3);
	assert_int_equal(profile.meta.default_metric, 1);
	for (uint64_t k = 0; k < 3; k++) {
		const uint64_t expected[] = { 100 * k + 3, 100 * k + 1, 100 * k + 2 };

		assert_memory_equal(allo_profile_row(&profile, k), expected, sizeof(expected));
	}
}

static void a_pair_is_selected_whole(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const enum allo_meaning meanings[] = { ALLO_PEAK_BYTES, ALLO_PEAK_BYTES, ALLO_END_BYTES };
	const char *names[] = { "peak" }, *unknown[] = { "peak", "nonsense" };
	struct allo_error err = { 0 };

	(void)state;
	make(&profile, meanings, 3);
	profile.metrics.at[0].is_before = true;
	assert_false(allo_select_metrics(&profile, unknown, 2, &err));
	assert_int_equal(profile.metrics.len, 3);
	err = (struct allo_error){ 0 };
	assert_true(allo_select_metrics(&profile, names, 1, &err));
	assert_int_equal(profile.metrics.len, 2);
	assert_true(profile.metrics.at[0].is_before);
	assert_int_equal(profile.meta.default_metric, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_are_wider_than_64_bits),
		cmocka_unit_test(blocks_go_with_bytes_and_before_with_after),
		cmocka_unit_test(without_a_wish_the_peak_comes_first),
		cmocka_unit_test(metrics_go_by_several_names),
		cmocka_unit_test(in_use_is_live_memory_except_in_conversions_of_dhat),
		cmocka_unit_test(selected_metrics_come_in_the_order_asked_for),
		cmocka_unit_test(a_pair_is_selected_whole),
	};

	return cmocka_run_group_tests_name("sum", tests, NULL, NULL);
}
