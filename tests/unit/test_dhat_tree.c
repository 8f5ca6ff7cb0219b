/* test_dhat_tree.c - analysis/dhat_tree.h, dhat_sort.h and accesses.h. */
#include "check.h"

#include "analysis/accesses.h"
#include "analysis/dhat_tree.h"
#include "base/defer.h"

#include <stdio.h>

/* Adds a point whose calls are single letters, the allocating one first: "abc". */
static void add_point(struct allo_profile *profile, const char *calls, uint64_t blocks,
		      uint64_t bytes)
{
	struct allo_error err = { 0 };
	allo_stack_id stack = 0;
	uint64_t *row;

	if (profile->metrics.len == 0) {
		assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BLOCKS, NULL, &err));
		assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	}
	for (size_t i = strlen(calls); i-- > 0;) {
		struct allo_text name = { calls + i, 1 };
		allo_frame_id frame = allo_profile_add_named_frame(profile, name, &err);

		stack = allo_profile_add_stack(profile, stack, frame, &err);
	}
	row = allo_profile_add_sample(profile, stack, 0, NULL, &err);
	assert_non_null(row);
	row[0] += blocks;
	row[1] += bytes;
}

/* The tree as text: "ab:30[cd:20 ef:10 -:5 +2:3]", - for no calls, +2 for two that were merged. */
static const char *drawn(const struct allo_dhat_tree *tree, const struct allo_profile *profile)
{
	static char text[1000];
	size_t used = 0;
	uint32_t depth = 0;

	for (size_t i = 0; i < tree->nodes.len; i++) {
		const struct allo_dhat_node *node = &tree->nodes.at[i];
		struct allo_stack_call call = node->first_call;
		char scratch[ALLO_NAME_SCRATCH];

		for (; depth > node->depth; depth--)
			text[used++] = ']';
		if (node->number > 1)
			text[used++] = ' ';
		if (node->merged)
			used += (size_t)sprintf(text + used, "+%u", node->merged);
		else if (node->call_count == 0)
			text[used++] = '-';
		for (uint64_t k = 0; k < node->call_count; k++) {
			const struct allo_frame *frame =
				&profile->frames.at[profile->stacks.at[call.stack].frame];

			text[used++] = allo_call_name(profile, frame, call.line, scratch).data[0];
			call = allo_stack_call_outer(profile, call);
		}
		used += (size_t)sprintf(text + used, ":%d", (int)node->values.of[tree->sort->key]);
		if (node->child_count) {
			text[used++] = '[';
			depth++;
		}
	}
	for (; depth > 0; depth--)
		text[used++] = ']';
	text[used] = '\0';
	return text;
}

static const char *tree_of(const struct allo_profile *profile, int sort, double min_share)
{
	ALLO_DEFER(allo_dhat_tree_done) struct allo_dhat_tree tree = { 0 };
	struct allo_dhat_options options = { &allo_pp_sorts[sort], min_share };
	struct allo_error err = { 0 };

	assert_true(allo_dhat_tree_from_profile(&tree, profile, &options, &err));
	return drawn(&tree, profile);
}

enum { BY_BYTES, BY_BLOCKS, BY_TINY, BY_READS = 10 };

static void calls_without_a_side_branch_share_a_node(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	add_point(&profile, "abcd", 20, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "abcd:20");
	add_point(&profile, "abef", 10, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "ab:30[cd:20 ef:10]");
	add_point(&profile, "xy", 70, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "-:100[xy:70 ab:30[cd:20 ef:10]]");
}

static void points_that_end_within_others_get_a_node_without_calls(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	add_point(&profile, "abcd", 20, 0);
	add_point(&profile, "ab", 10, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "ab:30[cd:20 -:10]");
	add_point(&profile, "abcde", 5, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "ab:35[cd:25[-:20 e:5] -:10]");
	add_point(&profile, "", 1, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1),
			    "-:36[ab:35[cd:25[-:20 e:5] -:10] -:1]");
}

