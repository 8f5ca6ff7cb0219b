/* test_samples.c - the metrics and samples of profile/profile.h. */
#include "check.h"
#include "profiles.h"

#include "base/defer.h"

static void samples_with_equal_stacks_and_labels_are_one(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	bool is_new;

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_non_null(allo_profile_add_sample(&profile, 3, 0, &is_new, &err));
	assert_true(is_new);
	assert_non_null(allo_profile_add_sample(&profile, 0, 0, &is_new, &err));
	assert_true(is_new);
	*allo_profile_add_sample(&profile, 3, 0, &is_new, &err) = 42;
	assert_false(is_new);
	assert_non_null(allo_profile_add_sample(&profile, 3, 1, &is_new, &err));
	assert_true(is_new);
	assert_non_null(allo_profile_add_sample(&profile, 3, 2, &is_new, &err));
	assert_true(is_new);
	*allo_profile_add_sample(&profile, 3, 1, &is_new, &err) = 43;
	assert_false(is_new);
	assert_int_equal(*allo_profile_add_sample(&profile, 3, 0, &is_new, &err), 42);
	assert_false(is_new);
	assert_int_equal(allo_profile_sample_count(&profile), 4);
	assert_int_equal(allo_profile_row(&profile, 0)[0], 42);
	assert_int_equal(allo_profile_row(&profile, 2)[0], 43);
	assert_int_equal(allo_profile_labels_of(&profile, 0), 0);
	assert_int_equal(allo_profile_labels_of(&profile, 3), 2);
}

static void a_metric_that_comes_later_widens_every_row(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 100; i++) /* rows of nothing */
		assert_non_null(allo_profile_add_sample(&profile, i, 0, NULL, &err));
	for (uint64_t m = 0; m < 5; m++) {
		assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
		for (uint32_t i = 0; i < 100; i++) {
			uint64_t *row = allo_profile_add_sample(&profile, i, 0, NULL, &err);

			assert_int_equal(row[m], 0);
			row[m] = i * 10 + m;
		}
	}
	for (uint32_t i = 0; i < 100; i++) {
		for (uint64_t m = 0; m < 5; m++)
			assert_int_equal(allo_profile_row(&profile, i)[m], i * 10 + m);
	}
	assert_int_equal(profile.values.len, 500);
}

static void variances_stay_with_their_values(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, more = { 0 };
	struct allo_error err = { 0 };
	bool kept[] = { false, true, true };

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BLOCKS, NULL, &err));
	for (uint32_t i = 0; i < 3; i++) {
		allo_frame_id frame = allo_profile_add_named_frame(&profile, ALLO_TEXT("f"), &err);
		uint64_t *row = allo_profile_add_sample(&profile, i, 0, NULL, &err);

		assert_int_equal(allo_profile_add_stack(&profile, i, frame, &err), i + 1);
		assert_true(i == 2 || allo_profile_add_variance(&profile, row, 10.5 + i, &err));
	}
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_true(allo_profile_add_variance(
		&profile, &allo_profile_add_sample(&profile, 1, 0, NULL, &err)[1], 7, &err));
	allo_profile_keep_samples(&profile, kept);
	assert_true(allo_profile_variance(&profile, 0, 0) == 11.5);
	assert_true(allo_profile_variance(&profile, 0, 1) == 7);
	assert_true(allo_profile_variance(&profile, 1, 0) == 0);
	/* Independent estimates: variances of a sum add up. */
	assert_true(allo_profile_merge(&more, &profile, &err));
	assert_true(allo_profile_merge(&more, &profile, &err));
	assert_true(allo_profile_variance(&more, 0, 0) == 23);
	assert_true(allo_profile_variance(&more, 0, 1) == 14);
	assert_true(allo_profile_validate(&more, &err));
	allo_profile_clear_samples(&profile);
	assert_non_null(allo_profile_add_sample(&profile, 0, 0, NULL, &err));
	assert_true(allo_profile_variance(&profile, 0, 0) == 0);
}

