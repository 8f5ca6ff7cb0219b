/*
 * dhat_tree.c - see dhat_tree.h.
 *
 * Points are added one by one.  A node that a point leaves halfway is split: the new node takes the
 * upper part and its place among its siblings, the old one keeps its children.
 */
#include "analysis/dhat_tree.h"

#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOT = 0 };

enum significance { SIGNIFICANT_NOT, SIGNIFICANT_BELOW, SIGNIFICANT_SELF };

struct node {
	struct allo_pp_values values;
	struct allo_call first_call;
	uint64_t call_count, points;
	uint32_t sample;
	uint32_t parent;
	uint32_t edge;  /* by which its parent finds it */
	uint32_t empty; /* the child for points that end here, where there are others; 0: none */
	uint32_t child_count;
	uint32_t birth; /* the first point that came through: siblings of the same size go by it */
	uint32_t merged;
	uint32_t rest; /* what its insignificant children have become; 0: nothing */
	enum significance significance;
	bool is_gone;
};

struct building {
	const struct allo_profile *profile;
	const struct allo_pp_columns *columns;
	const struct allo_pp_sort *sort;
	ALLO_VEC(struct node) nodes;
	struct allo_map map;      /* indices of `edges` */
	ALLO_VEC(uint32_t) edges; /* the node that a parent and a first call lead to */
	uint64_t seed;
};

static void building_done(struct building *b)
{
	allo_vec_done(&b->nodes);
	allo_vec_done(&b->edges);
	allo_map_done(&b->map);
}

void allo_dhat_tree_done(struct allo_dhat_tree *tree)
{
	allo_vec_done(&tree->nodes);
}

/* Calls are equal where DHAT would have one entry in its table of frames. */

struct call_key {
	uint64_t address;
	struct allo_line line;
	allo_module_id module;
};

static struct call_key key_of(const struct building *b, struct allo_call call)
{
	const struct allo_frame *frame =
		&b->profile->frames.at[b->profile->stacks.at[call.stack].frame];

	return (struct call_key){ frame->address, allo_call_line(b->profile, frame, call.line),
				  frame->module };
}

static bool same_call(const struct building *b, struct allo_call x, struct allo_call y)
{
	struct call_key a, c;

	if (x.line == y.line &&
	    b->profile->stacks.at[x.stack].frame == b->profile->stacks.at[y.stack].frame)
		return true;
	a = key_of(b, x);
	c = key_of(b, y);
	return a.address == c.address && a.line.function == c.line.function &&
	       a.line.line == c.line.line && a.line.column == c.line.column && a.module == c.module;
}

static uint64_t hash_of(const struct building *b, uint32_t parent, struct allo_call call)
{
	struct call_key key = key_of(b, call);
	uint64_t place = allo_hash_pair((uint64_t)key.line.line << 32 | key.line.column,
					(uint64_t)key.line.function << 32 | key.module, b->seed);

	return allo_hash_pair(key.address ^ (uint64_t)parent << 32, place, b->seed);
}

/* The child that begins with a call; 0: none. */
static uint32_t find_child(const struct building *b, uint32_t parent, struct allo_call call)
{
	struct allo_probe probe = allo_map_probe(&b->map, hash_of(b, parent, call));
	uint32_t edge;

	while ((edge = allo_map_next(&b->map, &probe)) != 0) {
		const struct node *node = &b->nodes.at[b->edges.at[edge]];

		if (node->parent == parent && same_call(b, node->first_call, call))
			return b->edges.at[edge];
	}
	return 0;
}

/* Adding points. */

/* The index of a new node, which is its parent's next child; 0 when memory is short. */
static uint32_t add_node(struct building *b, const struct node *node)
{
	if (b->nodes.len >= UINT32_MAX || !allo_vec_append(&b->nodes, node, 1))
		return 0;
	b->nodes.at[node->parent].child_count++;
	return (uint32_t)b->nodes.len - 1;
}

/* Lets the parent find a node by its first call. */
static bool add_edge(struct building *b, uint32_t id)
{
	struct node *node = &b->nodes.at[id];

	node->edge = (uint32_t)b->edges.len;
	return b->edges.len < UINT32_MAX && allo_vec_append(&b->edges, &id, 1) &&
	       allo_map_put(&b->map, hash_of(b, node->parent, node->first_call), node->edge);
}

