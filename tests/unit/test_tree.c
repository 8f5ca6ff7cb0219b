/* test_tree.c - analysis/tree.h. */
#include "check.h"

#include "analysis/tree.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "readers/readers.h"

#include <stdio.h>
#include <stdlib.h>

struct fixture {
	struct allo_profile profile;
	struct allo_tree tree;
};

static void fixture_done(struct fixture *f)
{
	allo_tree_done(&f->tree);
	allo_profile_done(&f->profile);
}

static void grow_tree(struct fixture *f, struct allo_tree_options options)
{
	struct allo_error err = { 0 };
	struct allo_metric_columns columns = allo_metric_columns_of(
		&f->profile, allo_default_metric(&f->profile));

	allo_tree_done(&f->tree);
	assert_true(allo_tree_from_profile(&f->tree, &f->profile, &columns, &options, &err));
}

static void read_folded(struct fixture *f, const char *folded)
{
	struct allo_read_options options = { .from = "folded" };
	struct allo_error err = { 0 };

	assert_true(allo_read_memory("test", folded, strlen(folded), &options, &f->profile, &err));
}

/* "main 7 (parse 4 (malloc 4) copy 2)": names and totals, children in their order. */
static void put_node(const struct fixture *f, allo_node_id id, char *out, size_t room)
{
	const struct allo_tree_node *node = &f->tree.nodes.at[id];
	allo_node_id child = node->first_child;
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text name = ALLO_TEXT("root");
	size_t used;

	if (id != 0)
		name = allo_call_name(&f->profile, &f->profile.frames.at[node->frame], node->call,
				      scratch);
	used = (size_t)snprintf(out, room, "%.*s %lld", ALLO_TEXT_ARG(name),
				(long long)node->total.value);
	for (; child != 0; child = f->tree.nodes.at[child].next_sibling) {
		used += (size_t)snprintf(out + used, room - used, "%s",
					 child == node->first_child ? " (" : " ");
		put_node(f, child, out + used, room - used);
		used += strlen(out + used);
	}
	if (node->first_child)
		snprintf(out + used, room - used, ")");
}

static void assert_tree(const struct fixture *f, const char *expected)
{
	char found[1000];

	put_node(f, 0, found, sizeof(found));
	assert_string_equal(found, expected);
}

static const char calls[] = "main;parse;malloc 4\n"
			    "main;copy 2\n"
			    "main 1\n"
			    "other;parse;malloc 30\n"
			    "other;parse 5\n";

static void callers_are_above_and_the_heaviest_come_first(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };

	(void)state;
	read_folded(&f, calls);
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_tree(&f,
		    "root 42 (other 35 (parse 35 (malloc 30)) main 7 (parse 4 (malloc 4) copy 2))");
}

static void callers_are_below_in_an_inverted_tree(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };

	(void)state;
	read_folded(&f, calls);
	grow_tree(&f, (struct allo_tree_options){ .is_inverted = true });
	assert_tree(&f, "root 42 (malloc 34 (parse 34 (other 30 main 4)) parse 5 (other 5) "
			"copy 2 (main 2) main 1)");
	/* What ends in a function is its own; here all that main called on is not. */
	assert_int_equal((int)f.tree.nodes.at[f.tree.nodes.at[0].first_child].self.value, 0);
}

static void equal_siblings_are_in_the_order_of_their_names(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };

	(void)state;
	read_folded(&f, "c 5\nb 5\nd 6\na 5\n");
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_tree(&f, "root 21 (d 6 a 5 b 5 c 5)");
}

static void what_is_left_out_still_counts_in_its_callers(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };
	const struct allo_tree_node *main_node, *parse;

	(void)state;
	read_folded(&f, calls);
	grow_tree(&f, (struct allo_tree_options){ .least_share = 4.0 / 42 });
	assert_tree(&f, "root 42 (other 35 (parse 35 (malloc 30)) main 7 (parse 4 (malloc 4)))");
	main_node = &f.tree.nodes.at[f.tree.nodes.at[f.tree.nodes.at[0].first_child].next_sibling];
	assert_int_equal((int)main_node->self.value, 1); /* and not what copy() has */
	grow_tree(&f, (struct allo_tree_options){ .is_inverted = true, .least_share = 5.0 / 42 });
	assert_tree(&f, "root 42 (malloc 34 (parse 34 (other 30)) parse 5 (other 5))");
	assert_int_equal(f.tree.nodes.at[0].left_out, 2); /* copy() and main() */
	parse = &f.tree.nodes.at[f.tree.nodes.at[f.tree.nodes.at[0].first_child].first_child];
	assert_int_equal(parse->left_out, 1);
}

