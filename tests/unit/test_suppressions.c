/* test_suppressions.c - analysis/filters/suppressions.h. */
#include "check.h"
#include "folded_profile.h"

#include "analysis/filters/suppressions.h"
#include "base/defer.h"

static void patterns_match_as_those_of_lsan(void **state)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} table[] = {
		{ "foo", "foo", true },
		{ "foo", "a_foo_b", true },
		{ "foo", "fo", false },
		{ "^foo", "foobar", true },
		{ "^foo", "a_foo", false },
		{ "foo$", "a_foo", true },
		{ "foo$", "foobar", false },
		{ "^foo$", "foo", true },
		{ "^foo$", "foo2", false },
		{ "f*o", "f_____o", true },
		{ "f*o", "o_f", false },
		{ "^f*o$", "f_o", true },
		{ "a*b*c", "xaxbxcx", true },
		{ "a*b*c", "xcxbxax", false },
		{ "*", "anything", true },
		{ "", "anything", true },
		{ "foo*$", "foobar", true },
		{ "*foo", "a_foo", true },
		{ "^*foo", "a_foo", true },
		/* A piece is looked for once: what comes later is not tried. */
		{ "foo$", "foofoo", false },
		{ "^$", "x", false },
		/* Nothing matches what has no name. */
		{ "", "", false },
		{ "*", "", false },
		{ "foo(int)", "foo(int)", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		assert_int_equal(allo_suppression_matches(allo_text_of(table[i].pattern),
							  allo_text_of(table[i].name)),
				 table[i].matches);
}

static bool read_text(struct allo_suppressions *suppressions, const char *text,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_input_close) struct allo_input in = { 0 };

	assert_true(allo_input_open_memory(&in, "x.supp", text, strlen(text), err));
	return allo_suppressions_read(suppressions, &in, err);
}

static void comments_and_blanks_are_skipped(void **state)
{
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(read_text(&suppressions, "# one\n\n  leak:a b \t\r\n  # two\nleak:c", &err));
	assert_int_equal(suppressions.list.len, 2);
	assert_text_equal(suppressions.list.at[0].pattern, "a b");
	assert_int_equal(suppressions.list.at[0].line, 3);
	assert_text_equal(suppressions.list.at[1].pattern, "c");
	assert_int_equal(suppressions.list.at[1].line, 5);
}

static void a_line_of_another_kind_is_named(void **state)
{
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_false(read_text(&suppressions, "leak:a\nrace:b\n", &err));
	assert_int_equal(err.code, ALLO_FORMAT);
	assert_int_equal(err.pos.line, 2);
	assert_string_equal(err.pos.file, "x.supp");
}

/* How many samples are left, and what each suppression has hidden. */
static void the_innermost_frame_decides_and_the_first_pattern(void **state)
{
	ALLO_DEFER(allo_suppressions_done) struct allo_suppressions suppressions = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	struct allo_metric_columns columns;

	(void)state;
	add_written_stack(&profile, "main;outer;inner 1");
	add_written_stack(&profile, "main;outer 10");
	add_written_stack(&profile, "main;other 100");
	add_written_stack(&profile, "main@secret.c;third 1000");
	add_written_stack(&profile, "main;outer;nothing 0");
	columns = allo_metric_columns_of(&profile, 0);
	assert_true(read_text(&suppressions, "leak:outer\nleak:inner\nleak:secret.c\nleak:^in\n",
			      &err));
	assert_true(allo_suppressions_apply(&suppressions, &profile, &columns, &err));
	assert_true(allo_profile_validate(&profile, &err));
	assert_true(suppressions.list.at[0].hidden.value == 10);
	assert_int_equal(suppressions.list.at[0].stacks, 1);
	assert_true(suppressions.list.at[1].hidden.value == 1);
	assert_true(suppressions.list.at[2].hidden.value == 1000);
	assert_int_equal(suppressions.list.at[3].stacks, 0);
	/* What is left, and what holds nothing. */
	assert_int_equal(allo_profile_sample_count(&profile), 2);
	assert_true(allo_metric_sum(&profile, 0) == 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(patterns_match_as_those_of_lsan),
		cmocka_unit_test(comments_and_blanks_are_skipped),
		cmocka_unit_test(a_line_of_another_kind_is_named),
		cmocka_unit_test(the_innermost_frame_decides_and_the_first_pattern),
	};

	return cmocka_run_group_tests_name("suppressions", tests, NULL, NULL);
}
