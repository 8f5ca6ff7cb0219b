/* test_library_change.c - liballotrope: changing, comparing and summing up profiles. */
#include "check_library.h"

static bool is_odd(void *context, const struct allotrope_profile *profile, size_t index)
{
	++*(size_t *)context;
	return value_of(profile, index, 0) % 2 == 1;
}

static void samples_are_dropped_one_by_one(void **state)
{
	static const struct allotrope_label label = { .key = "k", .text = "a" };
	struct allotrope_profile *profile = profile_of("a 1\nb 2\nc 3\nd 4\n");
	allotrope_labels_id labels = 0;
	allotrope_stack_id c = stack_of(profile, "c");
	size_t asked = 0;

	(void)state;
	assert_works((labels = allotrope_add_labels(profile, &label, 1, &err)));
	assert_works(add_value(profile, stack_of(profile, "d"), labels, 6, &err));
	assert_works(add_value(profile, c, labels, 7, &err));
	assert_works(allotrope_keep_samples(profile, is_odd, &asked, &err));
	assert_int_equal(asked, 6);
	assert_int_equal(allotrope_sample_count(profile), 3);
	assert_calls(profile, 1, "c");
	/* The remaining samples are still found, with and without labels; others start at zero. */
	assert_works(add_value(profile, c, 0, 10, &err));
	assert_works(add_value(profile, c, labels, 10, &err));
	assert_works(add_value(profile, stack_of(profile, "b"), 0, 20, &err));
	assert_int_equal(allotrope_sample_count(profile), 4);
	assert_int_equal(value_of(profile, 1, 0), 13);
	assert_int_equal(value_of(profile, 2, 0), 17);
	assert_int_equal(value_of(profile, 3, 0), 20);
	free_valid(profile);
}

static void values_can_be_set(void **state)
{
	struct allotrope_profile *profile = profile_of("a 1\nb 2\n");
	const uint64_t value = 40;

	(void)state;
	assert_works(allotrope_set_values(profile, 1, &value, 1, &err));
	assert_int_equal(allotrope_sum(profile, 0), 41);
	assert_misuse(allotrope_set_values(profile, 2, &value, 1, &err));
	assert_misuse(allotrope_set_values(profile, 1, &value, 0, &err));
	free_valid(profile);
}

static void a_cleared_profile_can_be_filled_again(void **state)
{
	struct allotrope_profile *profile = profile_of("main;a 1\nmain;b 2\n");
	static const struct allotrope_call calls[] = { { .function = "b" },
						       { .function = "main" } };
	allotrope_stack_id stack = 0;

	(void)state;
	assert_works((stack = allotrope_add_stack_of_calls(profile, calls, 2, &err)));
	allotrope_clear_samples(profile);
	assert_int_equal(allotrope_sample_count(profile), 0);
	assert_int_equal(allotrope_stack_count(profile), 0);
	assert_misuse(add_value(profile, stack, 0, 5, &err)); /* ids are new from here on */
	assert_works((stack = allotrope_add_stack_of_calls(profile, calls, 2, &err)));
	assert_works(add_value(profile, stack, 0, 5, &err));
	assert_calls(profile, 0, "b main");
	free_valid(profile);
}

static struct allotrope_profile *filtered(const struct allotrope_filter *filter)
{
	struct allotrope_profile *profile = profile_of("main;parse;malloc 1\n"
						       "main;draw;new_Row;malloc 10\n"
						       "main;draw 100\n");

	assert_works(allotrope_apply_filter(profile, filter, &err));
	return profile;
}