static void a_comparison_is_as_wide_as_the_larger_of_both_stack_by_stack(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };

	(void)state;
	read_folded(&f, "main;gone 100 0\nmain;new 0 7\nmain;same 3 3\n");
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_tree(&f, "root 10 (main 10 (gone 0 new 7 same 3))");
	assert_int_equal((int)f.tree.nodes.at[0].width, 110);
	assert_int_equal((int)f.tree.nodes.at[0].total.before, 103);
	/* What has gone is kept for its width. */
	grow_tree(&f, (struct allo_tree_options){ .least_share = 0.5 });
	assert_tree(&f, "root 10 (main 10 (gone 0))");
}

/* Two frames, each of them inner() inlined into outer(), at different addresses. */
static void add_inlined(struct allo_profile *profile, uint64_t address, uint32_t line)
{
	struct allo_error err = { 0 };
	struct allo_function inner = {
		.name = allo_profile_add_string(profile, ALLO_TEXT("inner"), &err),
	};
	struct allo_function outer = {
		.name = allo_profile_add_string(profile, ALLO_TEXT("outer"), &err),
	};
	struct allo_line lines[] = {
		{ .function = allo_profile_add_function(profile, &inner, &err), .line = line },
		{ .function = allo_profile_add_function(profile, &outer, &err), .line = 9 },
	};
	struct allo_frame frame = { .address = address };
	allo_frame_id id = allo_profile_add_frame(profile, &frame, lines, 2, &err);
	allo_stack_id stack = allo_profile_add_stack(profile, 0, id, &err);
	uint64_t *row = allo_profile_add_sample(profile, stack, 0, NULL, &err);

	assert_non_null(row);
	*row = 10;
}

static void inlined_calls_are_nodes_and_the_grain_tells_them_apart(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&f.profile, ALLO_ALLOC_BYTES, NULL, &err));
	add_inlined(&f.profile, 0x1000, 5);
	add_inlined(&f.profile, 0x2000, 5);
	add_inlined(&f.profile, 0x3000, 6);
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_tree(&f, "root 30 (outer 30 (inner 30))");
	grow_tree(&f, (struct allo_tree_options){ .grain = ALLO_GRAIN_LINE });
	assert_tree(&f, "root 30 (outer 30 (inner 20 inner 10))");
	grow_tree(&f, (struct allo_tree_options){ .grain = ALLO_GRAIN_ADDRESS });
	assert_tree(&f, "root 30 (outer 10 (inner 10) outer 10 (inner 10) outer 10 (inner 10))");
	grow_tree(&f, (struct allo_tree_options){ .is_inverted = true });
	assert_tree(&f, "root 30 (inner 30 (outer 30))");
}

static void a_node_knows_whether_it_has_one_line(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&f.profile, ALLO_ALLOC_BYTES, NULL, &err));
	add_inlined(&f.profile, 0x1000, 5);
	add_inlined(&f.profile, 0x2000, 6);
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_false(f.tree.nodes.at[1].has_lines); /* outer() is on line 9 each time */
	assert_true(f.tree.nodes.at[2].has_lines);
	grow_tree(&f, (struct allo_tree_options){ .grain = ALLO_GRAIN_LINE });
	assert_false(f.tree.nodes.at[2].has_lines);
}

static void nothing_makes_a_root_alone(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	assert_true(allo_profile_add_metric(&f.profile, ALLO_ALLOC_BYTES, NULL, &err));
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_tree(&f, "root 0");
	grow_tree(&f, (struct allo_tree_options){ .is_inverted = true });
	assert_tree(&f, "root 0");
}

