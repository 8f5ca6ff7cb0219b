/* module_search.c - see module_search.h. */
#include "replay/recording/module_search.h"

#include "base/defer.h"
#include "base/sorted.h"

#include <stdlib.h>

/* Sorting. */

/* A module or node and its generation. */
struct keyed {
	uint32_t generation, index;
};

static int compare_keyed(const void *left, const void *right)
{
	const struct keyed *a = left, *b = right;

	if (a->generation != b->generation)
		return a->generation < b->generation ? -1 : 1;
	return a->index < b->index ? -1 : a->index > b->index;
}

/* Sorts modules by the generation where they come, or go.  NULL when memory is short. */
static uint32_t *sort_modules(const struct allo_recording *recording, bool by_end)
{
	size_t count = recording->modules.len;
	ALLO_DEFER(allo_free_pointer) struct keyed *keyed = calloc(count + 1, sizeof(*keyed));
	uint32_t *sorted = calloc(count + 1, sizeof(*sorted));

	if (!keyed || !sorted) {
		free(sorted);
		return NULL;
	}
	for (size_t i = 0; i < count; i++) {
		const struct allo_loaded_module *module = &recording->modules.at[i];

		keyed[i] = (struct keyed){ by_end ? module->gone : module->generation,
					   (uint32_t)i };
	}
	qsort(keyed, count, sizeof(*keyed), compare_keyed);
	for (size_t i = 0; i < count; i++)
		sorted[i] = keyed[i].index;
	return sorted;
}

/* The tree. */

bool allo_module_search_init(struct allo_module_search *search,
			     const struct allo_recording *recording, struct allo_error *err)
{
	*search = (struct allo_module_search){ .recording = recording, .leaves = 1 };
	/* One leaf more than modules, so that find_last() has a place to start from. */
	while (search->leaves <= recording->modules.len)
		search->leaves *= 2;
	search->by_start = sort_modules(recording, false);
	search->by_end = sort_modules(recording, true);
	search->reach = calloc(2 * search->leaves, sizeof(*search->reach));
	return (search->by_start && search->by_end && search->reach) || allo_fail_memory(err);
}

void allo_module_search_done(struct allo_module_search *search)
{
	free(search->by_start);
	free(search->by_end);
	free(search->reach);
	*search = (struct allo_module_search){ 0 };
}

static void set_reach(struct allo_module_search *search, size_t module, uint64_t end)
{
	size_t at = search->leaves + module;

	search->reach[at] = end;
	while (at > 1) {
		at /= 2;
		search->reach[at] = search->reach[2 * at] > search->reach[2 * at + 1]
					    ? search->reach[2 * at]
					    : search->reach[2 * at + 1];
	}
}

/* Goes on to a generation. */
static void advance(struct allo_module_search *search, uint32_t generation)
{
	const struct allo_loaded_module *modules = search->recording->modules.at;
	size_t count = search->recording->modules.len;

	for (; search->started < count; search->started++) {
		uint32_t i = search->by_start[search->started];

		if (modules[i].generation > generation)
			break;
		set_reach(search, i, modules[i].end);
	}
	for (; search->ended < count; search->ended++) {
		uint32_t i = search->by_end[search->ended];

		if (modules[i].gone > generation)
			break;
		set_reach(search, i, 0);
	}
}

/* The last of the first `count` modules that reaches beyond an address, plus 1; or 0. */
static size_t find_last(const struct allo_module_search *search, size_t count, uint64_t address)
{
	size_t at = search->leaves + count;

	/* Go to the left of `at`, or up, until a tree on the left side reaches far enough. */
	for (; at > 1; at /= 2) {
		if (at % 2 == 1 && search->reach[at - 1] > address) {
			at--;
			break;
		}
	}
	if (at <= 1)
		return 0;
	while (at < search->leaves)
		at = 2 * at + (search->reach[2 * at + 1] > address);
	return at - search->leaves + 1;
}

const struct allo_loaded_module *allo_module_search_find(struct allo_module_search *search,
							 uint64_t address, uint32_t generation)
{
	const struct allo_recording *recording = search->recording;
	size_t count, found;

	advance(search, generation);
	count = allo_sorted_up_to(recording->modules.at, recording->modules.len, start, address);
	found = find_last(search, count, address);
	return found > 0 ? &recording->modules.at[found - 1] : NULL;
}

/* Nodes. */

/* The numbers of all nodes, sorted by generation.  NULL when memory is short. */
static struct keyed *sort_nodes(const struct allo_recording *recording)
{
	size_t count = recording->nodes.len;
	struct keyed *keyed = malloc((count + 1) * sizeof(*keyed));
	bool are_sorted = true;

	for (size_t i = 0; keyed && i < count; i++) {
		keyed[i] = (struct keyed){ recording->nodes.at[i].generation, (uint32_t)i };
		are_sorted &= i == 0 || keyed[i - 1].generation <= keyed[i].generation;
	}
	/* They are, unless the file is damaged. */
	if (keyed && !are_sorted)
		qsort(keyed, count, sizeof(*keyed), compare_keyed);
	return keyed;
}

uint32_t *allo_modules_of_nodes(const struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_module_search_done) struct allo_module_search search = { 0 };
	ALLO_DEFER(allo_free_pointer) struct keyed *nodes = sort_nodes(recording);
	uint32_t *modules = calloc(recording->nodes.len + 1, sizeof(*modules));

	if (!nodes || !modules || !allo_module_search_init(&search, recording, err)) {
		free(modules);
		allo_fail_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < recording->nodes.len; i++) {
		const struct allo_recorded_node *node = &recording->nodes.at[nodes[i].index];
		const struct allo_loaded_module *found;

		if ((node->flags & (ALLO_NODE_KNOWN | ALLO_NODE_FUNCTION)) != ALLO_NODE_KNOWN)
			continue;
		found = allo_module_search_find(&search, allo_recorded_node_address(node),
						node->generation);
		if (found)
			modules[nodes[i].index] = (uint32_t)(found - recording->modules.at) + 1;
	}
	return modules;
}