static void filters_take_samples_and_frames_out(void **state)
{
	static const char *const draw[] = { "draw", NULL }, *const row[] = { "=new_Row", NULL },
				 *const two[] = { "draw", "/^mal/", NULL };
	struct allotrope_profile *profile;

	(void)state;
	profile = filtered(&(struct allotrope_filter){ .focus = draw });
	assert_int_equal(allotrope_sum(profile, 0), 110);
	free_valid(profile);
	profile = filtered(&(struct allotrope_filter){ .focus = two });
	assert_int_equal(allotrope_sum(profile, 0), 10);
	free_valid(profile);
	profile = filtered(&(struct allotrope_filter){ .ignore = draw });
	assert_int_equal(allotrope_sum(profile, 0), 1);
	free_valid(profile);
	profile = filtered(&(struct allotrope_filter){ .hide = row });
	assert_calls(profile, 1, "malloc draw main");
	free_valid(profile);
	profile = filtered(&(struct allotrope_filter){ .show = two });
	assert_calls(profile, 1, "malloc draw");
	free_valid(profile);
	profile = filtered(&(struct allotrope_filter){ .trim_allocator = true });
	assert_calls(profile, 0, "parse main");
	free_valid(profile);
	profile = filtered(&(struct allotrope_filter){ .stack_depth = 2 });
	assert_calls(profile, 0, "malloc parse");
	free_valid(profile);
	profile = profile_of("_start;main;parse 1\n");
	assert_works(allotrope_apply_filter(
		profile, &(struct allotrope_filter){ .trim_startup = true }, &err));
	assert_calls(profile, 0, "parse main");
	free_valid(profile);
}

static void a_filtered_profile_can_grow(void **state)
{
	static const char *const draw[] = { "draw", NULL };
	static const struct allotrope_call calls[] = { { .function = "parse" },
						       { .function = "main" } };
	struct allotrope_profile *profile = profile_of("main;parse 1\nmain;draw 2\n");
	allotrope_stack_id stack = 0;

	(void)state;
	assert_works(allotrope_add_stack_of_calls(profile, calls, 2, &err));
	assert_works(
		allotrope_apply_filter(profile, &(struct allotrope_filter){ .focus = draw }, &err));
	assert_works((stack = allotrope_add_stack_of_calls(profile, calls, 2, &err)));
	assert_works(add_value(profile, stack, 0, 4, &err));
	assert_calls(profile, 0, "draw main");
	assert_calls(profile, 1, "parse main");
	free_valid(profile);
}

static void a_bad_pattern_changes_nothing(void **state)
{
	static const char *const bad[] = { "/(/", NULL }, *const empty[] = { "", NULL };
	struct allotrope_profile *profile = profile_of("a 1\nb 2\n");

	(void)state;
	assert_misuse(
		allotrope_apply_filter(profile, &(struct allotrope_filter){ .hide = bad }, &err));
	assert_misuse(
		allotrope_apply_filter(profile, &(struct allotrope_filter){ .show = empty }, &err));
	assert_int_equal(allotrope_sum(profile, 0), 3);
	free_valid(profile);
}

static void metrics_are_selected_in_order(void **state)
{
	static const char *const names[] = { "alloc_bytes", "samples" }, *const none[] = { "x" };
	struct allotrope_profile *profile = profile_of("a 1\n");
	struct allotrope_metric metric;
	const uint64_t values[] = { 1, 2, 3 };

	(void)state;
	assert_works(allotrope_add_metric(profile, "alloc_blocks", NULL, &err) == 1);
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 2);
	assert_works(allotrope_set_values(profile, 0, values, 3, &err));
	assert_misuse(allotrope_select_metrics(profile, none, 1, &err));
	assert_works(allotrope_select_metrics(profile, names, 2, &err));
	assert_int_equal(allotrope_metric_count(profile), 2);
	assert_true(allotrope_get_metric(profile, 0, &metric));
	assert_string_equal(metric.name, "alloc_bytes");
	assert_int_equal(value_of(profile, 0, 0), 3);
	assert_int_equal(value_of(profile, 0, 1), 1);
	free_valid(profile);
}

static void merging_adds_up(void **state)
{
	struct allotrope_profile *profile = profile_of("main;a 1\nmain;b 2\n");
	struct allotrope_profile *other = profile_of("main;b 10\nmain;c 20\n");

	(void)state;
	assert_works(allotrope_merge(profile, other, &err));
	free_valid(other); /* nothing of it is needed any more */
	assert_int_equal(allotrope_sample_count(profile), 3);
	assert_int_equal(value_of(profile, 1, 0), 12);
	assert_calls(profile, 2, "c main");
	free_valid(profile);
}

