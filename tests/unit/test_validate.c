/* test_validate.c - allo_profile_validate() of profile/profile.h: each broken promise is found. */
#include "check.h"
#include "profiles.h"

#include "base/defer.h"

enum { FAR = 1000000 }; /* beyond every table */

/* A profile that has something of everything. */
static void make(struct allo_profile *profile)
{
	struct shape shape = {
		.names = 5, .frames = 8, .samples = 30, .depth = 6, .has_labels = true
	};
	struct allo_error err = { 0 };
	struct allo_thread thread = { .pid = 1, .tid = 2 };
	const int32_t runs[] = { 1, 2 };
	const struct allo_level history[] = { { 0, 7, 1 }, { 5, 0, 0 }, { 5, 3, 1 } };
	struct allo_when when = { 0 };
	uint64_t seed = 73;

	assert_true(allo_profile_add_metric(profile, ALLO_PEAK_BYTES, NULL, &err));
	assert_true(allo_profile_add_metric(profile, ALLO_END_BYTES, NULL, &err));
	draw_samples(profile, &seed, &shape);
	when.thread = allo_profile_add_thread(profile, &thread, &err);
	assert_non_null(allo_profile_add_timed_sample(profile, 1, 0, &when, &err));
	assert_true(allo_profile_set_accesses(profile, runs, 2, &err));
	assert_true(allo_profile_add_comment(profile, ALLO_TEXT("said"), &err));
	assert_true(allo_vec_append(&profile->history, history, 3));
	assert_true(profile->modules.len > 1 && profile->lines.len > 1 && profile->labels.len > 1);
	assert_true(allo_profile_sample_count(profile) > 1);
}

static void what_was_built_is_valid(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, empty = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	make(&profile);
	assert_true(allo_profile_validate(&profile, &err));
	assert_true(allo_profile_validate(&empty, &err));
}

/* Breaks a place, expects it to be found, and mends it. */
#define ASSERT_FOUND(place, broken)                                                                \
	do {                                                                                       \
		struct allo_error err_ = { 0 };                                                    \
		typeof(place) kept_ = (place);                                                     \
                                                                                                   \
		(place) = (broken);                                                                \
		assert_false(allo_profile_validate(&profile, &err_));                              \
		assert_int_equal(err_.code, ALLO_FORMAT);                                          \
		(place) = kept_;                                                                   \
	} while (0)

static void ids_beyond_their_table_are_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	make(&profile);
	ASSERT_FOUND(profile.modules.at[1].path, FAR);
	ASSERT_FOUND(profile.modules.at[1].build_id, FAR);
	ASSERT_FOUND(profile.functions.at[1].name, FAR);
	ASSERT_FOUND(profile.functions.at[1].file, FAR);
	ASSERT_FOUND(profile.functions.at[1].system_name, FAR);
	ASSERT_FOUND(profile.lines.at[0].function, FAR);
	ASSERT_FOUND(profile.lines.at[0].function, 0);
	ASSERT_FOUND(profile.frames.at[1].module, FAR);
	ASSERT_FOUND(profile.frames.at[1].first_line, FAR);
	ASSERT_FOUND(profile.frames.at[1].line_count, FAR);
	ASSERT_FOUND(profile.frames.at[1].line_count, UINT32_MAX);
	ASSERT_FOUND(profile.stacks.at[2].frame, FAR);
	ASSERT_FOUND(profile.stacks.at[2].frame, 0);
	ASSERT_FOUND(profile.labels.at[0].key, FAR);
	ASSERT_FOUND(profile.labels.at[0].text, FAR);
	ASSERT_FOUND(profile.labels.at[0].unit, FAR);
	ASSERT_FOUND(profile.label_sets.at[1].first, FAR);
	ASSERT_FOUND(profile.label_sets.at[1].count, UINT32_MAX);
	ASSERT_FOUND(profile.threads.at[1].name, FAR);
	ASSERT_FOUND(profile.comments.at[0], FAR);
	ASSERT_FOUND(profile.sample_stacks.at[0], FAR);
	ASSERT_FOUND(profile.sample_labels.at[0], FAR);
	ASSERT_FOUND(profile.sample_times.at[0].thread, FAR);
	ASSERT_FOUND(profile.sample_accesses.at[profile.sample_accesses.len - 1].first, FAR);
	ASSERT_FOUND(profile.sample_accesses.at[profile.sample_accesses.len - 1].count, UINT32_MAX);
}

static void a_stack_that_calls_itself_or_a_later_one_is_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	make(&profile);
	for (allo_stack_id i = 1; i < profile.stacks.len; i++) {
		ASSERT_FOUND(profile.stacks.at[i].parent, i);
		ASSERT_FOUND(profile.stacks.at[i].parent, i + 1);
	}
}

static void columns_of_another_length_are_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	make(&profile);
	ASSERT_FOUND(profile.values.len, profile.values.len - 1);
	ASSERT_FOUND(profile.sample_stacks.len, profile.sample_stacks.len - 1);
	ASSERT_FOUND(profile.sample_labels.len, profile.sample_labels.len - 1);
	ASSERT_FOUND(profile.sample_times.len, profile.sample_times.len - 1);
	ASSERT_FOUND(profile.sample_accesses.len, profile.sample_accesses.len + 1);
}

static void broken_metrics_are_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	make(&profile);
	ASSERT_FOUND(profile.metrics.at[0].name, FAR);
	ASSERT_FOUND(profile.metrics.at[0].unit, FAR);
	ASSERT_FOUND(profile.metrics.at[0].meaning, ALLO_MEANINGS);
	ASSERT_FOUND(profile.metrics.at[1].is_before, true); /* of nothing */
	profile.metrics.at[0].is_before = true;
	assert_true(allo_profile_validate(&profile, &err));
	ASSERT_FOUND(profile.metrics.at[1].is_before, true); /* of another before */
	ASSERT_FOUND(profile.meta.default_metric, 3);
}

static void broken_facts_are_found(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	make(&profile);
	ASSERT_FOUND(profile.meta.dialect, FAR);
	ASSERT_FOUND(profile.meta.command, FAR);
	ASSERT_FOUND(profile.meta.producer, FAR);
	ASSERT_FOUND(profile.meta.mode, FAR);
	ASSERT_FOUND(profile.meta.verb, FAR);
	ASSERT_FOUND(profile.meta.drop_frames, FAR);
	ASSERT_FOUND(profile.meta.keep_frames, FAR);
	ASSERT_FOUND(profile.meta.doc_url, FAR);
	ASSERT_FOUND(profile.meta.period_type, FAR);
	ASSERT_FOUND(profile.meta.period_unit, FAR);
	ASSERT_FOUND(profile.history.at[1].time, 6); /* the next one is at 5 */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_built_is_valid),
		cmocka_unit_test(ids_beyond_their_table_are_found),
		cmocka_unit_test(a_stack_that_calls_itself_or_a_later_one_is_found),
		cmocka_unit_test(columns_of_another_length_are_found),
		cmocka_unit_test(broken_metrics_are_found),
		cmocka_unit_test(broken_facts_are_found),
	};

	return cmocka_run_group_tests_name("validate", tests, NULL, NULL);
}
