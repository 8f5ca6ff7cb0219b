/*
 * show_dhat_json.c - program points as JSON; see show_dhat.h.
 *
 * A flat list, parents first, so that depth does not matter.
 */
#include "analysis/accesses.h"
#include "cli/show_dhat.h"
#include "report/show.h"

static void put_json_call(struct allo_json_out *json, const struct allo_profile *profile,
			  struct allo_stack_call call)
{
	const struct allo_frame *frame = &profile->frames.at[profile->stacks.at[call.stack].frame];
	struct allo_line line = allo_call_line(profile, frame, call.line);
	char scratch[ALLO_NAME_SCRATCH];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_call_name(profile, frame, call.line, scratch));
	allo_json_out_key(json, "file");
	allo_json_out_text(json, allo_line_file(profile, line));
	allo_json_out_key(json, "line");
	allo_json_out_u64(json, line.line);
	allo_json_out_key(json, "address");
	allo_json_out_u64(json, frame->address);
	if (frame->module) {
		allo_json_out_key(json, "module");
		allo_json_out_text(
			json, allo_profile_text(profile, profile->modules.at[frame->module].path));
	}
	allo_json_out_end(json);
}

static void put_json_accesses(struct allo_json_out *json, const struct allo_profile *profile,
			      struct allo_accesses runs)
{
	struct allo_access_run run;

	allo_json_out_key(json, "accesses");
	allo_json_out_begin(json, '[');
	while (allo_access_run_next(profile, &runs, &run)) {
		allo_json_out_begin(json, '[');
		allo_json_out_u64(json, run.length);
		allo_json_out_u64(json, run.count);
		allo_json_out_end(json);
	}
	allo_json_out_end(json);
}

static void put_json_values(struct allo_json_out *json, const struct allo_show_dhat *show,
			    const struct allo_dhat_tree *tree, const struct allo_profile *profile,
			    const struct allo_dhat_node *node)
{
	bool is_point = node->sample != 0 && !show->hides_max;

	allo_json_out_key(json, "values");
	allo_json_out_begin(json, '{');
	for (int field = 0; field < ALLO_PP_FIELDS; field++) {
		const struct allo_metric *metric;
		bool is_max = field == ALLO_PP_MAX_BYTES || field == ALLO_PP_MAX_BLOCKS;

		if (!tree->columns.has[field] || (is_max && !is_point))
			continue;
		metric = &profile->metrics.at[tree->columns.metric[field]];
		allo_json_out_key_text(json, allo_profile_text(profile, metric->name));
		allo_show_json_sum(json, node->values.of[field]);
	}
	allo_json_out_end(json);
	if (is_point && allo_profile_accesses_of(profile, node->sample - 1).count > 0)
		put_json_accesses(json, profile,
				  allo_profile_accesses_of(profile, node->sample - 1));
}

static void put_json_node(struct allo_json_out *json, const struct allo_show_dhat *show,
			  const struct allo_dhat_tree *tree, const struct allo_profile *profile,
			  size_t id)
{
	const struct allo_dhat_node *node = &tree->nodes.at[id];
	struct allo_stack_call call = node->first_call;

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "id");
	allo_json_out_u64(json, id);
	if (id > 0) {
		allo_json_out_key(json, "parent");
		allo_json_out_u64(json, node->parent);
	}
	allo_json_out_key(json, "number");
	allo_json_out_u64(json, node->number);
	allo_json_out_key(json, "of");
	allo_json_out_u64(json, node->of);
	allo_json_out_key(json, "children");
	allo_json_out_u64(json, node->child_count);
	allo_json_out_key(json, "points");
	allo_json_out_u64(json, node->points);
	allo_json_out_key(json, "significant");
	allo_json_out_bool(json, node->is_significant);
	if (node->merged) {
		allo_json_out_key(json, "merged");
		allo_json_out_u64(json, node->merged);
	}
	put_json_values(json, show, tree, profile, node);
	allo_json_out_key(json, "calls");
	allo_json_out_begin(json, '[');
	for (uint64_t i = 0; i < node->call_count; i++) {
		put_json_call(json, profile, call);
		call = allo_stack_call_outer(profile, call);
	}
	allo_json_out_end(json);
	allo_json_out_end(json);
}

void allo_show_dhat_json(const struct allo_show_dhat *show, struct allo_output *out,
			 const struct allo_dhat_tree *tree, const struct allo_profile *profile)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	const struct allo_meta *meta = &profile->meta;

	allo_show_json_begin_numbers(&json, allo_profile_is_estimated(profile));
	allo_json_out_key(&json, "sort");
	allo_json_out_string(&json, tree->sort->name);
	allo_json_out_key(&json, "min_percent");
	allo_json_out_double(&json, tree->min_share);
	allo_json_out_key(&json, "command");
	allo_json_out_text(&json, allo_profile_text(profile, meta->command));
	allo_json_out_key(&json, "pid");
	allo_json_out_u64(&json, meta->pid);
	allo_json_out_key(&json, "duration");
	allo_json_out_u64(&json, meta->duration);
	allo_json_out_key(&json, "peak_time");
	allo_json_out_u64(&json, meta->peak_time);
	allo_json_out_key(&json, "nodes");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < tree->nodes.len; i++) {
		if (show->max_depth == 0 || tree->nodes.at[i].depth <= show->max_depth)
			put_json_node(&json, show, tree, profile, i);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}
