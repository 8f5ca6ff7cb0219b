/* test_budget.c - analysis/budget.h. */
#include "check.h"
#include "folded_profile.h"

#include "analysis/budget.h"
#include "base/defer.h"

#include <math.h>

static bool add(struct allo_limits *limits, const char *text, struct allo_error *err)
{
	return allo_limits_add(limits, allo_text_of(text), ALLO_NOWHERE, err);
}

static void limits_are_taken_apart(void **state)
{
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	const struct allo_budget_limit *list;
	struct allo_error err = { 0 };

	(void)state;
	assert_true(add(&limits, "peak <= 50MiB", &err));
	assert_true(add(&limits, "alloc_blocks in fn:operator<=(int) <= 1000", &err));
	assert_true(add(&limits, "  end   growth<=5.5 %", &err));
	assert_true(add(&limits, "total in /a b/ growth <= 1K", &err));
	list = limits.list.at;
	assert_string_equal(list[0].metric, "peak");
	assert_null(list[0].pattern);
	assert_int_equal(list[0].value, 50 << 20);
	assert_string_equal(list[1].pattern, "fn:operator<=(int)");
	assert_int_equal(list[1].value, 1000);
	assert_string_equal(list[2].metric, "end");
	assert_true(list[2].is_growth && list[2].is_percent && list[2].percent == 5.5);
	assert_string_equal(list[3].name, "total in /a b/ growth");
	assert_string_equal(list[3].pattern, "/a b/");
	assert_true(list[3].is_growth && !list[3].is_percent && list[3].value == 1024);
	assert_true(allo_limits_need_baseline(&limits));
	assert_true(add(&limits, "leaks <= 3 MiB", &err));
	assert_int_equal(limits.list.at[4].value, 3 << 20);
}

static void what_is_no_limit_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"peak",
		"peak <=",
		"<= 5",
		"peak <= x",
		"peak <= 5%",
		"peak <= -1",
		"peak in  <= 5",
		"a b <= 5",
		"peak >= 5",
		"peak < 5",
		"peak <= 5MiB1",
		"peak <= 5 6",
		"peak <= 5 MiB 6",
		"peak growth <= -%",
		"peak <= 1e99",
		"peak growth <= inf%",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
		struct allo_error err = { 0 };

		assert_false(add(&limits, bad[i], &err));
		assert_int_equal(err.code, ALLO_USAGE);
		assert_int_equal(limits.list.len, 0);
	}
}

static void a_bad_line_of_a_file_is_named(void **state)
{
	static const char text[] = "# limits\npeak <= 5\n\n  peak <= six\n";
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_input_open_memory(&in, "b.txt", text, sizeof(text) - 1, &err));
	assert_false(allo_limits_read(&limits, &in, &err));
	assert_int_equal(err.code, ALLO_FORMAT);
	assert_int_equal(err.pos.line, 4);
	assert_int_equal(err.pos.byte, 11);
	assert_int_equal(limits.list.len, 1);
}

/* With peak_bytes and end_bytes, both the same. */
static void make(struct allo_profile *profile, const char *const *stacks)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_add_metric(profile, ALLO_PEAK_BYTES, NULL, &err));
	assert_true(allo_profile_add_metric(profile, ALLO_END_BYTES, NULL, &err));
	for (; *stacks; stacks++)
		add_written_stack(profile, *stacks);
}

static void each_is_measured_and_none_stops_the_others(void **state)
{
	static const char *const now[] = { "main;parse;word 60", "main;draw 40", NULL };
	static const char *const before[] = { "main;parse;word 50", "main;draw 40", NULL };
	static const struct {
		const char *limit;
		bool is_kept;
		int value;
	} table[] = {
		{ "peak <= 100", true, 100 },
		{ "peak <= 99", false, 100 },
		{ "leaks <= 0", false, 100 },
		{ "peak in fn:parse <= 60", true, 60 },
		{ "peak in fn:parse <= 59", false, 60 },
		{ "peak in nothing <= 0", true, 0 },
		{ "peak growth <= 10", true, 100 },
		{ "peak growth <= 9", false, 100 },
		{ "peak growth <= 11.2%", true, 100 },
		{ "peak growth <= 11.1%", false, 100 },
		{ "peak in parse growth <= 20%", true, 60 },
		{ "peak in draw growth <= 0%", true, 40 },
	};
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, base = { 0 };
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	ALLO_DEFER(allo_verdicts_done) struct allo_verdicts verdicts = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	struct allo_suppressions none = { 0 };
	struct allo_error err = { 0 };
	size_t count = sizeof(table) / sizeof(*table), exceeded = 0;

	(void)state;
	make(&profile, now);
	make(&base, before);
	for (size_t i = 0; i < count; i++)
		assert_true(add(&limits, table[i].limit, &err));
	assert_true(
		allo_budget_check(&verdicts, &limits, &none, &attribution, &profile, &base, &err));
	assert_int_equal(verdicts.list.len, count);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(verdicts.list.at[i].is_kept, table[i].is_kept);
		assert_true(verdicts.list.at[i].now == table[i].value);
		exceeded += !table[i].is_kept;
	}
	assert_int_equal(verdicts.exceeded, exceeded);
	assert_string_equal(verdicts.list.at[1].mostly, "word");
	assert_true(verdicts.list.at[1].mostly_value == 60);
	assert_string_equal(verdicts.list.at[7].mostly, "word");
	assert_true(verdicts.list.at[7].mostly_value == 10);
	assert_null(verdicts.list.at[0].mostly);
}

