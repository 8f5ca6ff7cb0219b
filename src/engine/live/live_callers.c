/* live_callers.c - see live_callers.h.  Recursions may be deep, so nothing here is recursive. */
#include "engine/live/live_callers.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/hash.h"
#include "profile/naming.h"
#include "profile/source_name.h"

#include <stdlib.h>

static void drop_tree(struct allo_live_callers *callers)
{
	allo_tree_done(&callers->tree);
	callers->tree = (struct allo_tree){ 0 };
	callers->stacks.len = callers->nodes.len = callers->order.len = 0;
	callers->places.len = callers->first.len = 0;
	allo_arena_done(&callers->arena);
	callers->arena = (struct allo_arena){ 0 };
}

void allo_live_callers_done(struct allo_live_callers *callers)
{
	drop_tree(callers);
	allo_vec_done(&callers->rows);
	allo_vec_done(&callers->stacks);
	allo_vec_done(&callers->nodes);
	allo_vec_done(&callers->order);
	allo_vec_done(&callers->places);
	allo_vec_done(&callers->first);
}

/* The tree. */

/* One sample for each stack of the site. */
static bool add_samples(struct allo_live_callers *callers, struct allo_live_sites *sites,
			struct allo_error *err)
{
	const struct allo_when when = { 0 };

	for (uint32_t i = 0; i < sites->row_of_stack.len; i++) {
		uint32_t row = sites->row_of_stack.at[i];
		uint64_t *values;

		if (row == 0 || row == UINT32_MAX || sites->rows.at[row - 1].id != callers->site)
			continue;
		values = allo_profile_add_timed_sample(&sites->profile, sites->stacks[i], 0, &when,
						       err);
		if (!values || !allo_vec_add(&callers->stacks, i, err))
			return false;
		values[0] = 1;
	}
	return true;
}

static bool drop_samples(struct allo_profile *profile, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	bool *none = calloc(allo_profile_sample_count(profile) + 1, sizeof(*none));

	if (!none)
		return allo_fail_memory(err);
	allo_profile_keep_samples(profile, none);
	return true;
}

static bool make_tree(struct allo_live_callers *callers, struct allo_live_sites *sites,
		      struct allo_error *err)
{
	const struct allo_tree_options options = { .grain = ALLO_GRAIN_LINE, .is_inverted = true };
	struct allo_profile *profile = &sites->profile;
	struct allo_metric_columns columns = allo_metric_columns_of(profile, 0);

	/* The grouping has left samples of all sites. */
	return drop_samples(profile, err) && add_samples(callers, sites, err) &&
	       allo_tree_from_profile(&callers->tree, profile, &columns, &options, err);
}

static struct allo_text keep(struct allo_live_callers *callers, struct allo_text text,
			     struct allo_error *err)
{
	const char *kept = allo_arena_copy(&callers->arena, text.data, text.len);

	if (!kept)
		allo_fail_memory(err);
	return (struct allo_text){ kept, text.len };
}

static struct allo_live_row name_node(struct allo_live_callers *callers,
				      struct allo_live_sites *sites,
				      const struct allo_tree_node *node, struct allo_error *err)
{
	const struct allo_profile *profile = &sites->profile;
	const struct allo_frame *frame = &profile->frames.at[node->frame];
	struct allo_line line = allo_call_line(profile, frame, node->call);
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text name = allo_call_name(profile, frame, node->call, scratch);
	struct allo_text file = allo_source_name(allo_line_file(profile, line));
	uint64_t id = callers->nodes.at[node->parent].id;

	id = allo_hash_bytes(name.data, name.len, allo_hash_pair(id, line.line, allo_hash_seed()));
	return (struct allo_live_row){
		.name = keep(callers, name, err),
		.file = file,
		.line = line.line,
		.id = id,
		.is_own = allo_is_own_call(&sites->ownership, profile, frame, node->call),
	};
}

static bool name_nodes(struct allo_live_callers *callers, struct allo_live_sites *sites,
		       struct allo_error *err)
{
	const struct allo_tree *tree = &callers->tree;
	struct allo_live_row root = { .id = callers->site };

	for (size_t i = 0; i < tree->nodes.len; i++)
		allo_vec_add(&callers->nodes,
			     i ? name_node(callers, sites, &tree->nodes.at[i], err) : root, err);
	for (uint32_t i = 1; i < tree->nodes.len; i++)
		allo_vec_add(&callers->order, i, err);
	allo_vec_extend(&callers->places, tree->nodes.len, err);
	allo_vec_extend(&callers->first, tree->nodes.len, err);
	return !allo_failed(err);
}

/* Numbers. */