static void a_million_frames_deep_is_not_too_deep(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture f = { 0 };
	struct allo_error err = { 0 };
	allo_stack_id stack = 0;
	allo_frame_id frame;

	(void)state;
	assert_true(allo_profile_add_metric(&f.profile, ALLO_ALLOC_BYTES, NULL, &err));
	frame = allo_profile_add_named_frame(&f.profile, ALLO_TEXT("again"), &err);
	for (int i = 0; i < 1000000; i++)
		stack = allo_profile_add_stack(&f.profile, stack, frame, &err);
	*allo_profile_add_sample(&f.profile, stack, 0, NULL, &err) = 3;
	grow_tree(&f, (struct allo_tree_options){ 0 });
	assert_int_equal(f.tree.nodes.len, 1000001);
	grow_tree(&f, (struct allo_tree_options){ .is_inverted = true });
	assert_int_equal(f.tree.nodes.len, 1000001);
	assert_int_equal((int)f.tree.nodes.at[1000000].self.value, 3);
}

/* A profile of 20,000 samples with calls of all kinds, the same in each run. */
static void fill_at_random(struct allo_profile *profile)
{
	struct allo_error err = { 0 };
	unsigned seed = 5;
	char name[16];

	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
	for (int i = 0; i < 20000; i++) {
		allo_stack_id stack = 0;
		uint64_t *row;

		for (int depth = rand_r(&seed) % 12; depth > 0; depth--) {
			int len = snprintf(name, sizeof(name), "f%d", rand_r(&seed) % 5);
			allo_frame_id frame = allo_profile_add_named_frame(
				profile, (struct allo_text){ name, (size_t)len }, &err);

			stack = allo_profile_add_stack(profile, stack, frame, &err);
		}
		row = allo_profile_add_sample(profile, stack, 0, NULL, &err);
		assert_non_null(row);
		*row += (uint64_t)(rand_r(&seed) % 1000);
	}
}

/* Follows both trees from their roots; returns how many nodes both have. */
static size_t compare_nodes(const struct fixture *all, allo_node_id a, const struct fixture *some,
			    allo_node_id b, allo_sum least)
{
	const struct allo_tree_node *x = &all->tree.nodes.at[a], *y = &some->tree.nodes.at[b];
	size_t count = 1;

	assert_true(x->total.value == y->total.value && x->self.value == y->self.value);
	assert_true(x->width == y->width && x->frame == y->frame);
	for (a = x->first_child, b = y->first_child; a != 0;
	     a = all->tree.nodes.at[a].next_sibling) {
		if (all->tree.nodes.at[a].width < least)
			continue;
		assert_true(b != 0);
		count += compare_nodes(all, a, some, b, least);
		b = some->tree.nodes.at[b].next_sibling;
	}
	assert_true(b == 0);
	return count;
}

static void leaving_out_changes_nothing_about_what_stays(void **state)
{
	ALLO_DEFER(fixture_done) struct fixture all = { 0 }, some = { 0 };

	(void)state;
	fill_at_random(&all.profile);
	fill_at_random(&some.profile);
	for (int inverted = 0; inverted < 2; inverted++) {
		struct allo_tree_options options = { .is_inverted = inverted };
		allo_sum least;

		grow_tree(&all, options);
		least = all.tree.nodes.at[0].width / 1000;
		options.least_share = (double)least / (double)all.tree.nodes.at[0].width;
		grow_tree(&some, options);
		assert_true(some.tree.nodes.len < all.tree.nodes.len / 10);
		assert_int_equal(compare_nodes(&all, 0, &some, 0, least), some.tree.nodes.len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_are_above_and_the_heaviest_come_first),
		cmocka_unit_test(callers_are_below_in_an_inverted_tree),
		cmocka_unit_test(equal_siblings_are_in_the_order_of_their_names),
		cmocka_unit_test(what_is_left_out_still_counts_in_its_callers),
		cmocka_unit_test(a_comparison_is_as_wide_as_the_larger_of_both_stack_by_stack),
		cmocka_unit_test(inlined_calls_are_nodes_and_the_grain_tells_them_apart),
		cmocka_unit_test(a_node_knows_whether_it_has_one_line),
		cmocka_unit_test(nothing_makes_a_root_alone),
		cmocka_unit_test(a_million_frames_deep_is_not_too_deep),
		cmocka_unit_test(leaving_out_changes_nothing_about_what_stays),
	};

	return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
