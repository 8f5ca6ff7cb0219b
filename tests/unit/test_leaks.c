/* test_leaks.c - analysis/leaks.h and analysis/same_stacks.h. */
#include "check.h"
#include "folded_profile.h"
#include "profiles.h"

#include "analysis/filters/filter.h"
#include "analysis/leaks.h"
#include "analysis/same_stacks.h"
#include "base/defer.h"

static void what_came_when_makes_the_kind(void **state)
{
	static const struct {
		uint64_t blocks[ALLO_TENTHS];
		enum allo_leak_kind kind;
	} table[] = {
		{ { 5 }, ALLO_LEAK_START },
		{ { 5, 1 }, ALLO_LEAK_LATER },
		{ { 1, 1, 1, 1, 1, 1, 1 }, ALLO_LEAK_LATER },
		{ { 1, 1, 1, 1, 1, 1, 1, 1 }, ALLO_LEAK_GROWING },
		{ { 0, 0, 0, 0, 0, 0, 0, 1, 1, 1 }, ALLO_LEAK_GROWING },
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 9, 9 }, ALLO_LEAK_LATER },
		{ { 0, 0, 0, 0, 0, 0, 0, 0, 0, 9 }, ALLO_LEAK_LATER },
		{ { 1, 0, 0, 0, 1, 0, 0, 0, 0, 1 }, ALLO_LEAK_GROWING },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct allo_births births = { 0 };

		memcpy(births.blocks, table[i].blocks, sizeof(births.blocks));
		assert_int_equal(allo_births_kind(&births), table[i].kind);
	}
}

static void births_fall_into_tenths_of_the_run(void **state)
{
	ALLO_DEFER(allo_birth_table_done)
	struct allo_birth_table table = { .from_ns = 1000, .duration_ns = 100 };
	const uint64_t times[] = { 5, 1000, 1009, 1010, 1099, 1100, UINT64_MAX };
	const struct allo_births *births;
	struct allo_error err = { 0 };

	(void)state;
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++)
		assert_true(allo_birth_table_add(&table, 3, times[i], &err));
	assert_null(allo_birth_table_find(&table, 2));
	assert_null(allo_birth_table_find(&table, 100));
	births = allo_birth_table_find(&table, 3);
	assert_non_null(births);
	assert_int_equal(births->blocks[0], 3);
	assert_int_equal(births->blocks[1], 1);
	assert_int_equal(births->blocks[9], 3);
	assert_int_equal(births->first_ns, 5);
	assert_true(births->last_ns == UINT64_MAX);
}

static void a_run_of_no_time_is_all_start(void **state)
{
	ALLO_DEFER(allo_birth_table_done) struct allo_birth_table table = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_birth_table_add(&table, 0, 0, &err));
	assert_int_equal(allo_births_kind(allo_birth_table_find(&table, 0)), ALLO_LEAK_START);
}

/* A frame of the same function and line at an address of its own. */
static allo_stack_id call_at(struct allo_profile *profile, allo_stack_id caller, uint64_t address,
			     uint32_t line, struct allo_error *err)
{
	struct allo_function function = { .name = allo_profile_add_string(profile, ALLO_TEXT("f"),
									  err) };
	struct allo_line at = { .function = allo_profile_add_function(profile, &function, err),
				.line = line };
	struct allo_frame frame = { .address = address };

	return allo_profile_add_stack(
		profile, caller, allo_profile_add_frame(profile, &frame, &at, line ? 1 : 0, err),
		err);
}

static void stacks_that_read_the_same_are_one_leak(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_birth_table_done) struct allo_birth_table table = { .duration_ns = 100 };
	ALLO_DEFER(allo_leaks_done) struct allo_leaks leaks = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id stacks[] = {
		call_at(&profile, 0, 16, 7, &err),
		call_at(&profile, 0, 32, 7, &err),
		call_at(&profile, 0, 48, 8, &err),
		call_at(&profile, 0, 64, 0, &err), /* without a name */
		call_at(&profile, 0, 80, 0, &err),
	};
	struct allo_metric_columns columns;

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_END_BYTES, NULL, &err));
	for (size_t i = 0; i < 5; i++) {
		*allo_profile_add_sample(&profile, stacks[i], 0, NULL, &err) = 10 + i;
		assert_true(allo_birth_table_add(&table, stacks[i], 10 * i, &err));
	}
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(allo_leaks_of(&leaks, &profile, &columns, &table, &err));
	assert_int_equal(leaks.list.len, 4);
	assert_true(leaks.sum.value == 60);
	assert_int_equal(leaks.list.at[0].stack, stacks[0]);
	assert_true(leaks.list.at[0].values.value == 21);
	assert_int_equal(leaks.list.at[0].births.blocks[0], 1);
	assert_int_equal(leaks.list.at[0].births.blocks[1], 1);
	assert_int_equal(leaks.list.at[0].births.last_ns, 10);
	assert_int_equal(leaks.list.at[1].stack, stacks[4]);
}

