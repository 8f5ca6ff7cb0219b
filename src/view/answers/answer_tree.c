/* answer_tree.c - the ask "tree": calls in preorder, for flame graphs and trees. */
#include "analysis/tree.h"
#include "base/assert.h"
#include "base/defer.h"
#include "view/answers/answers.h"
#include "view/branch.h"

#define USUAL_LEAST 0.0005

static const char *const grains[] = { "function", "line", NULL };

struct tree_columns {
	ALLO_VEC(uint32_t) call, line, depth, left_out;
	ALLO_VEC(allo_node_id) node;
	ALLO_VEC(double) self, total, before_self, before_total, left_out_value, age;
};

static void tree_columns_done(struct tree_columns *columns)
{
	allo_vec_done(&columns->call);
	allo_vec_done(&columns->line);
	allo_vec_done(&columns->depth);
	allo_vec_done(&columns->left_out);
	allo_vec_done(&columns->node);
	allo_vec_done(&columns->self);
	allo_vec_done(&columns->total);
	allo_vec_done(&columns->before_self);
	allo_vec_done(&columns->before_total);
	allo_vec_done(&columns->left_out_value);
	allo_vec_done(&columns->age);
}

/* The sum of the children that the tree has left out. */
static allo_sum left_out(const struct allo_tree *tree, const struct allo_tree_node *node)
{
	allo_sum rest = node->total.value - node->self.value;

	for (allo_node_id child = node->first_child; child;
	     child = tree->nodes.at[child].next_sibling)
		rest -= tree->nodes.at[child].total.value;
	return rest;
}

static void add_node(struct tree_columns *columns, const struct allo_dataset *dataset,
		     const struct allo_tree *tree, allo_node_id id, uint32_t depth,
		     struct allo_reply *reply, struct allo_error *err)
{
	const struct allo_tree_node *node = &tree->nodes.at[id];
	const struct allo_profile *profile = &dataset->profile;
	uint32_t line = 0;

	if (id && !node->has_lines)
		line = allo_call_line(profile, &profile->frames.at[node->frame], node->call).line;
	allo_vec_add(&columns->call,
		     id ? allo_call_number(&dataset->calls, node->frame, node->call) : 0, err);
	allo_vec_add(&columns->line, line, err);
	allo_vec_add(&columns->node, id, err);
	allo_vec_add(&columns->depth, depth, err);
	allo_vec_add(&columns->self, allo_reply_value(reply, node->self.value), err);
	allo_vec_add(&columns->total, allo_reply_value(reply, node->total.value), err);
	allo_vec_add(&columns->before_self, allo_reply_value(reply, node->self.before), err);
	allo_vec_add(&columns->before_total, allo_reply_value(reply, node->total.before), err);
	allo_vec_add(&columns->left_out, node->left_out, err);
	allo_vec_add(&columns->left_out_value, allo_reply_value(reply, left_out(tree, node)), err);
}

/*
 * The average age of the blocks of each node: when they were freed, or at the end of the range.
 *
 * A tree adds up the blocks beside its metric.  Two trees of one metric have the same nodes, so one
 * adds up lifetimes and the other counts allocations in their place.
 */
static bool add_ages(struct tree_columns *columns, const struct allo_tree *lifetimes,
		     const struct allo_tree *counts, struct allo_error *err)
{
	ALLO_ASSERT(lifetimes->nodes.len == counts->nodes.len);
	for (size_t i = 0; i < columns->node.len; i++) {
		allo_node_id id = columns->node.at[i];
		double blocks = (double)counts->nodes.at[id].total.blocks;
		double sum = (double)lifetimes->nodes.at[id].total.blocks;

		allo_vec_add(&columns->age, blocks > 0 ? sum / blocks : -1, err);
	}
	return !allo_failed(err);
}

/* Adds all nodes in preorder, without recursion: stacks may be 100,000 calls deep. */
static bool add_nodes(struct tree_columns *columns, const struct allo_dataset *dataset,
		      const struct allo_tree *tree, struct allo_reply *reply,
		      struct allo_error *err)
{
	uint32_t depth = 0;
	allo_node_id id = 0;