static void an_empty_profile_is_a_root(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BLOCKS, NULL, &err));
	assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "-:0");
}

static void insignificant_children_become_one(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	add_point(&profile, "ab", 9, 0);
	add_point(&profile, "ac", 9, 0);
	add_point(&profile, "ad", 982, 0);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "a:1000[d:982 +2:18]");
	assert_string_equal(tree_of(&profile, BY_BLOCKS, 0.5), "a:1000[d:982 b:9 c:9]");
	assert_string_equal(tree_of(&profile, BY_BLOCKS, 0), "a:1000[d:982 b:9 c:9]");
}

static void a_node_is_shown_for_what_is_significant_below_it(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_dhat_tree_done) struct allo_dhat_tree tree = { 0 };
	struct allo_dhat_options options = { &allo_pp_sorts[BY_TINY], -1 };
	struct allo_error err = { 0 };

	(void)state;
	add_point(&profile, "ab", 10, 160);
	add_point(&profile, "ac", 10, 1000);
	add_point(&profile, "xy", 10, 1000);
	assert_true(allo_dhat_tree_from_profile(&tree, &profile, &options, &err));
	assert_string_equal(drawn(&tree, &profile), "-:30[a:20[+1:10 b:10] +1:10]");
	assert_false(tree.nodes.at[1].is_significant);
	assert_true(tree.nodes.at[3].is_significant);
}

static void equal_siblings_go_by_bytes_then_by_age(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };

	(void)state;
	add_point(&profile, "a", 10, 5);
	add_point(&profile, "b", 10, 7);
	add_point(&profile, "c", 10, 5);
	assert_string_equal(tree_of(&profile, BY_BLOCKS, -1), "-:30[b:10 a:10 c:10]");
	assert_string_equal(tree_of(&profile, BY_BYTES, -1), "-:17[b:7 a:5 c:5]");
}

static void inlined_calls_are_calls_of_their_own(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	struct allo_error err = { 0 };
	struct allo_line lines[2] = { 0 };
	struct allo_frame frame = { .address = 16 };
	allo_stack_id stack;
	uint64_t *row;

	(void)state;
	add_point(&profile, "a", 1, 1);
	for (int i = 0; i < 2; i++) {
		struct allo_text name = { &"in"[i], 1 };

		lines[i].function = allo_profile_add_function(
			&profile,
			&(struct allo_function){
				.name = allo_profile_add_string(&profile, name, &err) },
			&err);
	}
	/* n alone, and i inlined into n, at the same address. */
	for (size_t first = 0; first < 2; first++) {
		stack = allo_profile_add_stack(
			&profile, 0,
			allo_profile_add_frame(&profile, &frame, lines + first, 2 - first, &err),
			&err);
		row = allo_profile_add_sample(&profile, stack, 0, NULL, &err);
		assert_non_null(row);
		row[0] = 10;
	}
	assert_string_equal(tree_of(&profile, BY_BLOCKS, 0), "-:21[in:10 n:10 a:1]");
}

static void places_in_the_tree_are_numbered(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_dhat_tree_done) struct allo_dhat_tree tree = { 0 };
	struct allo_dhat_options options = { NULL, -1 };
	struct allo_error err = { 0 };
	const struct allo_dhat_node *last;

	(void)state;
	add_point(&profile, "ab", 3, 0);
	add_point(&profile, "acd", 1, 0);
	add_point(&profile, "ace", 1, 0);
	assert_true(allo_dhat_tree_from_profile(&tree, &profile, &options, &err));
	assert_string_equal(tree.sort->name, "total-blocks");
	assert_int_equal(tree.nodes.len, 5);
	last = &tree.nodes.at[4];
	assert_int_equal(last->number, 2);
	assert_int_equal(last->of, 2);
	assert_int_equal(last->depth, 2);
	assert_int_equal(last->parent, 2);
	assert_int_equal(last->calls_before, 2);
	assert_int_equal(last->sample, 3);
	assert_int_equal(tree.nodes.at[2].sample, 0);
	assert_int_equal(tree.nodes.at[2].points, 2);
}