static void add_values(const struct building *b, uint32_t id, size_t sample)
{
	const uint64_t *row = allo_profile_row(b->profile, sample);
	struct node *node = &b->nodes.at[id];

	for (int field = 0; field < ALLO_PP_FIELDS; field++) {
		size_t metric = b->columns->metric[field];

		if (b->columns->has[field])
			node->values.of[field] += allo_value_of(&b->profile->metrics.at[metric],
								row[metric]);
	}
	node->points++;
	node->sample = node->points == 1 ? (uint32_t)sample + 1 : 0;
}

/* Gives a node a child without calls, for points that end there. */
static bool add_empty(struct building *b, const struct node *empty)
{
	uint32_t id = add_node(b, empty);

	b->nodes.at[empty->parent].empty = id;
	return id != 0;
}

/* Makes room below a node that points end at. */
static bool push_down(struct building *b, uint32_t id)
{
	struct node empty = b->nodes.at[id];

	empty.parent = id;
	empty.call_count = 0;
	return add_empty(b, &empty);
}

/* Adds a point to the node that its stack ends at. */
static bool end_at(struct building *b, uint32_t id, size_t sample)
{
	struct node empty = { .parent = id, .birth = (uint32_t)sample };

	add_values(b, id, sample);
	if (b->nodes.at[id].child_count == 0)
		return true;
	if (b->nodes.at[id].empty == 0 && !add_empty(b, &empty))
		return false;
	add_values(b, b->nodes.at[id].empty, sample);
	return true;
}

/* Puts all that is left of a stack into a child of its own. */
static bool add_leaf(struct building *b, uint32_t parent, struct allo_call call, size_t sample)
{
	struct node leaf = { .parent = parent, .first_call = call, .birth = (uint32_t)sample };
	uint32_t id;

	for (; call.stack != 0; call = allo_call_outer(b->profile, call))
		leaf.call_count++;
	id = add_node(b, &leaf);
	if (id == 0 || !add_edge(b, id))
		return false;
	add_values(b, id, sample);
	return true;
}

/* Cuts a node after its first calls; returns the upper part, or 0 when memory is short. */
static uint32_t split(struct building *b, uint32_t lower, uint64_t count, struct allo_call at)
{
	struct node upper = b->nodes.at[lower];
	uint32_t id;

	upper.call_count = count;
	upper.child_count = 1;
	upper.empty = 0;
	id = add_node(b, &upper);
	if (id == 0)
		return 0;
	b->nodes.at[upper.parent].child_count--; /* it takes the place of the old one */
	b->edges.at[upper.edge] = id;
	b->nodes.at[lower].parent = id;
	b->nodes.at[lower].first_call = at;
	b->nodes.at[lower].call_count -= count;
	return add_edge(b, lower) ? id : 0;
}

/* Follows a node's calls as long as they are those of a stack, from *call on, which moves to the
 * first that is not.  Returns the node, or its upper part if they are not all; 0 when memory is
 * short. */
static uint32_t follow(struct building *b, uint32_t id, struct allo_call *call)
{
	struct allo_call own = b->nodes.at[id].first_call;
	uint64_t same = 0;

	while (same < b->nodes.at[id].call_count && call->stack != 0 && same_call(b, own, *call)) {
		own = allo_call_outer(b->profile, own);
		*call = allo_call_outer(b->profile, *call);
		same++;
	}
	return same == b->nodes.at[id].call_count ? id : split(b, id, same, own);
}

static bool add_point(struct building *b, size_t sample)
{
	struct allo_call call = { .stack = b->profile->sample_stacks.at[sample] };
	uint32_t id = ROOT;

	while (call.stack != 0) {
		const struct node *node = &b->nodes.at[id];
		uint32_t child;

		if (node->points > 0 && node->child_count == 0 && !push_down(b, id))
			return false;
		child = find_child(b, id, call);
		add_values(b, id, sample);
		if (child == 0)
			return add_leaf(b, id, call, sample);
		id = follow(b, child, &call);
		if (id == 0)
			return false;
	}
	return end_at(b, id, sample);
}

