/* test_top.c - analysis/top.h, against sums made in the plainest way. */
#include "check.h"
#include "profiles.h"
#include "tally.h"

#include "analysis/sites/allocator.h"
#include "analysis/top.h"
#include "base/defer.h"

static const enum allo_by all_by[] = { ALLO_BY_FUNCTION, ALLO_BY_SITE, ALLO_BY_FILE, ALLO_BY_MODULE,
				       ALLO_BY_ADDRESS };

static struct tally tally;

/* What the row is for one of a frame's calls, by the words of top.h. */
static void key_of_call(enum allo_by by, const struct allo_profile *profile,
			const struct allo_frame *frame, uint32_t call, char key[256])
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text name = { "", 0 }, file = allo_line_file(profile, line), module = { "", 0 };
	unsigned long long address = frame->address;

	if (line.function)
		name = allo_profile_text(profile, profile->functions.at[line.function].name);
	if (frame->module)
		module = allo_profile_text(profile, profile->modules.at[frame->module].path);
	if (by == ALLO_BY_MODULE)
		snprintf(key, 256, "||%.*s|0", ALLO_TEXT_ARG(module));
	else if (by == ALLO_BY_FILE && file.len > 0)
		snprintf(key, 256, "|%.*s||0", ALLO_TEXT_ARG(file));
	else if (by == ALLO_BY_FILE)
		snprintf(key, 256, "||%.*s|0", ALLO_TEXT_ARG(module));
	else if (by == ALLO_BY_ADDRESS)
		snprintf(key, 256, "%.*s|%.*s|%.*s|%llu", ALLO_TEXT_ARG(name), ALLO_TEXT_ARG(file),
			 ALLO_TEXT_ARG(module), address);
	else if (line.function)
		snprintf(key, 256, "%.*s|%.*s||%u", ALLO_TEXT_ARG(name), ALLO_TEXT_ARG(file),
			 by == ALLO_BY_SITE ? line.line : 0);
	else
		snprintf(key, 256, "||%.*s|%llu", ALLO_TEXT_ARG(module),
			 by == ALLO_BY_SITE || module.len == 0 ? address : 0);
}

static void add_plainly(enum allo_by by, bool trims, const struct allo_profile *profile,
			size_t sample, uint64_t number)
{
	int64_t value = (int64_t)allo_profile_row(profile, sample)[0];
	struct tally_row *row = NULL;
	bool is_leaf = true;
	char key[256];

	for (allo_stack_id id = profile->sample_stacks.at[sample]; id;
	     id = profile->stacks.at[id].parent) {
		const struct allo_frame *frame = &profile->frames.at[profile->stacks.at[id].frame];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			char scratch[ALLO_NAME_SCRATCH];
			struct allo_text file = allo_line_file(
				profile, allo_call_line(profile, frame, call));

			key_of_call(by, profile, frame, call, key);
			row = tally_row(&tally, key);
			if (is_leaf && trims &&
			    allo_is_allocator(allo_call_name(profile, frame, call, scratch), file))
				continue;
			row->self += is_leaf ? value : 0;
			row->total += row->last != number ? value : 0;
			row->last = number;
			is_leaf = false;
		}
	}
	if (is_leaf && row) {
		row->self += value;
		row->total += row->last != number ? value : 0;
	}
}

static void assert_rows_are_those_of_the_tally(const struct allo_top *top,
					       const struct allo_profile *profile)
{
	size_t expected = 0;

	for (size_t i = 0; i < tally.count; i++)
		expected += tally.rows[i].total != 0;
	assert_int_equal(top->rows.len, expected);
	for (size_t i = 0; i < top->rows.len; i++) {
		const struct allo_top_row *row = &top->rows.at[i];
		const struct tally_row *same;
		char key[256];

		snprintf(key, sizeof(key), "%.*s|%.*s|%.*s|%llu",
			 ALLO_TEXT_ARG(allo_profile_text(profile, row->key.function)),
			 ALLO_TEXT_ARG(allo_profile_text(profile, row->key.file)),
			 ALLO_TEXT_ARG(allo_profile_text(profile, row->key.module)),
			 (unsigned long long)row->key.number);
		same = tally_row(&tally, key);
		assert_true(row->self.value == same->self);
		assert_true(row->total.value == same->total);
		assert_true(row->self.blocks <= row->total.blocks);
	}
}

static void rows_are_what_plain_sums_say(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 300; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_attribution_done)
		struct allo_attribution attribution = { .wrappers = ALLO_WRAPPERS_NONE };
		ALLO_DEFER(allo_top_done)
		struct allo_top top = { .by = all_by[round % 5],
					.attribution = round % 2 ? &attribution : NULL };
		struct shape shape = { .names = 4,
				       .frames = 10,
				       .samples = 40,
				       .depth = 8,
				       .has_malloc = round % 3,
				       .has_labels = round % 7 == 0 };
		struct allo_metric_columns columns;
		struct allo_error err = { 0 };
		uint64_t seed = round, number = 0;
		allo_sum sum = 0;

		draw_profile(&profile, &seed, &shape);
		columns = allo_metric_columns_of(&profile, 0);
		assert_true(columns.has_blocks && !columns.has_before);
		/* In portions, too: the tables stay, samples come anew. */
		for (int portion = 0; portion < 3; portion++) {
			assert_true(allo_top_add(&top, &profile, &columns, &err));
			for (size_t i = 0; i < allo_profile_sample_count(&profile); i++)
				add_plainly(top.by, round % 2, &profile, i, ++number);
			sum += allo_metric_sum(&profile, 0);
			allo_profile_clear_samples(&profile);
			draw_samples(&profile, &seed, &shape);
		}
		allo_top_sort(&top, &profile, ALLO_TOP_BY_SELF);
		assert_true(top.sum.value == sum);
		assert_rows_are_those_of_the_tally(&top, &profile);
		tally_done(&tally);
	}
}

