/* test_merge.c - allo_profile_merge() of profile/profile.h. */
#include "check.h"
#include "profiles.h"

#include "base/defer.h"

static const struct shape shapes[] = {
	{ .names = 5, .frames = 8, .samples = 30, .depth = 6 },
	{ .names = 5, .frames = 8, .samples = 30, .depth = 6, .has_labels = true },
	{ .names = 50, .frames = 60, .samples = 200, .depth = 20 },
	{ .names = 2, .frames = 2, .samples = 3, .depth = 1 },
};

static void merge(struct allo_profile *into, const struct allo_profile *from)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_merge(into, from, &err));
	assert_true(allo_profile_validate(into, &err));
}

static void order_makes_no_difference(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 200; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile ab = { 0 }, ba = { 0 };
		uint64_t seed = round;

		draw_profile(&a, &seed, &shapes[round % 4]);
		draw_profile(&b, &seed, &shapes[round % 4]);
		merge(&ab, &a);
		merge(&ab, &b);
		merge(&ba, &b);
		merge(&ba, &a);
		assert_profiles_equal(&ab, &ba);
	}
}

static void merging_into_nothing_copies(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 50; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, copy = { 0 };
		struct shape shape = shapes[round % 4];
		uint64_t seed = round;

		shape.has_times = round % 3 == 0;
		draw_profile(&a, &seed, &shape);
		merge(&copy, &a);
		assert_profiles_equal(&a, &copy);
	}
}

static void merging_with_itself_doubles(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, twice = { 0 };
	uint64_t seed = 71;

	(void)state;
	draw_profile(&a, &seed, &shapes[2]);
	merge(&twice, &a);
	merge(&twice, &a);
	for (size_t i = 0; i < a.values.len; i++)
		a.values.at[i] *= 2;
	assert_profiles_equal(&a, &twice);
}

static void times_and_their_absence_go_together(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 20; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile timed = { 0 }, untimed = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile both = { 0 };
		struct shape shape = shapes[round % 4];
		uint64_t seed = round;

		draw_profile(&untimed, &seed, &shape);
		shape.has_times = true;
		draw_profile(&timed, &seed, &shape);
		merge(&both, round % 2 ? &timed : &untimed);
		merge(&both, round % 2 ? &untimed : &timed);
		assert_int_equal(allo_profile_sample_count(&both),
				 allo_profile_sample_count(&timed) +
					 allo_profile_sample_count(&untimed));
	}
}

/* Metrics. */

static void add_metric(struct allo_profile *profile, const char *name, const char *unit,
		       bool is_before)
{
	struct allo_error err = { 0 };
	struct allo_metric metric = {
		.name = allo_profile_add_string(profile, allo_text_of(name), &err),
		.unit = allo_profile_add_string(profile, allo_text_of(unit), &err),
		.is_before = is_before,
	};

	assert_true(allo_profile_add_metric_like(profile, &metric, &err));
}

/* One sample without a stack: the metrics count from `first`. */
static void add_sample(struct allo_profile *profile, uint64_t first)
{
	struct allo_error err = { 0 };
	uint64_t *row = allo_profile_add_sample(profile, 0, 0, NULL, &err);

	for (size_t m = 0; m < profile->metrics.len; m++)
		row[m] = first + m;
}

static void metrics_are_matched_by_meaning_or_by_name_and_unit(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 };
	struct allo_error err = { 0 };
	const uint64_t expected[] = { 1 + 13, 2, 3 + 12, 10, 11 };

	(void)state;
	assert_true(allo_profile_add_metric(&a, ALLO_PEAK_BYTES, NULL, &err));
	add_metric(&a, "cycles", "count", false);
	add_metric(&a, "misses", "count", false);
	add_sample(&a, 1);
	add_metric(&b, "cycles", "percent", false); /* another unit, another metric */
	assert_true(allo_profile_add_metric(&b, ALLO_END_BYTES, NULL, &err));
	add_metric(&b, "misses", "count", false);
	assert_true(allo_profile_add_metric(&b, ALLO_PEAK_BYTES, NULL, &err));
	add_sample(&b, 10);
	merge(&a, &b);
	assert_int_equal(a.metrics.len, 5);
	assert_memory_equal(a.values.at, expected, sizeof(expected));
}

/* A comparison and a plain profile: whatever comes first, pairs stay pairs. */
static void before_and_after_stay_together(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile plain = { 0 }, pair = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile both = { 0 };

		add_metric(&plain, "samples", "count", false);
		add_sample(&plain, 1);
		add_metric(&pair, "samples", "count", true);
		add_metric(&pair, "samples", "count", false);
		add_sample(&pair, 10);
		merge(&both, order ? &pair : &plain);
		merge(&both, order ? &plain : &pair);
		merge(&both, &pair);
		assert_int_equal(both.metrics.len, 3);
		for (size_t m = 0; m < 3; m++) {
			if (both.metrics.at[m].is_before) {
				assert_int_equal(both.values.at[m], 20);
				assert_int_equal(both.values.at[m + 1], 22);
			}
		}
	}
}

