/* tree.c - see tree.h. */
#include "analysis/tree.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

void allo_tree_done(struct allo_tree *tree)
{
	allo_vec_done(&tree->nodes);
}

/* What tells the children of a node apart. */
struct call_key {
	allo_string_id function, file;
	uint64_t number;
};

struct building {
	struct allo_tree *tree;
	const struct allo_profile *profile;
	const struct allo_columns *columns;
	const struct allo_tree_options *options;
	struct allo_map map;
	ALLO_VEC(struct call_key) keys; /* by node */
	uint64_t seed;
};

static void building_done(struct building *b)
{
	allo_map_done(&b->map);
	allo_vec_done(&b->keys);
}

static struct call_key key_of(const struct building *b, allo_frame_id id, uint32_t call)
{
	const struct allo_frame *frame = &b->profile->frames.at[id];
	struct allo_line line = allo_call_line(b->profile, frame, call);
	struct call_key key = { 0 };

	if (line.function) {
		key.function = b->profile->functions.at[line.function].name;
		key.file = b->profile->functions.at[line.function].file;
		key.number = b->options->grain == ALLO_GRAIN_LINE ? line.line : 0;
	}
	if (line.function == 0 || b->options->grain == ALLO_GRAIN_ADDRESS)
		key.number = frame->address;
	return key;
}

/* The child of a node for a call; 0 when memory is short. */
static allo_node_id add_child(struct building *b, allo_node_id parent, allo_frame_id frame,
			      uint32_t call)
{
	struct call_key key = key_of(b, frame, call);
	uint64_t hash = allo_hash_pair((uint64_t)key.function << 32 | key.file,
				       key.number ^ (uint64_t)parent << 32, b->seed);
	struct allo_probe probe = allo_map_probe(&b->map, hash);
	struct allo_node node = { .parent = parent, .frame = frame, .call = call };
	allo_node_id id;

	while ((id = allo_map_next(&b->map, &probe)) != 0) {
		const struct call_key *old = &b->keys.at[id];

		if (b->tree->nodes.at[id].parent == parent && old->function == key.function &&
		    old->file == key.file && old->number == key.number)
			return id;
	}
	id = (allo_node_id)b->tree->nodes.len;
	if (b->tree->nodes.len >= UINT32_MAX || !allo_vec_append(&b->tree->nodes, &node, 1) ||
	    !allo_vec_append(&b->keys, &key, 1) || !allo_map_put(&b->map, hash, id))
		return 0;
	return id;
}

/* Callers above: the stacks of the profile are such a tree already, only finer. */
static bool add_down(struct building *b)
{
	const struct allo_profile *profile = b->profile;
	ALLO_DEFER(allo_free_pointer)
	allo_node_id *node_of = calloc(profile->stacks.len + 1, sizeof(*node_of));

	if (!node_of)
		return false;
	for (size_t i = 1; i < profile->stacks.len; i++) {
		struct allo_stack stack = profile->stacks.at[i];
		allo_node_id node = node_of[stack.parent];

		for (uint32_t call = allo_frame_call_count(&profile->frames.at[stack.frame]);
		     call-- > 0;) {
			node = add_child(b, node, stack.frame, call);
			if (node == 0)
				return false;
		}
		node_of[i] = node;
	}
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, b->columns, i);

		allo_values_add(&b->tree->nodes.at[node_of[profile->sample_stacks.at[i]]].self,
				&values);
	}
	return true;
}

/* Callers below. */
static bool add_up(struct building *b)
{
	const struct allo_profile *profile = b->profile;

	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		struct allo_values values = allo_values_of(profile, b->columns, i);
		allo_stack_id stack = profile->sample_stacks.at[i];
		allo_node_id node = 0;

		for (; stack != 0; stack = profile->stacks.at[stack].parent) {
			allo_frame_id frame = profile->stacks.at[stack].frame;
			uint32_t calls = allo_frame_call_count(&profile->frames.at[frame]);

			for (uint32_t call = 0; call < calls; call++) {
				node = add_child(b, node, frame, call);
				if (node == 0)
					return false;
			}
		}
		allo_values_add(&b->tree->nodes.at[node].self, &values);
	}
	return true;
}

static void add_totals(struct allo_tree *tree)
{
	for (size_t i = tree->nodes.len; i-- > 0;) {
		struct allo_node *node = &tree->nodes.at[i];

		allo_values_add(&node->total, &node->self);
		if (i > 0)
			allo_values_add(&tree->nodes.at[node->parent].total, &node->total);
	}
}

static allo_sum weight(const struct allo_node *node)
{
	allo_sum change = node->total.value - node->total.before;

	/* In a comparison with nothing on the other side this is the value itself. */
	return change < 0 ? -change : change;
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct building *building = context;
	const allo_node_id *x = a, *y = b;
	const struct allo_node *nodes = building->tree->nodes.at;
	const struct call_key *x_key = &building->keys.at[*x], *y_key = &building->keys.at[*y];
	allo_sum x_weight, y_weight;
	int order;

	if (nodes[*x].parent != nodes[*y].parent)
		return nodes[*x].parent < nodes[*y].parent ? -1 : 1;
	x_weight = weight(&nodes[*x]);
	y_weight = weight(&nodes[*y]);
	if (x_weight != y_weight)
		return x_weight < y_weight ? 1 : -1;
	order = allo_text_compare(allo_profile_text(building->profile, x_key->function),
				  allo_profile_text(building->profile, y_key->function));
	return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* Chains the children of each node, the heaviest first. */
static bool link_children(struct building *b)
{
	struct allo_node *nodes = b->tree->nodes.at;
	size_t count = b->tree->nodes.len;
	ALLO_DEFER(allo_free_pointer) allo_node_id *order = malloc((count + 1) * sizeof(*order));

	if (!order)
		return false;
	for (size_t i = 0; i < count; i++)
		order[i] = (allo_node_id)i;
	qsort_r(order + 1, count - 1, sizeof(*order), compare_nodes, b);
	for (size_t i = count; i-- > 1;) {
		struct allo_node *node = &nodes[order[i]], *parent = &nodes[node->parent];

		node->next_sibling = parent->first_child;
		parent->first_child = order[i];
	}
	return true;
}

bool allo_tree_from_profile(struct allo_tree *tree, const struct allo_profile *profile,
			    const struct allo_columns *columns,
			    const struct allo_tree_options *options, struct allo_error *err)
{
	ALLO_DEFER(building_done)
	struct building b = { .tree = tree,
			      .profile = profile,
			      .columns = columns,
			      .options = options,
			      .seed = allo_hash_seed() };
	struct allo_node root = { 0 };
	struct call_key none = { 0 };

	if (!allo_vec_append(&tree->nodes, &root, 1) || !allo_vec_append(&b.keys, &none, 1) ||
	    !(options->is_inverted ? add_up(&b) : add_down(&b)))
		return allo_fail_memory(err);
	add_totals(tree);
	return link_children(&b) || allo_fail_memory(err);
}