static void a_sort_needs_its_numbers(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_dhat_tree_done) struct allo_dhat_tree tree = { 0 };
	struct allo_dhat_options options = { &allo_pp_sorts[BY_READS], -1 };
	struct allo_error err = { 0 };

	(void)state;
	add_point(&profile, "a", 1, 1);
	assert_false(allo_dhat_tree_from_profile(&tree, &profile, &options, &err));
	assert_int_equal(err.code, ALLO_USAGE);
	assert_string_equal(err.hint, "it can be sorted by: total-bytes, total-blocks, tiny");
}

static void conditions_are_the_viewers(void **state)
{
	struct allo_pp_values values = { 0 };
	bool meets[ALLO_PP_SORTS];

	(void)state;
	values.of[ALLO_PP_TOTAL_BYTES] = 160;
	values.of[ALLO_PP_TOTAL_BLOCKS] = 10;
	values.of[ALLO_PP_LIFETIMES] = 5000;
	values.of[ALLO_PP_READS] = 64;
	values.of[ALLO_PP_WRITES] = 160000;
	for (int i = 0; i < ALLO_PP_SORTS; i++)
		meets[i] = allo_pp_sort_meets(&allo_pp_sorts[i], &values, 500);
	assert_true(meets[2]);               /* 16 bytes a block */
	assert_true(meets[3]);               /* lived for 500 */
	assert_false(meets[4]);              /* read and written */
	assert_true(meets[6]);               /* read 0.4 times a byte */
	assert_true(meets[11] && meets[13]); /* written 1000 times a byte */
	values.of[ALLO_PP_TOTAL_BYTES]++;
	values.of[ALLO_PP_LIFETIMES]++;
	values.of[ALLO_PP_READS] = 0;
	for (int i = 0; i < ALLO_PP_SORTS; i++)
		meets[i] = allo_pp_sort_meets(&allo_pp_sorts[i], &values, 500);
	assert_false(meets[2] || meets[3] || meets[6] || meets[11]);
	assert_true(meets[4] && meets[5]);
}

static void equal_access_counts_in_a_row_are_one_run(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	const int32_t runs[] = { -8, 12, 12, 0, INT32_MIN, 65535, -3 };
	struct allo_accesses left;
	struct allo_access_run run;
	struct allo_error err = { 0 };

	(void)state;
	add_point(&profile, "a", 1, 1);
	assert_true(allo_profile_set_accesses(&profile, runs, 7, &err));
	left = allo_profile_accesses_of(&profile, 0);
	assert_true(allo_access_run_next(&profile, &left, &run));
	assert_int_equal(run.length, 9);
	assert_int_equal(run.count, 12);
	assert_true(allo_access_run_next(&profile, &left, &run));
	assert_int_equal(run.length, 1);
	assert_int_equal(run.count, 0);
	assert_true(allo_access_run_next(&profile, &left, &run));
	assert_int_equal(run.length, 1ull << 31);
	assert_int_equal(run.count, ALLO_ACCESSES_SATURATED);
	assert_false(allo_access_run_next(&profile, &left, &run)); /* a length without a count */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_without_a_side_branch_share_a_node),
		cmocka_unit_test(points_that_end_within_others_get_a_node_without_calls),
		cmocka_unit_test(an_empty_profile_is_a_root),
		cmocka_unit_test(insignificant_children_become_one),
		cmocka_unit_test(a_node_is_shown_for_what_is_significant_below_it),
		cmocka_unit_test(equal_siblings_go_by_bytes_then_by_age),
		cmocka_unit_test(inlined_calls_are_calls_of_their_own),
		cmocka_unit_test(places_in_the_tree_are_numbered),
		cmocka_unit_test(a_sort_needs_its_numbers),
		cmocka_unit_test(conditions_are_the_viewers),
		cmocka_unit_test(equal_access_counts_in_a_row_are_one_run),
	};

	return cmocka_run_group_tests_name("dhat_tree", tests, NULL, NULL);
}