static void a_comparison_has_before_and_after(void **state)
{
	struct allotrope_profile *base = profile_of("main;a 1\nmain;b 2\n");
	struct allotrope_profile *changed = profile_of("main;b 10\nmain;c 20\n"), *diff = NULL;
	struct allotrope_metric metric;

	(void)state;
	assert_works((diff = allotrope_diff(base, changed, ALLOTROPE_MATCH_FUNCTION, &err)));
	assert_int_equal(allotrope_metric_count(diff), 2);
	assert_true(allotrope_get_metric(diff, 0, &metric));
	assert_true(metric.is_before);
	assert_int_equal(allotrope_sum(diff, 0), 3);
	assert_int_equal(allotrope_sum(diff, 1), 30);
	assert_calls(diff, 0, "b main");
	assert_int_equal(value_of(diff, 0, 0), 2);
	assert_int_equal(value_of(diff, 0, 1), 10);
	free_valid(diff);
	free_valid(changed);
	free_valid(base);
}

static void comparisons_are_merged_with_comparisons(void **state)
{
	struct allotrope_profile *plain = profile_of("main;b 10\nmain;c 20\n"),
				 *empty = new_profile();
	struct allotrope_profile *diff = profile_of("main;b 1 2\nmain;c 3 4\n");

	(void)state;
	/* A plain profile has no room for the values before. */
	assert_misuse(allotrope_merge(plain, diff, &err));
	assert_misuse(allotrope_merge(diff, plain, &err));
	assert_works(allotrope_merge(empty, diff, &err));
	assert_works(allotrope_merge(empty, diff, &err));
	assert_int_equal(allotrope_metric_count(empty), 2);
	assert_int_equal(allotrope_sum(empty, 0), 8);
	assert_int_equal(allotrope_sum(empty, 1), 12);
	free_valid(diff);
	free_valid(empty);
	free_valid(plain);
}

static void profiles_without_a_common_metric_cannot_be_compared(void **state)
{
	struct allotrope_profile *base = profile_of("main;a 1\n"), *other = new_profile();

	(void)state;
	assert_works(allotrope_add_metric(other, "alloc_bytes", NULL, &err) == 0);
	assert_misuse(allotrope_diff(base, other, ALLOTROPE_MATCH_LINE, &err));
	free_valid(other);
	free_valid(base);
}

/* The largest sample. */

static struct allotrope_profile *two_modules(void)
{
	static const struct allotrope_call named[] = {
		{ .function = "malloc" },
		{ .function = "grow", .file = "g.c", .line = 31, .address = 0x1100 },
		{ .function = "grow", .file = "g.c", .line = 40, .address = 0x1200 },
		{ .function = "main", .file = "m.c", .line = 7, .address = 0x1300 },
	};
	static const uint64_t unnamed[] = { 0x5100, 0x5200 };
	static const uint64_t first[] = { 3, 1009 }, second[] = { 2, 500 };
	struct allotrope_module a = { .path = "/bin/a", .start = 0x1000, .limit = 0x2000 };
	struct allotrope_module b = { .path = "/lib/b.so", .start = 0x5000, .limit = 0x6000 };
	struct allotrope_sample sample = { .values = first, .value_count = 2 };
	struct allotrope_profile *profile = new_profile();

	assert_works(allotrope_add_metric(profile, "alloc_blocks", NULL, &err) == 0);
	assert_works(allotrope_add_metric(profile, "alloc_bytes", NULL, &err) == 1);
	assert_works(allotrope_add_module(profile, &a, &err));
	assert_works(allotrope_add_module(profile, &b, &err));
	assert_works((sample.stack = allotrope_add_stack_of_calls(profile, named, 4, &err)));
	assert_works(allotrope_add_sample(profile, &sample, &err));
	sample.values = second;
	assert_works((sample.stack = allotrope_add_stack_of_addresses(profile, unnamed, 2, &err)));
	assert_works(allotrope_add_sample(profile, &sample, &err));
	return profile;
}