	for (;;) {
		const struct allo_tree_node *node = &tree->nodes.at[id];

		add_node(columns, dataset, tree, id, depth, reply, err);
		if (allo_failed(err))
			return false;
		if (node->first_child) {
			id = node->first_child;
			depth++;
			continue;
		}
		while (id && !tree->nodes.at[id].next_sibling) {
			id = tree->nodes.at[id].parent;
			depth--;
		}
		if (id == 0)
			return true;
		id = tree->nodes.at[id].next_sibling;
	}
}

static void put_columns(struct allo_reply *reply, const struct tree_columns *columns,
			bool has_before)
{
	size_t count = columns->call.len;

	allo_reply_u32(reply, "call", columns->call.at, count);
	allo_reply_u32(reply, "line", columns->line.at, count);
	allo_reply_u32(reply, "depth", columns->depth.at, count);
	allo_reply_f64(reply, "self", columns->self.at, count);
	allo_reply_f64(reply, "total", columns->total.at, count);
	if (has_before) {
		allo_reply_f64(reply, "before_self", columns->before_self.at, count);
		allo_reply_f64(reply, "before_total", columns->before_total.at, count);
	}
	allo_reply_u32(reply, "left_out", columns->left_out.at, count);
	allo_reply_f64(reply, "left_out_value", columns->left_out_value.at, count);
	if (columns->age.len > 0)
		allo_reply_f64(reply, "age", columns->age.at, count);
}

/* Makes the tree of a request, and adds its nodes. */
static bool make_tree(struct tree_columns *columns, struct allo_dataset *dataset,
		      const struct allo_request *request, struct allo_metric_columns *metric,
		      const struct allo_tree_options *options, struct allo_reply *reply,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 }, counts = { 0 };
	const struct allo_profile *profile = &dataset->profile;
	size_t lifetime, blocks;
	bool has_age = request->age &&
		       allo_profile_find_metric(profile, ALLO_LIFETIME, &lifetime) &&
		       allo_profile_find_metric(profile, ALLO_ALLOC_BLOCKS, &blocks);

	if (has_age) {
		metric->has_blocks = true;
		metric->blocks = lifetime;
	}
	if (!allo_tree_from_profile(&tree, profile, metric, options, err) ||
	    !add_nodes(columns, dataset, &tree, reply, err))
		return false;
	if (!has_age)
		return true;
	metric->blocks = blocks;
	return allo_tree_from_profile(&counts, profile, metric, options, err) &&
	       add_ages(columns, &tree, &counts, err);
}

static void put_sum(struct allo_reply *reply, const char *key, allo_sum sum)
{
	allo_json_out_key(&reply->head, key);
	allo_json_out_exact_double(&reply->head, allo_reply_value(reply, sum));
}

bool allo_answer_tree(struct allo_dataset *dataset, const struct allo_request *request,
		      struct allo_reply *reply, struct allo_error *err)
{
	ALLO_DEFER(tree_columns_done) struct tree_columns columns = { 0 };
	struct allo_tree_options options = { .is_inverted = request->invert,
					     .least_share = request->least < 0 ? USUAL_LEAST
									       : request->least };
	struct allo_metric_columns metric;
	size_t grain;

	if (!allo_request_choose(request->grain, grains, &grain, err) ||
	    !allo_dataset_show(dataset, request, err) ||
	    !allo_dataset_columns(dataset, request, request->metric, &metric, err))
		return false;
	put_sum(reply, "whole", allo_dataset_whole(dataset, metric.metric));
	put_sum(reply, "sum", allo_metric_sum(&dataset->profile, metric.metric));
	if (metric.has_before)
		put_sum(reply, "before_sum", allo_metric_sum(&dataset->profile, metric.before));
	options.grain = grain == 0 ? ALLO_GRAIN_FUNCTION : ALLO_GRAIN_LINE;
	if (!allo_branch_select(dataset, request, err) ||
	    !make_tree(&columns, dataset, request, &metric, &options, reply, err))
		return false;
	allo_json_out_member_u64(&reply->head, "samples",
				 allo_profile_sample_count(&dataset->profile));
	put_columns(reply, &columns, metric.has_before);
	return true;
}
