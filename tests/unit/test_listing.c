/* test_listing.c - analysis/listing.h, against analysis/top.h. */
#include "check.h"
#include "folded_profile.h"
#include "profiles.h"

#include "analysis/listing.h"
#include "base/defer.h"

static void lines_of_a_function_stand_in_their_order(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution attribution = { 0 };
	ALLO_DEFER(allo_listing_done) struct allo_listing listing = { .attribution = &attribution };
	const struct allo_listed_line *lines;
	struct allo_error err = { 0 };
	struct allo_metric_columns columns;

	(void)state;
	add_written_stack(&profile, "main@a.c:9;parse@a.c:7;malloc 100");
	add_written_stack(&profile, "main@a.c:9;parse@a.c:5;word@a.c:2 20");
	add_written_stack(&profile, "main@a.c:3;parse@b.c:7 1");
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(allo_pattern_init(&pattern, "fn:=parse", &err));
	assert_true(allo_listing_of(&listing, &profile, &columns, &pattern, &err));
	assert_true(listing.sum.value == 121);
	assert_int_equal(listing.functions.len, 2);
	assert_text_equal(allo_profile_text(&profile, listing.functions.at[0].file), "a.c");
	assert_true(listing.functions.at[0].total.value == 120);
	assert_true(listing.functions.at[0].self.value == 100);
	assert_int_equal(listing.functions.at[0].count, 2);
	lines = &listing.lines.at[listing.functions.at[0].first];
	assert_int_equal(lines[0].line, 5);
	assert_true(lines[0].self.value == 0 && lines[0].total.value == 20);
	assert_int_equal(lines[1].line, 7);
	assert_true(lines[1].self.value == 100 && lines[1].total.value == 100);
}

/* What a sorted top says of a function or a line. */
static const struct allo_top_row *find_row(const struct allo_top *top, allo_string_id name,
					   allo_string_id file, uint64_t line)
{
	for (size_t i = 0; i < top->rows.len; i++) {
		const struct allo_top_key *key = &top->rows.at[i].key;

		if (key->function == name && key->file == file && key->number == line)
			return &top->rows.at[i];
	}
	return NULL;
}

static void numbers_are_those_of_the_table(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 100; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
		ALLO_DEFER(allo_listing_done) struct allo_listing listing = { 0 };
		ALLO_DEFER(allo_top_done) struct allo_top functions = { .by = ALLO_BY_FUNCTION };
		ALLO_DEFER(allo_top_done) struct allo_top sites = { .by = ALLO_BY_SITE };
		struct allo_metric_columns columns;
		struct allo_error err = { 0 };
		uint64_t seed = round;
		size_t lines = 0;

		draw_profile(&profile, &seed, &small_shape);
		columns = allo_metric_columns_of(&profile, 0);
		assert_true(allo_pattern_init(&pattern, "fn:/^f[12]$/", &err));
		assert_true(allo_listing_of(&listing, &profile, &columns, &pattern, &err));
		assert_true(allo_top_add(&functions, &profile, &columns, &err));
		assert_true(allo_top_add(&sites, &profile, &columns, &err));
		for (size_t i = 0; i < listing.functions.len; i++) {
			const struct allo_listed_function *function = &listing.functions.at[i];
			const struct allo_top_row *row = find_row(&functions, function->name,
								  function->file, 0);

			assert_non_null(row);
			assert_true(row->total.value == function->total.value);
			assert_true(row->self.value == function->self.value);
			for (size_t k = 0; k < function->count; k++) {
				const struct allo_listed_line *line =
					&listing.lines.at[function->first + k];

				row = find_row(&sites, function->name, function->file, line->line);
				assert_non_null(row);
				assert_true(row->total.value == line->total.value);
				assert_true(row->self.value == line->self.value);
				assert_int_equal(line->function, i);
			}
			lines += function->count;
		}
		assert_int_equal(lines, listing.lines.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_of_a_function_stand_in_their_order),
		cmocka_unit_test(numbers_are_those_of_the_table),
	};

	return cmocka_run_group_tests_name("listing", tests, NULL, NULL);
}
