/*
 * dhat_tree.c - arranges the inverted call tree like DHAT's viewer.
 *
 * The call tree omits branches that cannot be significant by their size.  This file adds two kinds
 * of nodes to it: one for the points that end at a node with children, and one for the
 * insignificant children of a node.
 */
#include "analysis/dhat_tree.h"

#include "analysis/tree.h"
#include "base/assert.h"
#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOT = 0 };

enum significance { SIGNIFICANT_NOT, SIGNIFICANT_OPENED, SIGNIFICANT_BELOW, SIGNIFICANT_SELF };

struct node {
	struct allo_pp_values values;
	struct allo_stack_call first_call;
	uint64_t call_count, points;
	uint32_t sample; /* index + 1 of a point */
	uint32_t parent;
	uint32_t empty; /* the child for points that end here; 0: none */
	uint32_t rest;  /* the child for insignificant children; 0: none */
	uint32_t child_count;
	uint32_t birth;  /* the first point; breaks ties between siblings */
	uint32_t merged; /* number of insignificant nodes that this stands for */
	bool is_opened;  /* its children are shown, significant or not */
	enum significance significance;
};

struct builder {
	const struct allo_profile *profile;
	const struct allo_pp_columns *columns;
	const struct allo_pp_sort *sort;
	struct allo_error *err;
	struct allo_tree tree;
	ALLO_VEC(struct node) nodes; /* those of the tree, then the added ones */
};

static void builder_done(struct builder *b)
{
	allo_tree_done(&b->tree);
	allo_vec_done(&b->nodes);
}

void allo_dhat_tree_done(struct allo_dhat_tree *tree)
{
	allo_vec_done(&tree->nodes);
}

/* Building. */

/* The largest share of all widths that is certainly insignificant.  Widths are magnitudes, so the
 * width of a node is an upper limit of its value and of the values below it. */
static double least_share(const struct builder *b, double min_share)
{
	const struct allo_metric *metric;
	size_t column = b->columns->metric[b->sort->key];
	double width = 0, whole = 0;

	metric = &b->profile->metrics.at[column];
	for (size_t i = 0; i < allo_profile_sample_count(b->profile); i++) {
		double value = (double)allo_value_of(metric,
						     allo_profile_row(b->profile, i)[column]);

		whole += value;
		width += value < 0 ? -value : value;
	}
	/* A little less, since these sums are rounded. */
	return width > 0 && whole > 0 ? min_share / 100 * whole / width * (1 - 1e-9) : 0;
}

static bool build_tree(struct builder *b, double least)
{
	struct allo_metric_columns columns = { .metric = b->columns->metric[b->sort->key] };
	struct allo_tree_options options = { .grain = ALLO_GRAIN_CALL,
					     .is_inverted = true,
					     .joins_chains = true,
					     .least_share = least };

	return allo_tree_from_profile(&b->tree, b->profile, &columns, &options, b->err);
}

/* The index of a new child; ROOT on failure. */
static uint32_t add_node(struct builder *b, uint32_t parent, uint32_t merged)
{
	struct node node = { .parent = parent, .birth = UINT32_MAX, .merged = merged };

	if (b->nodes.len >= UINT32_MAX) {
		allo_fail_memory(b->err);
		return ROOT;
	}
	if (!allo_vec_add(&b->nodes, node, b->err))
		return ROOT;
	b->nodes.at[parent].child_count++;
	return (uint32_t)b->nodes.len - 1;
}

static void copy_nodes(struct builder *b)
{
	for (size_t i = 0; i < b->tree.nodes.len; i++) {
		const struct allo_tree_node *from = &b->tree.nodes.at[i];
		struct node node = { .first_call = { from->stack, from->call },
				     .call_count = from->call_count,
				     .parent = from->parent,
				     .birth = UINT32_MAX };

		ALLO_ASSERT(i == ROOT || from->parent < i);
		if (allo_vec_add(&b->nodes, node, b->err) && i != ROOT)
			b->nodes.at[from->parent].child_count++;
	}
}

/* The node that a point is added to: the one where its stack ends, or a child of it. */
static uint32_t node_of_point(struct builder *b, size_t sample)
{
	uint32_t id = b->tree.sample_nodes[sample] & ~ALLO_TREE_BELOW;
	const struct allo_tree_node *from = &b->tree.nodes.at[id];
	uint32_t added;

	if (b->tree.sample_nodes[sample] & ALLO_TREE_BELOW) {
		ALLO_ASSERT(from->omitted > 0);
		if (b->nodes.at[id].rest == 0) {
			added = add_node(b, id, from->omitted);
			b->nodes.at[id].rest = added;
		}
		return b->nodes.at[id].rest;
	}
	if (from->first_child == 0 && from->omitted == 0)
		return id;
	if (b->nodes.at[id].empty == 0) {
		added = add_node(b, id, 0);
		b->nodes.at[id].empty = added;
	}
	return b->nodes.at[id].empty;
}

