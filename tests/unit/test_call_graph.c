/* test_call_graph.c - writers/call_graph.h. */
#include "check.h"
#include "profiles.h"

#include "base/defer.h"
#include "writers/call_graph.h"

/* Adds a sample whose functions are single letters, the outermost first. */
static void add(struct allo_profile *profile, const char *letters, uint64_t value)
{
	struct allo_error err = { 0 };
	allo_stack_id stack = 0;
	uint64_t *row;

	for (; *letters; letters++) {
		struct allo_text name = { letters, 1 };

		stack = allo_profile_add_stack(
			profile, stack, allo_profile_add_named_frame(profile, name, &err), &err);
	}
	row = allo_profile_add_sample(profile, stack, 0, NULL, &err);
	assert_non_null(row);
	row[0] += value;
}

static void prepare(struct allo_profile *profile)
{
	struct allo_error err = { 0 };

	assert_true(allo_profile_add_metric(profile, ALLO_ALLOC_BYTES, NULL, &err));
}

/* The letter of a function, '*' for the root and '.' for none. */
static char letter(const struct allo_profile *profile, const struct allo_call_graph *graph,
		   uint32_t function)
{
	if (function == 0)
		return '.';
	if (function == ALLO_GRAPH_ROOT)
		return '*';
	return allo_profile_text(profile, graph->functions.at[function - 1].key.name).data[0];
}

/* The cost of calls from one function to another, or the own cost of a function; -1 for none. */
static int cost(const struct allo_profile *profile, const struct allo_call_graph *graph, char from,
		char to)
{
	for (size_t i = 0; i < graph->costs.len; i++) {
		if (letter(profile, graph, graph->costs.at[i].function) == from &&
		    letter(profile, graph, graph->costs.at[i].callee) == to)
			return (int)graph->values.at[i];
	}
	return -1;
}

static void stacks_add_up_to_calls(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_call_graph_done) struct allo_call_graph graph = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	prepare(&profile);
	add(&profile, "mfa", 1000);
	add(&profile, "mga", 9);
	add(&profile, "m", 23);
	add(&profile, "", 5);
	assert_true(allo_call_graph_add(&graph, &profile, &notes, &err));
	assert_int_equal(graph.sums.at[0], 1037);
	assert_int_equal(cost(&profile, &graph, '*', 'm'), 1032);
	assert_int_equal(cost(&profile, &graph, 'm', 'f'), 1000);
	assert_int_equal(cost(&profile, &graph, 'g', 'a'), 9);
	assert_int_equal(cost(&profile, &graph, 'a', '.'), 1009);
	assert_int_equal(cost(&profile, &graph, 'm', '.'), 23);
	assert_int_equal(cost(&profile, &graph, '*', '.'), 5);
}

static void calls_of_itself_are_one_call(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_call_graph_done) struct allo_call_graph graph = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	prepare(&profile);
	add(&profile, "mfffa", 1000);
	assert_true(allo_call_graph_add(&graph, &profile, &notes, &err));
	assert_int_equal(cost(&profile, &graph, 'm', 'f'), 1000);
	assert_int_equal(cost(&profile, &graph, 'f', 'f'), -1);
	assert_int_equal(cost(&profile, &graph, 'f', 'a'), 1000);
}

static void a_function_that_comes_again_is_paid_for_already(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_call_graph_done) struct allo_call_graph graph = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	prepare(&profile);
	add(&profile, "mfgfga", 1000);
	assert_true(allo_call_graph_add(&graph, &profile, &notes, &err));
	assert_int_equal(cost(&profile, &graph, 'm', 'f'), 1000);
	assert_int_equal(cost(&profile, &graph, 'f', 'g'), 1000);
	assert_int_equal(cost(&profile, &graph, 'g', 'f'), 0);
	assert_int_equal(cost(&profile, &graph, 'g', 'a'), 1000);
}

