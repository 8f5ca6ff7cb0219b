/* test_tree_sums.c - analysis/tree.h, against sums made in the plainest way. */
#include "check.h"
#include "profiles.h"
#include "tally.h"

#include "analysis/tree.h"
#include "base/defer.h"

static struct tally tally;

/* Adds ">name file number" of a call to a path from the root; one without a name is in its module.
 */
static void add_call(char *path, size_t room, enum allo_tree_grain grain,
		     const struct allo_profile *profile, const struct allo_frame *frame,
		     uint32_t call)
{
	struct allo_line line = allo_call_line(profile, frame, call);
	struct allo_text name = { "", 0 }, file = allo_line_file(profile, line);
	unsigned long long number = grain == ALLO_GRAIN_LINE ? line.line : 0;
	size_t used = strlen(path);

	if (line.function)
		name = allo_profile_text(profile, profile->functions.at[line.function].name);
	if (!line.function || grain == ALLO_GRAIN_ADDRESS)
		number = frame->address;
	if (!line.function && frame->module)
		file = allo_profile_text(profile, profile->modules.at[frame->module].path);
	snprintf(path + used, room - used, ">%.*s %.*s %llu", ALLO_TEXT_ARG(name),
		 ALLO_TEXT_ARG(file), number);
}

/* Calls of a sample, the innermost first. */
struct call {
	allo_frame_id frame;
	uint32_t call;
};

static size_t list_calls(const struct allo_profile *profile, size_t sample, struct call *calls)
{
	size_t count = 0;

	for (allo_stack_id id = profile->sample_stacks.at[sample]; id;
	     id = profile->stacks.at[id].parent) {
		allo_frame_id frame = profile->stacks.at[id].frame;

		for (uint32_t i = 0; i < allo_frame_call_count(&profile->frames.at[frame]); i++)
			calls[count++] = (struct call){ frame, i };
	}
	return count;
}

static void add_plainly(const struct allo_profile *profile, size_t sample,
			const struct allo_tree_options *options)
{
	int64_t value = (int64_t)allo_profile_row(profile, sample)[0];
	struct call calls[256];
	size_t count = list_calls(profile, sample, calls);
	char path[4096] = "";

	tally_row(&tally, path)->total += value;
	for (size_t i = 0; i < count; i++) {
		const struct call *call = &calls[options->is_inverted ? i : count - 1 - i];

		add_call(path, sizeof(path), options->grain, profile,
			 &profile->frames.at[call->frame], call->call);
		tally_row(&tally, path)->total += value;
	}
	tally_row(&tally, path)->self += value;
}

static void path_of(const struct allo_tree *tree, allo_node_id id,
		    const struct allo_profile *profile, enum allo_tree_grain grain, char path[4096])
{
	allo_node_id way[256];
	size_t depth = 0;

	for (; id != 0; id = tree->nodes.at[id].parent)
		way[depth++] = id;
	path[0] = '\0';
	while (depth-- > 0) {
		const struct allo_tree_node *node = &tree->nodes.at[way[depth]];

		add_call(path, 4096, grain, profile, &profile->frames.at[node->frame], node->call);
	}
}

static void assert_nodes_are_those_of_the_tally(const struct allo_tree *tree,
						const struct allo_profile *profile,
						enum allo_tree_grain grain)
{
	char path[4096];

	assert_int_equal(tree->nodes.len, tally.count);
	for (allo_node_id id = 0; id < tree->nodes.len; id++) {
		const struct allo_tree_node *node = &tree->nodes.at[id];
		size_t known = tally.count;
		const struct tally_row *row;

		path_of(tree, id, profile, grain, path);
		row = tally_row(&tally, path);
		assert_int_equal(tally.count, known);
		assert_true(node->self.value == row->self);
		assert_true(node->total.value == row->total);
		assert_true(id == 0 || node->parent < id);
	}
}

/* Every node is some node's child exactly once, and the heaviest come first. */
static void assert_children_are_chained(const struct allo_tree *tree)
{
	size_t chained = 1;

	for (allo_node_id id = 0; id < tree->nodes.len; id++) {
		allo_node_id child = tree->nodes.at[id].first_child;

		for (; child != 0; child = tree->nodes.at[child].next_sibling) {
			allo_node_id next = tree->nodes.at[child].next_sibling;

			assert_int_equal(tree->nodes.at[child].parent, id);
			assert_true(next == 0 || tree->nodes.at[next].total.value <=
							 tree->nodes.at[child].total.value);
			chained++;
		}
	}
	assert_int_equal(chained, tree->nodes.len);
}

static void nodes_are_what_plain_sums_say(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 300; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
		struct allo_tree_options options = { .grain = (enum allo_tree_grain)(round % 3),
						     .is_inverted = round % 2 };
		struct shape shape = { .names = 3,
				       .frames = 6,
				       .samples = 30,
				       .depth = 6,
				       .has_labels = round % 5 == 0 };
		struct allo_metric_columns columns;
		struct allo_error err = { 0 };
		uint64_t seed = round;

		draw_profile(&profile, &seed, &shape);
		columns = allo_metric_columns_of(&profile, 0);
		tally_row(&tally, "");
		for (size_t i = 0; i < allo_profile_sample_count(&profile); i++)
			add_plainly(&profile, i, &options);
		assert_true(allo_tree_from_profile(&tree, &profile, &columns, &options, &err));
		assert_nodes_are_those_of_the_tally(&tree, &profile, options.grain);
		assert_children_are_chained(&tree);
		tally_done(&tally);
	}
}

static void a_million_calls_deep_is_fine(void **state)
{
	(void)state;
	for (int inverted = 0; inverted < 2; inverted++) {
		/* With this seed, a hash of 32 bits that is folded from a product comes back after
		 * 48 calls. */
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { .seed = 921 };
		ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
		struct allo_tree_options options = { .is_inverted = inverted };
		struct allo_metric_columns columns;
		struct allo_error err = { 0 };
		allo_frame_id frame = allo_profile_add_named_frame(&profile, ALLO_TEXT("f"), &err);
		allo_stack_id stack = 0;

		assert_true(allo_profile_add_metric(&profile, ALLO_ALLOC_BYTES, NULL, &err));
		for (int i = 0; i < 1000000; i++)
			stack = allo_profile_add_stack(&profile, stack, frame, &err);
		*allo_profile_add_sample(&profile, stack, 0, NULL, &err) = 5;
		columns = allo_metric_columns_of(&profile, 0);
		assert_true(allo_tree_from_profile(&tree, &profile, &columns, &options, &err));
		assert_int_equal(tree.nodes.len, 1000001);
		assert_true(tree.nodes.at[0].total.value == 5);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes_are_what_plain_sums_say),
		cmocka_unit_test(a_million_calls_deep_is_fine),
	};

	return cmocka_run_group_tests_name("tree_sums", tests, NULL, NULL);
}