static void add_point(struct builder *b, size_t sample)
{
	const uint64_t *row = allo_profile_row(b->profile, sample);
	uint32_t id = node_of_point(b, sample); /* may move the nodes */
	struct node *node = &b->nodes.at[id];

	for (int field = 0; field < ALLO_PP_FIELDS; field++) {
		size_t metric = b->columns->metric[field];

		if (b->columns->has[field])
			node->values.of[field] += allo_value_of(&b->profile->metrics.at[metric],
								row[metric]);
	}
	node->points++;
	node->sample = (uint32_t)sample + 1;
	if (sample < node->birth)
		node->birth = (uint32_t)sample;
}

static void add_values(struct node *to, const struct node *from)
{
	for (int field = 0; field < ALLO_PP_FIELDS; field++)
		to->values.of[field] += from->values.of[field];
	to->points += from->points;
	if (from->birth < to->birth)
		to->birth = from->birth;
}

static bool build(struct builder *b, double least)
{
	size_t count;

	if (!build_tree(b, least))
		return false;
	copy_nodes(b);
	for (size_t i = 0; i < allo_profile_sample_count(b->profile) && !allo_failed(b->err); i++)
		add_point(b, i);
	if (allo_failed(b->err))
		return false;
	count = b->tree.nodes.len;
	for (size_t i = count; i < b->nodes.len; i++)
		add_values(&b->nodes.at[b->nodes.at[i].parent], &b->nodes.at[i]);
	for (size_t i = count; i-- > 1;)
		add_values(&b->nodes.at[b->nodes.at[i].parent], &b->nodes.at[i]);
	return true;
}

/* Choosing the nodes to show. */