static void portions_add_up(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_call_graph_done) struct allo_call_graph graph = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	prepare(&profile);
	for (int i = 0; i < 3; i++) {
		allo_profile_clear_samples(&profile);
		add(&profile, "ma", 1000);
		add(&profile, i == 1 ? "mb" : "b", 3);
		assert_true(allo_call_graph_add(&graph, &profile, &notes, &err));
	}
	assert_int_equal(cost(&profile, &graph, 'm', 'a'), 3000);
	assert_int_equal(cost(&profile, &graph, 'm', 'b'), 3);
	assert_int_equal(cost(&profile, &graph, '*', 'b'), 6);
}

static void sums_stay_at_the_largest_number(void **state)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
	ALLO_DEFER(allo_call_graph_done) struct allo_call_graph graph = { 0 };
	struct allo_notes notes = { 0 };
	struct allo_error err = { 0 };

	(void)state;
	prepare(&profile);
	add(&profile, "ma", UINT64_MAX);
	add(&profile, "mb", 1);
	assert_true(allo_call_graph_add(&graph, &profile, &notes, &err));
	assert_true(graph.sums.at[0] == UINT64_MAX);
	assert_true(notes.of[ALLO_NOTE_SATURATED].count > 0);
}

static const struct allo_graph_key *key(const struct allo_call_graph *graph, uint32_t function)
{
	static const struct allo_graph_key none;

	return function ? &graph->functions.at[function - 1].key : &none;
}

static bool same_key(const struct allo_graph_key *a, const struct allo_graph_key *b)
{
	return a->address == b->address && a->name == b->name && a->file == b->file &&
	       a->object == b->object;
}

/* The index of the same cost in another graph. */
static size_t find_cost(const struct allo_call_graph *graph, const struct allo_call_graph *other,
			const struct allo_graph_cost *wanted)
{
	size_t i = 0;

	while (i < graph->costs.len &&
	       (graph->costs.at[i].line != wanted->line ||
		(graph->costs.at[i].callee == 0) != (wanted->callee == 0) ||
		(graph->costs.at[i].function == ALLO_GRAPH_ROOT) !=
			(wanted->function == ALLO_GRAPH_ROOT) ||
		!same_key(key(graph, graph->costs.at[i].function), key(other, wanted->function)) ||
		!same_key(key(graph, graph->costs.at[i].callee), key(other, wanted->callee))))
		i++;
	assert_true(i < graph->costs.len);
	return i;
}

/* A single sample is added along its stack, many of a recursion by one walk over all stacks. */
static void a_recursion_adds_up_to_the_costs_of_its_samples(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 10; round++) {
		ALLO_DEFER(allo_profile_done) struct allo_profile profile = { 0 };
		ALLO_DEFER(allo_call_graph_done) struct allo_call_graph all = { 0 };
		ALLO_DEFER(allo_call_graph_done) struct allo_call_graph single = { 0 };
		struct shape shape = {
			.names = 4, .samples = 1500, .depth = 400, .is_recursive = true
		};
		struct allo_notes notes = { 0 };
		struct allo_error err = { 0 };
		uint64_t seed = round;

		draw_profile(&profile, &seed, &shape);
		assert_true(allo_call_graph_add(&all, &profile, &notes, &err));
		for (size_t i = 0; i < allo_profile_sample_count(&profile); i++) {
			struct allo_profile view = view_sample(&profile, i);

			assert_true(allo_call_graph_add(&single, &view, &notes, &err));
		}
		assert_true(all.steps < single.steps);
		assert_int_equal(all.costs.len, single.costs.len);
		for (size_t i = 0; i < all.costs.len; i++) {
			size_t same = find_cost(&single, &all, &all.costs.at[i]);

			assert_int_equal(all.costs.at[i].calls, single.costs.at[same].calls);
			assert_memory_equal(all.values.at + 2 * i, single.values.at + 2 * same,
					    2 * sizeof(*all.values.at));
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_add_up_to_calls),
		cmocka_unit_test(calls_of_itself_are_one_call),
		cmocka_unit_test(a_function_that_comes_again_is_paid_for_already),
		cmocka_unit_test(portions_add_up),
		cmocka_unit_test(sums_stay_at_the_largest_number),
		cmocka_unit_test(a_recursion_adds_up_to_the_costs_of_its_samples),
	};

	return cmocka_run_group_tests_name("call_graph", tests, NULL, NULL);
}