static void rows_are_functions_sites_files_or_modules(void **state)
{
	static const struct {
		enum allotrope_by by;
		size_t count;
		const char *name;
		uint64_t line, address;
		int64_t self, blocks;
	} cases[] = {
		{ ALLOTROPE_BY_FUNCTION, 3, "grow", 0, 0, 1009, 3 },
		{ ALLOTROPE_BY_SITE, 5, "grow", 31, 0, 1009, 3 },
		{ ALLOTROPE_BY_FILE, 3, "g.c", 0, 0, 1009, 3 },
		{ ALLOTROPE_BY_MODULE, 2, "/bin/a", 0, 0, 1009, 3 },
		{ ALLOTROPE_BY_ADDRESS, 5, "grow", 0, 0x1100, 1009, 3 },
	};
	struct allotrope_profile *profile = two_modules();

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct allotrope_top_options options = { .by = cases[i].by };
		struct allotrope_row *rows = NULL;
		size_t count;

		assert_works((rows = allotrope_top(profile, &options, &count, &err)));
		assert_int_equal(count, cases[i].count);
		assert_string_equal(rows[0].name, cases[i].name);
		assert_int_equal(rows[0].line, cases[i].line);
		assert_int_equal(rows[0].address, cases[i].address);
		assert_int_equal(rows[0].self, cases[i].self);
		assert_int_equal(rows[0].total, cases[i].self); /* recursion counts once */
		assert_int_equal(rows[0].self_blocks, cases[i].blocks);
		assert_int_equal(rows[1].self, 500);
		allotrope_free(rows);
	}
	free_valid(profile);
}

static void rows_can_be_chosen(void **state)
{
	struct allotrope_top_options options = { .metric = "alloc_blocks",
						 .keep_allocator = true,
						 .most = 1 };
	struct allotrope_profile *profile = two_modules(), *empty = new_profile();
	struct allotrope_row *rows = NULL;
	size_t count;

	(void)state;
	assert_works((rows = allotrope_top(profile, &options, &count, &err)));
	assert_int_equal(count, 1);
	assert_string_equal(rows[0].name, "malloc");
	assert_int_equal(rows[0].self, 3);
	allotrope_free(rows);
	options = (struct allotrope_top_options){ .by = ALLOTROPE_BY_SITE,
						  .order = ALLOTROPE_ORDER_TOTAL };
	assert_works((rows = allotrope_top(profile, &options, &count, &err)));
	assert_string_equal(rows[3].name, "0x5100 [b.so]"); /* made up where there is no name */
	assert_int_equal(rows[3].address, 0x5100);
	assert_int_equal(rows[3].total, 500);
	allotrope_free(rows);
	assert_misuse(allotrope_top(empty, NULL, &count, &err)); /* no numbers, no rows */
	assert_works(allotrope_add_metric(empty, "alloc_bytes", NULL, &err) == 0);
	assert_works((rows = allotrope_top(empty, NULL, &count, &err)));
	assert_int_equal(count, 0);
	allotrope_free(rows);
	free_valid(empty);
	free_valid(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(samples_are_dropped_one_by_one),
		cmocka_unit_test(values_can_be_set),
		cmocka_unit_test(a_cleared_profile_can_be_filled_again),
		cmocka_unit_test(filters_take_samples_and_frames_out),
		cmocka_unit_test(a_filtered_profile_can_grow),
		cmocka_unit_test(a_bad_pattern_changes_nothing),
		cmocka_unit_test(metrics_are_selected_in_order),
		cmocka_unit_test(merging_adds_up),
		cmocka_unit_test(a_comparison_has_before_and_after),
		cmocka_unit_test(comparisons_are_merged_with_comparisons),
		cmocka_unit_test(profiles_without_a_common_metric_cannot_be_compared),
		cmocka_unit_test(rows_are_functions_sites_files_or_modules),
		cmocka_unit_test(rows_can_be_chosen),
	};

	return cmocka_run_group_tests_name("library_change", tests, NULL, NULL);
}