static void timed_samples_are_never_added_up(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_when when = { .start_ns = 5, .duration_ns = 1 };
	struct allo_error err = { 0 };
	bool is_new;

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_non_null(allo_profile_add_sample(&profile, 0, 0, &is_new, &err));
	assert_non_null(allo_profile_add_timed_sample(&profile, 0, 0, &when, &err));
	assert_non_null(allo_profile_add_timed_sample(&profile, 0, 0, &when, &err));
	assert_non_null(allo_profile_add_sample(&profile, 0, 7, &is_new, &err));
	assert_true(is_new);
	assert_non_null(allo_profile_add_sample(&profile, 0, 0, &is_new, &err));
	assert_false(is_new);
	/* The column is whole, whoever came first. */
	assert_int_equal(profile.sample_times.len, 4);
	assert_int_equal(profile.sample_times.at[0].start_ns, 0);
	assert_int_equal(profile.sample_times.at[2].start_ns, 5);
	assert_int_equal(profile.sample_times.at[3].start_ns, 0);
}

static void access_counts_stay_with_their_sample(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const int32_t runs[] = { -8, 12000, 3 };
	struct allo_error err = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 10; i++) {
		assert_non_null(allo_profile_add_sample(&profile, i, 0, NULL, &err));
		if (i == 3 || i == 7)
			assert_true(allo_profile_set_accesses(&profile, runs + i / 7, 2, &err));
	}
	for (uint32_t i = 0; i < 10; i++) {
		struct allo_accesses accesses = allo_profile_accesses_of(&profile, i);

		assert_int_equal(accesses.count, i == 3 || i == 7 ? 2 : 0);
		if (accesses.count)
			assert_memory_equal(profile.access_runs.at + accesses.first, runs + i / 7,
					    2 * sizeof(*runs));
	}
}

static void sums_stay_at_the_ends_of_what_fits(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	const struct {
		bool is_signed;
		uint64_t a, b, sum;
		bool is_noted;
	} table[] = {
		{ false, 1, 2, 3, false },
		{ false, UINT64_MAX - 1, 1, UINT64_MAX, false },
		{ false, UINT64_MAX, 1, UINT64_MAX, true },
		{ false, (uint64_t)1 << 63, (uint64_t)1 << 63, UINT64_MAX, true },
		{ true, (uint64_t)-5, 3, (uint64_t)-2, false },
		{ true, INT64_MAX, 1, INT64_MAX, true },
		{ true, (uint64_t)INT64_MIN, (uint64_t)-1, (uint64_t)INT64_MIN, true },
		{ true, (uint64_t)INT64_MIN, INT64_MAX, (uint64_t)-1, false },
	};

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		uint64_t noted = profile.notes.of[ALLO_NOTE_SATURATED].count, value = table[i].a;

		profile.metrics.at[0].is_signed = table[i].is_signed;
		allo_profile_add_value(&profile, 0, &value, table[i].b);
		assert_true(value == table[i].sum);
		assert_int_equal(profile.notes.of[ALLO_NOTE_SATURATED].count - noted,
				 table[i].is_noted);
	}
}

static void becoming_signed_cuts_what_does_not_fit(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const struct allo_metric unsigned_metric = { 0 }, signed_metric = { .is_signed = true };
	struct allo_error err = { 0 };
	uint64_t *row;

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BLOCKS, NULL, &err));
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	for (uint32_t i = 0; i < 3; i++) {
		row = allo_profile_add_sample(&profile, i, 0, NULL, &err);
		row[0] = UINT64_MAX;
		row[1] = i == 1 ? UINT64_MAX : 5;
	}
	allo_profile_make_signed(&profile, 1);
	assert_true(profile.metrics.at[1].is_signed && !profile.metrics.at[0].is_signed);
	assert_int_equal(allo_profile_row(&profile, 0)[1], 5);
	assert_true(allo_profile_row(&profile, 1)[1] == INT64_MAX);
	assert_true(allo_profile_row(&profile, 1)[0] == UINT64_MAX);
	assert_int_equal(profile.notes.of[ALLO_NOTE_SATURATED].count, 1);
	assert_true(allo_profile_fit_value(&profile, 1, &unsigned_metric, UINT64_MAX) == INT64_MAX);
	assert_true(allo_profile_fit_value(&profile, 1, &signed_metric, UINT64_MAX) == UINT64_MAX);
	assert_true(allo_profile_fit_value(&profile, 0, &unsigned_metric, UINT64_MAX) ==
		    UINT64_MAX);
}

