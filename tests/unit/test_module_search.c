/* test_module_search.c - the search for modules, against a plain loop. */
#include "base/defer.h"
#include "check.h"
#include "random.h"
#include "replay/recording/module_search.h"

#include <stdlib.h>
#include <time.h>

static void add(struct allo_recording *recording, uint64_t start, uint64_t end, uint32_t generation,
		uint32_t gone)
{
	struct allo_loaded_module module = {
		.start = start, .end = end, .generation = generation, .gone = gone
	};

	assert_true(allo_vec_append(&recording->modules, &module, 1));
}

static int compare(const void *left, const void *right)
{
	const struct allo_loaded_module *a = left, *b = right;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->generation < b->generation ? -1 : a->generation > b->generation;
}

static void sort(struct allo_recording *recording)
{
	if (recording->modules.len == 0)
		return;
	qsort(recording->modules.at, recording->modules.len, sizeof(*recording->modules.at),
	      compare);
}

static const struct allo_loaded_module *find_slowly(const struct allo_recording *recording,
						    uint64_t address, uint32_t generation)
{
	for (size_t i = recording->modules.len; i-- > 0;) {
		const struct allo_loaded_module *module = &recording->modules.at[i];

		if (module->start <= address && address < module->end &&
		    module->generation <= generation && generation < module->gone)
			return module;
	}
	return NULL;
}

static void overlapping_modules_are_found_like_by_a_loop(void **state)
{
	uint64_t seed = 7;

	(void)state;
	for (size_t count = 0; count < 70; count++) {
		struct allo_recording recording = { 0 };
		struct allo_module_search search;
		struct allo_error err = { 0 };

		for (size_t i = 0; i < count; i++) {
			uint64_t start = draw(&seed, 64);
			uint32_t generation = draw(&seed, 16);

			add(&recording, start, start + 1 + draw(&seed, 32), generation,
			    generation + draw(&seed, 16));
		}
		sort(&recording);
		assert_true(allo_module_search_init(&search, &recording, &err));
		for (uint32_t generation = 0; generation < 32; generation++) {
			for (uint64_t address = 0; address < 100; address++)
				assert_ptr_equal(
					allo_module_search_find(&search, address, generation),
					find_slowly(&recording, address, generation));
		}
		allo_module_search_done(&search);
		allo_vec_done(&recording.modules);
	}
}

/* CPU seconds to look up as many nodes as there are modules, all at one address.  No module is
 * loaded in a node's generation. */
static double search_seconds(size_t count)
{
	struct allo_recording recording = { 0 };
	struct allo_error err = { 0 };
	clock_t start;
	uint32_t *modules;

	assert_true(allo_vec_cover(&recording.nodes, count));
	for (size_t i = 0; i < count; i++) {
		recording.nodes.at[i] = (struct allo_recorded_node){ .pc = 0x1800,
								     .generation = i % 2 ? 1000 : 3,
								     .flags = ALLO_NODE_KNOWN };
		add(&recording, 0x1000 + i % 16, 0x2000, 1001, UINT32_MAX);
	}
	sort(&recording);
	start = clock();
	modules = allo_modules_of_nodes(&recording, &err);
	assert_non_null(modules);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(modules[i], 0);
	free(modules);
	allo_vec_done(&recording.modules);
	allo_vec_done(&recording.nodes);
	return (double)(clock() - start) / CLOCKS_PER_SEC;
}

/* A search through all modules for each node takes 1024 times as long for 32 times as many. */
static void work_does_not_grow_with_the_product_of_nodes_and_modules(void **state)
{
	double best = 1e9;

	(void)state;
	for (int i = 0; i < 5 && best > 200; i++) {
		double few = search_seconds(1 << 13), many = search_seconds(1 << 18);

		if (few > 0 && many / few < best)
			best = many / few;
	}
	assert_true(best < 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_modules_are_found_like_by_a_loop),
		cmocka_unit_test(work_does_not_grow_with_the_product_of_nodes_and_modules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