/* Names and lines of a stack, as people see it. */
static void read_stack(const struct allo_profile *profile, allo_stack_id stack, char text[2048])
{
	size_t used = 0;

	for (text[0] = '\0'; stack; stack = profile->stacks.at[stack].parent) {
		const struct allo_frame *frame =
			&profile->frames.at[profile->stacks.at[stack].frame];

		for (uint32_t i = 0; i < frame->line_count; i++) {
			struct allo_line line = profile->lines.at[frame->first_line + i];

			used += (size_t)snprintf(text + used, 2048 - used, "%u:%u,", line.function,
						 line.line);
		}
		if (frame->line_count == 0)
			used += (size_t)snprintf(text + used, 2048 - used, "@%llx,",
						 (unsigned long long)frame->address);
		used += (size_t)snprintf(text + used, 2048 - used, "[%u];", frame->module);
	}
}

static void same_stacks_are_those_of_equal_text(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 100; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		static char a[2048], b[2048];
		struct allo_error err = { 0 };
		uint64_t seed = round;
		allo_stack_id *same;

		draw_profile(&profile, &seed, &small_shape);
		same = allo_same_stacks(&profile, &err);
		assert_non_null(same);
		for (size_t i = 1; i < profile.stacks.len; i++) {
			read_stack(&profile, (allo_stack_id)i, a);
			for (size_t k = 1; k < i; k++) {
				read_stack(&profile, (allo_stack_id)k, b);
				assert_int_equal(same[i] == same[k], strcmp(a, b) == 0);
			}
		}
		free(same);
	}
}

static void births_follow_their_stacks_through_a_filter(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_birth_table_done) struct allo_birth_table table = { .duration_ns = 100 };
	ALLO_DEFER(allo_filter_done)
	struct allo_filter filter = { .trim_allocator = true, .tells_stacks = true };
	ALLO_DEFER(allo_leaks_done) struct allo_leaks leaks = { 0 };
	struct allo_error err = { 0 };
	struct allo_metric_columns columns;

	(void)state;
	add_written_stack(&profile, "main;f;malloc 10");
	add_written_stack(&profile, "main;f;calloc 5");
	add_written_stack(&profile, "main;g;malloc 1");
	for (size_t i = 0; i < 3; i++)
		assert_true(
			allo_birth_table_add(&table, profile.sample_stacks.at[i], 40 * i, &err));
	assert_true(allo_patterns_add(&filter.ignore, "=g", &err));
	assert_true(allo_birth_table_limit(&table, &profile, &err));
	assert_true(allo_filter_apply(&filter, &profile, &err));
	assert_true(allo_birth_table_move(&table, filter.became.at, filter.became.len, &err));
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(allo_leaks_of(&leaks, &profile, &columns, &table, &err));
	assert_int_equal(leaks.list.len, 1);
	assert_true(leaks.list.at[0].values.value == 15);
	assert_int_equal(leaks.list.at[0].births.first_ns, 0);
	assert_int_equal(leaks.list.at[0].births.last_ns, 40);
	allo_leaks_keep(&leaks, 1u << ALLO_LEAK_START);
	assert_int_equal(leaks.list.len, 0);
	assert_true(leaks.sum.value == 0);
}

static void stacks_that_are_gone_have_no_births(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_birth_table_done) struct allo_birth_table table = { .duration_ns = 100 };
	struct allo_error err = { 0 };

	(void)state;
	add_written_stack(&profile, "main;f 10");
	add_written_stack(&profile, "main;g 5");
	for (size_t i = 0; i < 2; i++)
		assert_true(allo_birth_table_add(&table, profile.sample_stacks.at[i], 1, &err));
	allo_profile_keep_samples(&profile, (bool[]){ false, true });
	assert_true(allo_birth_table_limit(&table, &profile, &err));
	assert_non_null(allo_birth_table_find(&table, profile.sample_stacks.at[0]));
	assert_null(allo_birth_table_find(&table, profile.sample_stacks.at[0] - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_came_when_makes_the_kind),
		cmocka_unit_test(births_fall_into_tenths_of_the_run),
		cmocka_unit_test(a_run_of_no_time_is_all_start),
		cmocka_unit_test(stacks_that_read_the_same_are_one_leak),
		cmocka_unit_test(same_stacks_are_those_of_equal_text),
		cmocka_unit_test(births_follow_their_stacks_through_a_filter),
		cmocka_unit_test(stacks_that_are_gone_have_no_births),
	};

	return cmocka_run_group_tests_name("leaks", tests, NULL, NULL);
}