static bool same_values(const struct allo_values *a, const struct allo_values *b)
{
	return a->value == b->value && a->blocks == b->blocks && a->before == b->before;
}

/* A single sample is added along its stack, many of a recursion by one walk over all stacks. */
static void a_recursion_adds_up_to_the_sums_of_its_samples(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 30; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_attribution_done)
		struct allo_attribution attribution = { .wrappers = ALLO_WRAPPERS_NONE };
		struct allo_top all = { .by = all_by[round % 5],
					.attribution = round % 2 ? &attribution : NULL };
		struct allo_top single = all;
		struct shape shape = { .names = 4,
				       .samples = 1500,
				       .depth = 400,
				       .has_malloc = round % 3,
				       .is_recursive = true };
		struct allo_metric_columns columns;
		struct allo_error err = { 0 };
		uint64_t seed = round;

		draw_profile(&profile, &seed, &shape);
		columns = allo_metric_columns_of(&profile, 0);
		assert_true(allo_top_add(&all, &profile, &columns, &err));
		for (size_t i = 0; i < allo_profile_sample_count(&profile); i++) {
			struct allo_profile view = view_sample(&profile, i);

			assert_true(allo_top_add(&single, &view, &columns, &err));
		}
		assert_true(all.steps < single.steps);
		assert_true(same_values(&all.sum, &single.sum));
		assert_int_equal(all.rows.len, single.rows.len);
		for (size_t i = 0; i < all.rows.len; i++) {
			const struct allo_top_row *a = &all.rows.at[i], *b = &single.rows.at[i];

			assert_true(a->key.function == b->key.function &&
				    a->key.file == b->key.file && a->key.module == b->key.module &&
				    a->key.number == b->key.number);
			assert_true(same_values(&a->self, &b->self));
			assert_true(same_values(&a->total, &b->total));
		}
		allo_top_done(&all);
		allo_top_done(&single);
	}
}

static void rows_are_sorted_by_what_is_asked_for(void **state)
{
	const enum allo_top_order orders[] = { ALLO_TOP_BY_SELF, ALLO_TOP_BY_TOTAL };

	(void)state;
	for (size_t k = 0; k < 2; k++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_top_done) struct allo_top top = { .by = ALLO_BY_SITE };
		struct shape shape = { .names = 40, .frames = 60, .samples = 200, .depth = 8 };
		struct allo_metric_columns columns;
		struct allo_error err = { 0 };
		uint64_t seed = 79;

		draw_profile(&profile, &seed, &shape);
		columns = allo_metric_columns_of(&profile, 0);
		assert_true(allo_top_add(&top, &profile, &columns, &err));
		allo_top_sort(&top, &profile, orders[k]);
		assert_true(top.rows.len > 20);
		for (size_t i = 1; i < top.rows.len; i++) {
			const struct allo_top_row *a = &top.rows.at[i - 1], *b = &top.rows.at[i];

			assert_true(k ? a->total.value >= b->total.value
				      : a->self.value >= b->self.value);
		}
	}
}

static void names_are_made_up_where_there_is_none(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	allo_string_id lib = allo_profile_add_string(&profile, ALLO_TEXT("/lib/x.so"), &err);
	allo_string_id fn = allo_profile_add_string(&profile, ALLO_TEXT("fn"), &err);
	const struct {
		enum allo_by by;
		struct allo_top_row row;
		const char *name;
	} table[] = {
		{ ALLO_BY_FUNCTION, { .key = { .function = fn } }, "fn" },
		{ ALLO_BY_FUNCTION, { .key = { .module = lib } }, "[x.so]" },
		{ ALLO_BY_FUNCTION, { .key = { .number = 16 } }, "0x10" },
		{ ALLO_BY_FUNCTION, { .key = { 0 } }, "???" },
		{ ALLO_BY_SITE, { .key = { .module = lib, .number = 16 } }, "0x10 [x.so]" },
		{ ALLO_BY_FILE, { .key = { .file = lib } }, "/lib/x.so" },
		{ ALLO_BY_FILE, { .key = { .module = lib } }, "[x.so]" },
		{ ALLO_BY_FILE, { .key = { 0 } }, "???" },
		{ ALLO_BY_MODULE, { .key = { .module = lib } }, "/lib/x.so" },
		{ ALLO_BY_MODULE, { .key = { 0 } }, "???" },
	};
	char scratch[ALLO_TOP_SCRATCH];

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++) {
		struct allo_top top = { .by = table[i].by };

		assert_text_equal(allo_top_name(&top, &profile, &table[i].row, scratch),
				  table[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_are_what_plain_sums_say),
		cmocka_unit_test(a_recursion_adds_up_to_the_sums_of_its_samples),
		cmocka_unit_test(rows_are_sorted_by_what_is_asked_for),
		cmocka_unit_test(names_are_made_up_where_there_is_none),
	};

	return cmocka_run_group_tests_name("top", tests, NULL, NULL);
}