static void metrics_are_found_by_meaning(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_metric before = { .meaning = ALLO_END_BYTES, .is_before = true };
	struct allo_error err = { 0 };
	size_t index = 9;

	(void)state;
	assert_true(allo_profile_add_metric_like(&profile, &before, &err));
	assert_true(allo_profile_add_metric(&profile, ALLO_END_BYTES, NULL, &err));
	assert_true(allo_profile_add_metric(&profile, ALLO_LIFETIME, "instructions", &err));
	assert_true(allo_profile_find_metric(&profile, ALLO_END_BYTES, &index));
	assert_int_equal(index, 1);
	assert_false(allo_profile_find_metric(&profile, ALLO_PEAK_BYTES, &index));
	assert_text_equal(allo_profile_text(&profile, profile.metrics.at[2].unit), "instructions");
}

/* Portion by portion, each the same as the one before. */
static void after_clearing_a_profile_starts_anew(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile once = { 0 };
	struct shape shape = {
		.names = 5, .frames = 8, .samples = 30, .depth = 6, .has_labels = true
	};
	uint64_t seed = 53;

	(void)state;
	draw_profile(&once, &seed, &shape);
	seed = 53;
	draw_profile(&profile, &seed, &shape);
	for (int round = 0; round < 3; round++) {
		struct allo_error err = { 0 };

		seed = 53;
		allo_profile_clear_samples(&profile);
		draw_samples(&profile, &seed, &shape);
		assert_true(allo_profile_validate(&profile, &err));
		assert_profiles_equal(&profile, &once);
	}
}

static void samples_can_move_out(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile moved = { 0 };
	struct allo_error err = { 0 };
	size_t count;
	uint64_t seed = 59;

	(void)state;
	draw_profile(&profile, &seed, &small_shape);
	count = allo_profile_sample_count(&profile);
	allo_profile_move_samples(&profile, &moved);
	assert_int_equal(allo_profile_sample_count(&profile), 0);
	assert_int_equal(profile.stacks.len, 0);
	assert_int_equal(allo_profile_sample_count(&moved), count);
	assert_true(allo_profile_validate(&profile, &err));
	draw_samples(&profile, &seed, &small_shape);
	assert_true(allo_profile_validate(&profile, &err));
}

static void dropping_samples_drops_the_history(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_level moment = { 0, 7, 1 };
	struct allo_error err = { 0 };
	allo_frame_id frame = allo_profile_add_named_frame(&profile, ALLO_TEXT("f"), &err);

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_PEAK_BYTES, NULL, &err));
	assert_non_null(allo_profile_add_sample(
		&profile, allo_profile_add_stack(&profile, 0, frame, &err), 0, NULL, &err));
	assert_true(allo_vec_append(&profile.history, &moment, 1));
	allo_profile_keep_samples(&profile, (bool[]){ true });
	assert_int_equal(profile.history.len, 1);
	allo_profile_keep_samples(&profile, (bool[]){ false });
	assert_int_equal(profile.history.len, 0);
}

static void after_a_failure_nothing_is_added(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	const struct allo_when when = { 0 };

	(void)state;
	allo_fail_memory(&err);
	assert_null(allo_profile_add_sample(&profile, 0, 0, NULL, &err));
	assert_null(allo_profile_add_timed_sample(&profile, 0, 0, &when, &err));
	assert_int_equal(allo_profile_sample_count(&profile), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_with_equal_stacks_and_labels_are_one),
		cmocka_unit_test(a_metric_that_comes_later_widens_every_row),
		cmocka_unit_test(variances_stay_with_their_values),
		cmocka_unit_test(timed_samples_are_never_added_up),
		cmocka_unit_test(access_counts_stay_with_their_sample),
		cmocka_unit_test(sums_stay_at_the_ends_of_what_fits),
		cmocka_unit_test(becoming_signed_cuts_what_does_not_fit),
		cmocka_unit_test(metrics_are_found_by_meaning),
		cmocka_unit_test(after_clearing_a_profile_starts_anew),
		cmocka_unit_test(samples_can_move_out),
		cmocka_unit_test(dropping_samples_drops_the_history),
		cmocka_unit_test(after_a_failure_nothing_is_added),
	};

	return cmocka_run_group_tests_name("samples", tests, NULL, NULL);
}