/* The calls that all points have in common belong to the root. */
static void merge_into_root(struct building *b)
{
	uint32_t child = 1;

	if (b->nodes.at[ROOT].child_count != 1)
		return;
	while (b->nodes.at[child].parent != ROOT)
		child++;
	for (size_t i = 1; i < b->nodes.len; i++) {
		if (b->nodes.at[i].parent == child)
			b->nodes.at[i].parent = ROOT;
	}
	b->nodes.at[ROOT] = b->nodes.at[child];
	b->nodes.at[ROOT].parent = ROOT;
	b->nodes.at[child].is_gone = true;
}

static bool build(struct building *b)
{
	struct node root = { 0 };
	uint32_t no_edge = 0;

	if (!allo_vec_append(&b->nodes, &root, 1) || !allo_vec_append(&b->edges, &no_edge, 1))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(b->profile); i++) {
		if (!add_point(b, i))
			return false;
	}
	merge_into_root(b);
	return true;
}

/* Choosing what is shown. */

static void judge_nodes(struct building *b, double min_share)
{
	double whole = (double)b->nodes.at[ROOT].values.of[b->sort->key];
	uint64_t short_lived = b->profile->meta.short_lived;

	for (uint32_t i = 0; i < b->nodes.len; i++) {
		struct node *node = &b->nodes.at[i];

		if (node->is_gone ||
		    (double)node->values.of[b->sort->key] < min_share / 100 * whole ||
		    !allo_pp_sort_meets(b->sort, &node->values, short_lived))
			continue;
		node->significance = SIGNIFICANT_SELF;
		for (uint32_t up = i; up != ROOT;) {
			up = b->nodes.at[up].parent;
			if (b->nodes.at[up].significance != SIGNIFICANT_NOT)
				break;
			b->nodes.at[up].significance = SIGNIFICANT_BELOW;
		}
	}
}

static bool is_shown(const struct building *b, uint32_t id)
{
	const struct node *node = &b->nodes.at[id];

	return !node->is_gone &&
	       (id == ROOT || node->merged || node->significance != SIGNIFICANT_NOT);
}

static void add_to_rest(struct node *rest, const struct node *node)
{
	for (int field = 0; field < ALLO_PP_FIELDS; field++)
		rest->values.of[field] += node->values.of[field];
	rest->points += node->points;
	rest->merged++;
	if (node->birth < rest->birth)
		rest->birth = node->birth;
}

/* Puts insignificant children of nodes that are shown together. */
static bool merge_small(struct building *b)
{
	uint32_t count = (uint32_t)b->nodes.len;

	for (uint32_t i = 1; i < count; i++) {
		struct node rest = { .parent = b->nodes.at[i].parent, .birth = UINT32_MAX };
		uint32_t id;

		if (b->nodes.at[i].is_gone || is_shown(b, i) || !is_shown(b, rest.parent))
			continue;
		if (b->nodes.at[rest.parent].rest == 0) {
			id = add_node(b, &rest);
			if (id == 0)
				return false;
			b->nodes.at[rest.parent].rest = id;
		}
		b->nodes.at[rest.parent].child_count--;
		add_to_rest(&b->nodes.at[b->nodes.at[rest.parent].rest], &b->nodes.at[i]);
	}
	return true;
}

/* Children of the same parent side by side, the largest first. */
static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct building *building = context;
	const struct node *x = &building->nodes.at[*(const uint32_t *)a];
	const struct node *y = &building->nodes.at[*(const uint32_t *)b];
	enum allo_pp_field key = building->sort->key, bytes = ALLO_PP_TOTAL_BYTES;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->values.of[key] != y->values.of[key])
		return x->values.of[key] < y->values.of[key] ? 1 : -1;
	if (x->values.of[bytes] != y->values.of[bytes])
		return x->values.of[bytes] < y->values.of[bytes] ? 1 : -1;
	return (x->birth > y->birth) - (x->birth < y->birth);
}

/* The nodes that are shown, in the order of the walk. */

struct walk {
	const struct building *b;
	uint32_t *sorted;      /* shown nodes but the root, children side by side */
	uint32_t *first_child; /* by node: where its children begin in `sorted` */
	size_t count;
};

static void walk_done(struct walk *walk)
{
	free(walk->sorted);
	free(walk->first_child);
}

