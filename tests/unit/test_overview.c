/* test_overview.c - analysis/overview.h and analysis/label_sums.h. */
#include "analysis/overview.h"

#include "base/defer.h"
#include "check.h"

/* A sample of one frame, of a thread, or of none for 0. */
static void add_sample(struct allo_profile *profile, const char *function, int64_t thread,
		       const char *name, uint64_t bytes, uint64_t blocks)
{
	struct allo_error err = { 0 };
	struct allo_label labels[2] = {
		{ .number = thread,
		  .is_number = true,
		  .key = allo_profile_add_string(profile, ALLO_TEXT("thread"), &err) },
		{ .key = allo_profile_add_string(profile, ALLO_TEXT("thread name"), &err),
		  .text = allo_profile_add_string(profile, allo_text_of(name), &err) },
	};
	allo_frame_id frame = allo_profile_add_named_frame(profile, allo_text_of(function), &err);
	allo_stack_id stack = allo_profile_add_stack(profile, 0, frame, &err);
	allo_labels_id set = thread ? allo_profile_add_labels(profile, labels, 2, &err) : 0;
	uint64_t *row = allo_profile_add_sample(profile, stack, set, NULL, &err);

	assert_non_null(row);
	row[0] += bytes;
	row[1] += blocks;
}

static void make_profile(struct allo_profile *profile, enum allo_meaning bytes,
			 enum allo_meaning blocks)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_add_metric(profile, bytes, NULL, &err));
	assert_true(allo_profile_add_metric(profile, blocks, NULL, &err));
	add_sample(profile, "small", 7, "a", 10, 1);
	add_sample(profile, "large", 8, "b", 500, 5);
	/* The same thread by another name. */
	add_sample(profile, "large", 7, "c", 30, 3);
	add_sample(profile, "nobody's", 0, "", 1, 1);
}

static void threads_are_summed_by_their_number(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_label_sums_done) struct allo_label_sums sums = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	make_profile(&profile, ALLO_PEAK_BYTES, ALLO_PEAK_BLOCKS);
	assert_true(allo_label_sums_of(&sums, &profile, "thread", &err));
	assert_int_equal(sums.rows.len, 2);
	assert_true(sums.rows.at[0].sums[0] == 40 && sums.rows.at[0].sums[1] == 4);
	allo_label_sums_sort(&sums, 0);
	assert_true(sums.rows.at[0].sums[0] == 500 && sums.rows.at[1].sums[0] == 40);
	assert_int_equal(allo_labels_find(&profile, sums.rows.at[0].labels, "thread")->number, 8);
	assert_null(allo_labels_find(&profile, sums.rows.at[0].labels, "request"));
	assert_null(allo_labels_find(&profile, 0, "thread"));
}

static void a_label_that_nobody_has_has_no_rows(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_label_sums_done) struct allo_label_sums sums = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	make_profile(&profile, ALLO_PEAK_BYTES, ALLO_PEAK_BLOCKS);
	assert_true(allo_label_sums_of(&sums, &profile, "request", &err));
	assert_int_equal(sums.rows.len, 0);
	allo_label_sums_sort(&sums, 0);
}

static void tables_are_those_of_the_metrics(void **state)
{
	static const struct {
		enum allo_meaning bytes, blocks;
		const char *name;
	} cases[] = {
		{ ALLO_PEAK_BYTES, ALLO_PEAK_BLOCKS, "peak" },
		{ ALLO_END_BYTES, ALLO_END_BLOCKS, "end" },
		{ ALLO_LIVE_BYTES, ALLO_LIVE_BLOCKS, "live" },
		{ ALLO_ALLOC_BYTES, ALLO_ALLOC_BLOCKS, "alloc" },
		{ ALLO_COPY_BYTES, ALLO_COPY_BLOCKS, "other" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_overview_done) struct allo_overview overview = { 0 };
		const struct allo_overview_table *table;
		struct allo_error err = { 0 };

		make_profile(&profile, cases[i].bytes, cases[i].blocks);
		assert_true(allo_overview_of(&overview, &profile, &err));
		assert_int_equal(overview.count, 1);
		table = allo_overview_find(&overview, cases[i].name);
		assert_non_null(table);
		assert_null(allo_overview_find(&overview, "temporary"));
		assert_true(table->top.sum.value == 541);
		assert_int_equal(table->top.rows.len, 3);
		assert_true(table->top.rows.at[0].self.value == 530);
		assert_int_equal(overview.threads.rows.len, 2);
	}
}

static void a_profile_without_metrics_has_no_table(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_overview_done) struct allo_overview overview = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_overview_of(&overview, &profile, &err));
	assert_int_equal(overview.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_are_summed_by_their_number),
		cmocka_unit_test(a_label_that_nobody_has_has_no_rows),
		cmocka_unit_test(tables_are_those_of_the_metrics),
		cmocka_unit_test(a_profile_without_metrics_has_no_table),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