static void signed_and_unsigned_meet_without_wrapping(void **state)
{
	(void)state;
	for (int order = 0; order < 2; order++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile minus = { 0 }, large = { 0 };
		ALLO_DEFER(allo_profile_done) struct allo_profile both = { 0 };

		add_metric(&large, "x", "count", false);
		add_sample(&large, UINT64_MAX);
		add_metric(&minus, "x", "count", false);
		minus.metrics.at[0].is_signed = true;
		add_sample(&minus, (uint64_t)-5);
		merge(&both, order ? &large : &minus);
		merge(&both, order ? &minus : &large);
		assert_true(both.metrics.at[0].is_signed);
		assert_true(both.values.at[0] == (uint64_t)INT64_MAX - 5);
		assert_int_equal(both.notes.of[ALLO_NOTE_SATURATED].count, 1);
	}
}

static void access_counts_of_the_first_stay(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 };
	const int32_t runs[] = { 1, 2, 3 };
	struct allo_error err = { 0 };

	(void)state;
	add_sample(&a, 0);
	assert_true(allo_profile_set_accesses(&a, runs, 1, &err));
	add_sample(&b, 0);
	assert_true(allo_profile_set_accesses(&b, runs + 1, 2, &err));
	merge(&a, &b);
	assert_int_equal(a.access_runs.len, 1);
	assert_int_equal(a.access_runs.at[0], 1);
}

static void facts_of_the_first_stay_and_durations_add_up(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, b = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	add_metric(&a, "x", "count", false);
	add_metric(&b, "y", "count", false);
	add_metric(&b, "z", "count", false);
	b.meta.default_metric = 2;
	a.meta.command = allo_profile_add_string(&a, ALLO_TEXT("first"), &err);
	b.meta.command = allo_profile_add_string(&b, ALLO_TEXT("second"), &err);
	b.meta.producer = allo_profile_add_string(&b, ALLO_TEXT("tool"), &err);
	a.meta.clock = b.meta.clock = ALLO_CLOCK_NS;
	a.meta.duration = UINT64_MAX - 1;
	b.meta.duration = 5;
	a.meta.start_ns = 70;
	b.meta.start_ns = 50;
	assert_true(allo_profile_add_comment(&b, ALLO_TEXT("said"), &err));
	allo_note(&b.notes, ALLO_NOTE_FRACTION, ALLO_NOWHERE);
	merge(&a, &b);
	assert_text_equal(allo_profile_text(&a, a.meta.command), "first");
	assert_text_equal(allo_profile_text(&a, a.meta.producer), "tool");
	assert_true(a.meta.duration == UINT64_MAX);
	assert_int_equal(a.meta.start_ns, 50);
	assert_int_equal(a.meta.default_metric, 3);
	assert_text_equal(allo_profile_text(&a, a.comments.at[0]), "said");
	assert_int_equal(a.notes.of[ALLO_NOTE_FRACTION].count, 1);
}

static void labels_say_where_samples_are_from(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 50; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, both = { 0 };
		struct allo_error err = { 0 };
		uint64_t seed = round;
		size_t of_a = 0;

		draw_profile(&a, &seed, &shapes[round % 4]);
		assert_true(allo_profile_merge_labelled(&both, &a, ALLO_TEXT("file"),
							ALLO_TEXT("a"), &err));
		assert_true(allo_profile_merge_labelled(&both, &a, ALLO_TEXT("file"),
							ALLO_TEXT("b"), &err));
		assert_true(allo_profile_validate(&both, &err));
		/* Nothing of the one is added to the other. */
		assert_int_equal(allo_profile_sample_count(&both),
				 2 * allo_profile_sample_count(&a));
		for (size_t i = 0; i < allo_profile_sample_count(&both); i++) {
			struct allo_label_set set =
				both.label_sets.at[allo_profile_labels_of(&both, i)];
			struct allo_label last = both.labels.at[set.first + set.count - 1];

			assert_text_equal(allo_profile_text(&both, last.key), "file");
			of_a += allo_text_equal(allo_profile_text(&both, last.text),
						ALLO_TEXT("a"));
		}
		assert_int_equal(of_a, allo_profile_sample_count(&a));
	}
}

static void a_history_is_that_of_a_single_profile(void **state)
{
	const struct allo_level history[] = { { 0, 7, 1 }, { 5, 0, 0 } };
	ALLO_DEFER(allo_profile_done) struct allo_profile a = { 0 }, merged = { 0 };
	uint64_t seed = 79;

	(void)state;
	draw_profile(&a, &seed, &shapes[0]);
	assert_true(allo_vec_append(&a.history, history, 2));
	merge(&merged, &a);
	assert_int_equal(merged.history.len, 2);
	assert_memory_equal(merged.history.at, history, sizeof(history));
	merge(&merged, &a);
	assert_int_equal(merged.history.len, 0);
	merge(&merged, &a);
	assert_int_equal(merged.history.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order_makes_no_difference),
		cmocka_unit_test(merging_into_nothing_copies),
		cmocka_unit_test(merging_with_itself_doubles),
		cmocka_unit_test(times_and_their_absence_go_together),
		cmocka_unit_test(metrics_are_matched_by_meaning_or_by_name_and_unit),
		cmocka_unit_test(before_and_after_stay_together),
		cmocka_unit_test(signed_and_unsigned_meet_without_wrapping),
		cmocka_unit_test(access_counts_of_the_first_stay),
		cmocka_unit_test(facts_of_the_first_stay_and_durations_add_up),
		cmocka_unit_test(labels_say_where_samples_are_from),
		cmocka_unit_test(a_history_is_that_of_a_single_profile),
	};

	return cmocka_run_group_tests_name("merge", tests, NULL, NULL);
}