/* The function with most of the growth, and its part. */
static void check_growth(const char *const *before, const char *const *now, const char *function,
			 int value)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 }, base = { 0 };
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	ALLO_DEFER(allo_verdicts_done) struct allo_verdicts verdicts = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	struct allo_suppressions none = { 0 };
	struct allo_error err = { 0 };

	make(&profile, now);
	make(&base, before);
	assert_true(add(&limits, "peak growth <= 0", &err));
	assert_true(
		allo_budget_check(&verdicts, &limits, &none, &attribution, &profile, &base, &err));
	assert_string_equal(verdicts.list.at[0].mostly, function);
	assert_true(verdicts.list.at[0].mostly_value == value);
	assert_false(verdicts.list.at[0].others_shrank);
}

static void a_renamed_function_has_grown_by_the_difference(void **state)
{
	static const char *const before[] = { "main;parse 1000", "main;scan 100", "main;draw 40",
					      NULL };
	static const char *const draw_grows[] = { "main;parse_all 1000", "main;scan_all 100",
						  "main;draw 57", NULL };
	static const char *const parse_grows[] = { "main;parse_all 1009", "main;scan_all 100",
						   "main;draw 40", NULL };
	static const char *const one_is_new[] = { "main;parse 1000", "main;scan 100",
						  "main;draw 40", "main;load 5", NULL };

	(void)state;
	check_growth(before, draw_grows, "draw", 17);
	check_growth(before, parse_grows, "parse_all", 9);
	check_growth(before, one_is_new, "load", 5);
}

static void growth_from_nothing_is_infinite(void **state)
{
	struct allo_verdict verdict = { .now = 5 };

	(void)state;
	assert_true(isinf(allo_verdict_percent(&verdict)) && allo_verdict_percent(&verdict) > 0);
	verdict.now = 0;
	assert_true(allo_verdict_percent(&verdict) == 0);
	verdict.before = 10;
	assert_true(allo_verdict_percent(&verdict) == -100);
}

static void what_is_suppressed_is_no_leak_but_counts_elsewhere(void **state)
{
	static const char *const stacks[] = { "main;known 60", "main;unknown 7", NULL };
	static const char text[] = "leak:^known\n";
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
	ALLO_DEFER(allo_verdicts_done) struct allo_verdicts verdicts = { 0 };
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	make(&profile, stacks);
	assert_true(allo_input_open_memory(&in, "x", text, sizeof(text) - 1, &err));
	assert_true(allo_suppressions_read(&suppressions, &in, &err));
	assert_true(add(&limits, "leaks <= 7", &err));
	assert_true(add(&limits, "peak <= 67", &err));
	assert_true(add(&limits, "end_bytes <= 6", &err));
	assert_true(allo_budget_check(&verdicts, &limits, &suppressions, &attribution, &profile,
				      NULL, &err));
	assert_true(verdicts.list.at[0].now == 7 && verdicts.list.at[0].is_kept);
	assert_true(verdicts.list.at[1].now == 67 && verdicts.list.at[1].is_kept);
	assert_true(verdicts.list.at[2].now == 7 && !verdicts.list.at[2].is_kept);
}

static void what_does_not_add_up_or_is_not_there_is_refused(void **state)
{
	static const char *const stacks[] = { "main 1", NULL };
	static const char *const bad[] = { "max <= 5", "reads <= 5", "nonsense <= 5" };

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_limits_done) struct allo_limits limits = { 0 };
		ALLO_DEFER(allo_verdicts_done) struct allo_verdicts verdicts = { 0 };
		ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
		struct allo_suppressions none = { 0 };
		struct allo_error err = { 0 };

		assert_true(allo_profile_add_metric(&profile, ALLO_MAX_BYTES, NULL, &err));
		make(&profile, stacks);
		assert_true(add(&limits, bad[i], &err));
		assert_false(allo_budget_check(&verdicts, &limits, &none, &attribution, &profile,
					       NULL, &err));
		assert_int_equal(err.code, ALLO_USAGE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_are_taken_apart),
		cmocka_unit_test(what_is_no_limit_is_refused),
		cmocka_unit_test(a_bad_line_of_a_file_is_named),
		cmocka_unit_test(each_is_measured_and_none_stops_the_others),
		cmocka_unit_test(a_renamed_function_has_grown_by_the_difference),
		cmocka_unit_test(growth_from_nothing_is_infinite),
		cmocka_unit_test(what_is_suppressed_is_no_leak_but_counts_elsewhere),
		cmocka_unit_test(what_does_not_add_up_or_is_not_there_is_refused),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