static void judge_nodes(struct builder *b, double min_share)
{
	double whole = (double)b->nodes.at[ROOT].values.of[b->sort->key];
	uint64_t short_lived = b->profile->meta.short_lived;

	for (uint32_t i = 0; i < b->nodes.len; i++) {
		struct node *node = &b->nodes.at[i];

		if (node->merged ||
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

/* The ancestor of a node at a depth; ROOT if the node is not that deep. */
static uint32_t ancestor(const struct builder *b, uint32_t id, uint32_t depth)
{
	uint32_t levels = 0;

	for (uint32_t up = id; up != ROOT; up = b->nodes.at[up].parent)
		levels++;
	for (; levels > depth; levels--)
		id = b->nodes.at[id].parent;
	return levels == depth ? id : ROOT;
}

/* Shows the children of the opened nodes, and the way to them. */
static void open_nodes(struct builder *b, const struct allo_dhat_options *options)
{
	size_t count = allo_profile_sample_count(b->profile);

	for (size_t i = 0; i < options->opened_count; i++) {
		struct allo_dhat_place place = options->opened[i];
		uint32_t id;

		if (place.point >= count)
			continue;
		id = ancestor(b, node_of_point(b, place.point), place.depth);
		b->nodes.at[id].is_opened = true;
		for (; id != ROOT; id = b->nodes.at[id].parent) {
			if (b->nodes.at[id].significance == SIGNIFICANT_NOT)
				b->nodes.at[id].significance = SIGNIFICANT_BELOW;
		}
	}
	for (uint32_t i = 1; i < b->nodes.len; i++) {
		struct node *node = &b->nodes.at[i];

		if (node->significance == SIGNIFICANT_NOT && b->nodes.at[node->parent].is_opened)
			node->significance = SIGNIFICANT_OPENED;
	}
}

static bool is_shown(const struct builder *b, uint32_t id)
{
	const struct node *node = &b->nodes.at[id];

	return id == ROOT || node->merged || node->significance != SIGNIFICANT_NOT;
}

/* Merges the insignificant children of each shown node into one. */
static bool merge_small(struct builder *b)
{
	uint32_t count = (uint32_t)b->nodes.len;

	for (uint32_t i = 1; i < count; i++) {
		uint32_t parent = b->nodes.at[i].parent, rest;

		if (is_shown(b, i) || !is_shown(b, parent))
			continue;
		rest = b->nodes.at[parent].rest;
		if (rest == 0) {
			rest = add_node(b, parent, 0);
			b->nodes.at[parent].rest = rest;
		}
		if (rest == ROOT)
			return false;
		b->nodes.at[parent].child_count--;
		b->nodes.at[rest].merged++;
		add_values(&b->nodes.at[rest], &b->nodes.at[i]);
	}
	return true;
}

/* Orders nodes by parent, then the largest first. */
static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	const struct node *x = &builder->nodes.at[*(const uint32_t *)a];
	const struct node *y = &builder->nodes.at[*(const uint32_t *)b];
	enum allo_pp_field key = builder->sort->key, bytes = ALLO_PP_TOTAL_BYTES;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->values.of[key] != y->values.of[key])
		return x->values.of[key] < y->values.of[key] ? 1 : -1;
	if (x->values.of[bytes] != y->values.of[bytes])
		return x->values.of[bytes] < y->values.of[bytes] ? 1 : -1;
	return (x->birth > y->birth) - (x->birth < y->birth);
}

/* Listing the shown nodes, each followed by its children. */

struct walk {
	const struct builder *b;
	uint32_t *sorted;      /* shown nodes without the root, siblings together */
	uint32_t *first_child; /* by node: index of its first child in `sorted` */
	size_t count;
};

static void walk_done(struct walk *walk)
{
	free(walk->sorted);
	free(walk->first_child);
}

static bool sort_children(struct walk *walk, struct builder *b)
{
	walk->sorted = malloc((b->nodes.len + 1) * sizeof(*walk->sorted));
	walk->first_child = calloc(b->nodes.len + 1, sizeof(*walk->first_child));
	if (!walk->sorted || !walk->first_child)
		return allo_fail_memory(b->err);
	for (uint32_t i = 1; i < b->nodes.len; i++) {
		if (is_shown(b, i))
			walk->sorted[walk->count++] = i;
	}
	qsort_r(walk->sorted, walk->count, sizeof(*walk->sorted), compare_nodes, b);
	for (size_t i = walk->count; i-- > 0;)
		walk->first_child[b->nodes.at[walk->sorted[i]].parent] = (uint32_t)i;
	return true;
}

/* `position` has the fields that depend on the parent. */
static bool show_node(struct allo_dhat_tree *tree, const struct node *node,
		      const struct allo_dhat_node *position, struct allo_error *err)
{
	struct allo_dhat_node shown = *position;

	shown.values = node->values;
	shown.first_call = node->first_call;
	shown.call_count = node->call_count;
	shown.points = node->points;
	shown.point = node->birth;
	if (node->points == 1 && node->child_count == 0 && !node->merged)
		shown.sample = node->sample;
	shown.child_count = node->child_count;
	shown.merged = node->merged;
	shown.is_significant = node->significance == SIGNIFICANT_SELF;
	return allo_vec_add(&tree->nodes, shown, err);
}

/* A node on the path to the current one. */
struct branch {
	uint32_t node, shown_as, done;
};

static bool show_nodes(struct allo_dhat_tree *tree, const struct walk *walk)
{
	const struct node *nodes = walk->b->nodes.at;
	ALLO_VEC(struct branch) branches = { 0 };
	struct allo_error *err = walk->b->err;
	struct branch next = { 0 };

	show_node(tree, &nodes[ROOT], &(struct allo_dhat_node){ .number = 1, .of = 1 }, err);
	allo_vec_add(&branches, next, err);
	while (!allo_failed(err) && branches.len > 0) {
		struct branch *branch = &branches.at[branches.len - 1];
		const struct allo_dhat_node *parent = &tree->nodes.at[branch->shown_as];
		struct allo_dhat_node position = {
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
		ALLO_ASSERT(walk->first_child[branch->node] + branch->done < walk->count);
		next.node = walk->sorted[walk->first_child[branch->node] + branch->done++];
		next.shown_as = (uint32_t)tree->nodes.len;
		show_node(tree, &nodes[next.node], &position, err);
		allo_vec_add(&branches, next, err);
	}
	allo_vec_done(&branches);
	return !allo_failed(err);
}

static bool fail_unfit(const struct allo_dhat_tree *tree, struct allo_error *err)
{
	char names[160] = "";
	size_t used = 0;

	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "the profile has no values to sort by %s",
		  tree->sort->name);
	for (size_t i = 0; i < ALLO_PP_SORTS && used < sizeof(names); i++) {
		if (allo_pp_sort_fits(&allo_pp_sorts[i], &tree->columns))
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
						 used ? ", " : "", allo_pp_sorts[i].name);
	}
	return allo_hint(err, "it can be sorted by: %s", used ? names : "nothing");
}

bool allo_dhat_tree_from_profile(struct allo_dhat_tree *tree, const struct allo_profile *profile,
				 const struct allo_dhat_options *options, struct allo_error *err)
{
	ALLO_DEFER(builder_done)
	struct builder b = { .profile = profile, .columns = &tree->columns, .err = err };
	ALLO_DEFER(walk_done) struct walk walk = { .b = &b };

	tree->columns = allo_pp_columns_of(profile);
	tree->sort = options->sort ? options->sort : allo_pp_default_sort(&tree->columns);
	if (!allo_pp_sort_fits(tree->sort, &tree->columns))
		return fail_unfit(tree, err);
	tree->min_share = options->min_share >= 0 ? options->min_share
						  : allo_pp_min_share(tree->sort);
	b.sort = tree->sort;
	/* Opened nodes have children of any size. */
	if (!build(&b, options->opened_count > 0 ? 0 : least_share(&b, tree->min_share)))
		return false;
	judge_nodes(&b, tree->min_share);
	open_nodes(&b, options);
	return merge_small(&b) && sort_children(&walk, &b) && show_nodes(tree, &walk);
}