/* The last caller of a sample is a node; a node has the sum of its callers. */
static void add_up(struct allo_live_callers *callers, const struct allo_live_heap *heap)
{
	const struct allo_tree *tree = &callers->tree;

	for (size_t i = 0; i < callers->nodes.len; i++)
		callers->nodes.at[i].sum = (struct allo_live_sum){ 0 };
	for (size_t i = 0; i < callers->stacks.len; i++) {
		struct allo_live_sum sum = allo_live_heap_stack(heap, callers->stacks.at[i]);
		uint32_t node = tree->sample_nodes[i] & ~ALLO_TREE_BELOW;

		ALLO_ASSERT(node < callers->nodes.len);
		allo_live_sum_add(&callers->nodes.at[node].sum, &sum);
	}
	for (size_t i = callers->nodes.len; i-- > 1;)
		allo_live_sum_add(&callers->nodes.at[tree->nodes.at[i].parent].sum,
				  &callers->nodes.at[i].sum);
}

/* Rows. */

struct sorter {
	const struct allo_live_callers *callers;
	enum allo_live_sort sort;
};

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct sorter *sorter = context;
	const struct allo_live_callers *callers = sorter->callers;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint32_t x_parent = callers->tree.nodes.at[x].parent;
	uint32_t y_parent = callers->tree.nodes.at[y].parent;

	if (x_parent != y_parent)
		return x_parent < y_parent ? -1 : 1;
	return allo_live_row_compare(&callers->nodes.at[x], &callers->nodes.at[y], sorter->sort);
}

static void sort_nodes(struct allo_live_callers *callers, enum allo_live_sort sort)
{
	struct sorter sorter = { callers, sort };

	if (callers->order.len > 0)
		qsort_r(callers->order.at, callers->order.len, sizeof(*callers->order.at),
			compare_nodes, &sorter);
	memset(callers->first.at, 0, callers->first.len * sizeof(*callers->first.at));
	for (size_t i = callers->order.len; i-- > 0;) {
		uint32_t node = callers->order.at[i];

		callers->places.at[node] = (uint32_t)i;
		callers->first.at[callers->tree.nodes.at[node].parent] = (uint32_t)i + 1;
	}
}

/* The next sibling; 0: none. */
static uint32_t next_sibling(const struct allo_live_callers *callers, uint32_t node)
{
	size_t next = callers->places.at[node] + (size_t)1;
	const struct allo_tree_node *nodes = callers->tree.nodes.at;

	if (next >= callers->order.len)
		return 0;
	return nodes[callers->order.at[next]].parent == nodes[node].parent ? callers->order.at[next]
									   : 0;
}

/* The node that is drawn below another one; 0: none. */
static uint32_t next_drawn(const struct allo_live_callers *callers, uint32_t node)
{
	uint32_t next;

	if (callers->first.at[node])
		return callers->order.at[callers->first.at[node] - 1];
	while (node != 0 && (next = next_sibling(callers, node)) == 0)
		node = callers->tree.nodes.at[node].parent;
	return node ? next : 0;
}

/* The only caller of a function stands below it, at the same depth and without numbers. */
static void place_node(struct allo_live_callers *callers, uint32_t node)
{
	uint32_t parent = callers->tree.nodes.at[node].parent;
	const struct allo_live_row *callee = &callers->nodes.at[parent];
	struct allo_live_row *row = &callers->nodes.at[node];

	row->is_continued = parent != 0 && memcmp(&row->sum, &callee->sum, sizeof(row->sum)) == 0;
	row->depth = parent == 0 ? 0 : callee->depth + !row->is_continued;
}

static bool list_rows(struct allo_live_callers *callers, struct allo_error *err)
{
	callers->rows.len = 0;
	if (callers->nodes.len == 0)
		return true;
	for (uint32_t node = 0; (node = next_drawn(callers, node)) != 0;) {
		place_node(callers, node);
		if (!allo_live_is_idle(&callers->nodes.at[node].sum) &&
		    !allo_vec_add(&callers->rows, callers->nodes.at[node], err))
			return false;
	}
	return true;
}

bool allo_live_callers_update(struct allo_live_callers *callers, struct allo_live_sites *sites,
			      const struct allo_live_heap *heap, uint64_t site,
			      enum allo_live_sort sort, struct allo_error *err)
{
	if (callers->site != site || callers->groupings != sites->groupings) {
		drop_tree(callers);
		callers->site = site;
		callers->groupings = sites->groupings;
		if (!make_tree(callers, sites, err) || !name_nodes(callers, sites, err))
			return false;
	}
	add_up(callers, heap);
	sort_nodes(callers, sort);
	return list_rows(callers, err);
}
