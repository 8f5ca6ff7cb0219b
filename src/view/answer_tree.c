/* answer_tree.c - the ask "tree": calls in preorder, for flame graphs and trees. */
#include "analysis/tree.h"
#include "base/defer.h"
#include "view/answers.h"
#include "view/branch.h"

#define USUAL_LEAST 0.0005

static const char *const grains[] = { "function", "line", NULL };

struct tree_columns {
	ALLO_VEC(uint32_t) call, line, depth, left_out;
	ALLO_VEC(double) self, total, before_self, before_total, left_out_value;
};

static void tree_columns_done(struct tree_columns *columns)
{
	allo_vec_done(&columns->call);
	allo_vec_done(&columns->line);
	allo_vec_done(&columns->depth);
	allo_vec_done(&columns->left_out);
	allo_vec_done(&columns->self);
	allo_vec_done(&columns->total);
	allo_vec_done(&columns->before_self);
	allo_vec_done(&columns->before_total);
	allo_vec_done(&columns->left_out_value);
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
	allo_vec_add(&columns->depth, depth, err);
	allo_vec_add(&columns->self, allo_reply_value(reply, node->self.value), err);
	allo_vec_add(&columns->total, allo_reply_value(reply, node->total.value), err);
	allo_vec_add(&columns->before_self, allo_reply_value(reply, node->self.before), err);
	allo_vec_add(&columns->before_total, allo_reply_value(reply, node->total.before), err);
	allo_vec_add(&columns->left_out, node->left_out, err);
	allo_vec_add(&columns->left_out_value, allo_reply_value(reply, left_out(tree, node)), err);
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
	ALLO_DEFER(allo_tree_done) struct allo_tree tree = { 0 };
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
	options.grain = grain == 0 ? ALLO_GRAIN_FUNCTION : ALLO_GRAIN_LINE;
	if (!allo_branch_select(dataset, request, err) ||
	    !allo_tree_from_profile(&tree, &dataset->profile, &metric, &options, err) ||
	    !add_nodes(&columns, dataset, &tree, reply, err))
		return false;
	allo_json_out_member_u64(&reply->head, "samples",
				 allo_profile_sample_count(&dataset->profile));
	put_columns(reply, &columns, metric.has_before);
	return true;
}