static bool sort_children(struct walk *walk, struct building *b)
{
	walk->sorted = malloc((b->nodes.len + 1) * sizeof(*walk->sorted));
	walk->first_child = calloc(b->nodes.len + 1, sizeof(*walk->first_child));
	if (!walk->sorted || !walk->first_child)
		return false;
	for (uint32_t i = 1; i < b->nodes.len; i++) {
		if (is_shown(b, i))
			walk->sorted[walk->count++] = i;
	}
	qsort_r(walk->sorted, walk->count, sizeof(*walk->sorted), compare_nodes, b);
	for (size_t i = walk->count; i-- > 0;)
		walk->first_child[b->nodes.at[walk->sorted[i]].parent] = (uint32_t)i;
	return true;
}

/* `place` says where among the others. */
static bool show_node(struct allo_dhat_tree *tree, const struct node *node,
		      const struct allo_dhat_node *place)
{
	struct allo_dhat_node shown = *place;

	shown.values = node->values;
	shown.first_call = node->first_call;
	shown.call_count = node->call_count;
	shown.points = node->points;
	shown.sample = node->child_count == 0 ? node->sample : 0;
	shown.child_count = node->child_count;
	shown.merged = node->merged;
	shown.is_significant = node->significance == SIGNIFICANT_SELF;
	return allo_vec_append(&tree->nodes, &shown, 1);
}

/* A node whose children are being shown. */
struct branch {
	uint32_t node, shown_as, done;
};

static bool show_nodes(struct allo_dhat_tree *tree, const struct walk *walk)
{
	const struct node *nodes = walk->b->nodes.at;
	ALLO_VEC(struct branch) branches = { 0 };
	struct branch next = { 0 };
	bool ok = show_node(tree, &nodes[ROOT], &(struct allo_dhat_node){ .number = 1, .of = 1 }) &&
		  allo_vec_append(&branches, &next, 1);

	while (ok && branches.len > 0) {
		struct branch *branch = &branches.at[branches.len - 1];
		const struct allo_dhat_node *parent = &tree->nodes.at[branch->shown_as];
		struct allo_dhat_node place = {
			.parent = branch->shown_as,
			.depth = (uint32_t)branches.len,
			.number = branch->done + 1,
			.of = parent->child_count,
			.calls_before = parent->calls_before + parent->call_count,
		};

		if (branch->done == parent->child_count) {
			branches.len--;
			continue;
		}
		next.node = walk->sorted[walk->first_child[branch->node] + branch->done++];
		next.shown_as = (uint32_t)tree->nodes.len;
		ok = show_node(tree, &nodes[next.node], &place) &&
		     allo_vec_append(&branches, &next, 1);
	}
	allo_vec_done(&branches);
	return ok;
}

static bool fail_unfit(const struct allo_dhat_tree *tree, struct allo_error *err)
{
	char names[160] = "";
	size_t used = 0;

	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the profile lacks the numbers to sort by %s",
		  tree->sort->name);
	for (size_t i = 0; i < ALLO_PP_SORTS && used < sizeof(names); i++) {
		if (allo_pp_sort_fits(&allo_pp_sorts[i], &tree->columns))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", allo_pp_sorts[i].name);
	}
	return allo_hint(err, "it has those for %s", used ? names : "nothing");
}

bool allo_dhat_tree_from_profile(struct allo_dhat_tree *tree, const struct allo_profile *profile,
				 const struct allo_dhat_options *options, struct allo_error *err)
{
	ALLO_DEFER(building_done)
	struct building b = { .profile = profile,
			      .columns = &tree->columns,
			      .seed = allo_hash_seed() };
	ALLO_DEFER(walk_done) struct walk walk = { .b = &b };

	tree->columns = allo_pp_columns_of(profile);
	tree->sort = options->sort ? options->sort : allo_pp_default_sort(&tree->columns);
	if (!allo_pp_sort_fits(tree->sort, &tree->columns))
		return fail_unfit(tree, err);
	tree->min_share = options->min_share >= 0 ? options->min_share
						  : allo_pp_min_share(tree->sort);
	b.sort = tree->sort;
	if (!build(&b))
		return allo_fail_memory(err);
	judge_nodes(&b, tree->min_share);
	if (!merge_small(&b) || !sort_children(&walk, &b) || !show_nodes(tree, &walk))
		return allo_fail_memory(err);
	return true;
}
