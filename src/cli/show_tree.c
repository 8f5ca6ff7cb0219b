/*
 * show_tree.c - see show_tree.h.
 *
 * Stacks can be very deep: nothing here calls itself.
 */
#include "cli/show_tree.h"

#include "base/utf8.h"
#include "cli/show.h"
#include "profile/naming.h"

/* Pieces of the drawing; each is three columns wide. */
struct strokes {
	const char *branch, *last, *through, *space;
};

static const struct strokes unicode = { "├─ ", "└─ ", "│  ", "   " };
static const struct strokes ascii = { "|- ", "`- ", "|  ", "   " };

struct drawing {
	const struct allo_show_tree *show;
	const struct allo_common *common;
	struct allo_output *out;
	const struct allo_tree *tree;
	const struct allo_profile *profile;
	const struct allo_columns *columns;
	struct allo_style style;
	const struct strokes *strokes;
	double threshold;
	enum allo_unit unit;
	ALLO_VEC(char) open; /* by depth: whether the parent's line goes on past this branch */
};

static double magnitude_of(const struct allo_values *values)
{
	double value = (double)values->value, before = (double)values->before;

	value = value < 0 ? -value : value;
	before = before < 0 ? -before : before;
	return value > before ? value : before;
}

static bool is_shown(const struct drawing *d, allo_node_id node)
{
	double magnitude = magnitude_of(&d->tree->nodes.at[node].total);

	return magnitude > 0 && magnitude >= d->threshold;
}

/* Whether a node is further from the root than that; a tree can be a million deep. */
static bool is_deeper(const struct drawing *d, allo_node_id node, uint64_t depth)
{
	for (; node != 0 && depth > 0; depth--)
		node = d->tree->nodes.at[node].parent;
	return node != 0;
}

/* The next sibling that is worth showing; 0: none. */
static allo_node_id next_shown(const struct drawing *d, allo_node_id node)
{
	while (node != 0 && !is_shown(d, node))
		node = d->tree->nodes.at[node].next_sibling;
	return node;
}

static allo_node_id first_child(const struct drawing *d, allo_node_id node)
{
	return next_shown(d, d->tree->nodes.at[node].first_child);
}

static allo_node_id sibling(const struct drawing *d, allo_node_id node)
{
	return next_shown(d, d->tree->nodes.at[node].next_sibling);
}

/* The only child of a node that holds nothing else, which may share its line; 0: none. */
static allo_node_id only_child(const struct drawing *d, allo_node_id node)
{
	const struct allo_node *parent = &d->tree->nodes.at[node];
	allo_node_id child = parent->first_child;

	if (child == 0 || d->tree->nodes.at[child].next_sibling != 0 || parent->self.value != 0 ||
	    parent->self.before != 0)
		return 0;
	return child;
}

static const char *format(const struct drawing *d, allo_sum sum, char out[ALLO_NUMBER_SIZE])
{
	return allo_format(allo_sum_number(sum), d->unit, d->common->plain, out);
}

static void put_values(const struct drawing *d, const struct allo_values *values)
{
	const struct allo_values *whole = &d->tree->nodes.at[0].total;
	char now[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE], change[ALLO_NUMBER_SIZE];
	allo_sum difference = values->value - values->before;

	if (d->columns->has_before) {
		const char *color = difference > 0 ? d->style.red : d->style.green;

		allo_output_printf(d->out, "%s%s%s (%s)  ", difference ? color : "",
				   allo_format_change(allo_sum_number(difference), d->unit,
						      d->common->plain, change),
				   difference ? d->style.reset : "",
				   format(d, values->value, now));
		return;
	}
	allo_output_printf(d->out, "%s %s  ", format(d, values->value, now),
			   allo_format_share((double)values->value, (double)whole->value, share));
}

static void put_name(const struct drawing *d, allo_node_id id)
{
	const struct allo_node *node = &d->tree->nodes.at[id];
	const struct allo_frame *frame = &d->profile->frames.at[node->frame];
	char scratch[ALLO_NAME_SCRATCH];

	allo_output_string(d->out, d->style.bold);
	allo_output_printable(d->out, allo_call_name(d->profile, frame, node->call, scratch));
	allo_output_string(d->out, d->style.reset);
}

static void put_file(const struct drawing *d, allo_node_id id)
{
	const struct allo_node *node = &d->tree->nodes.at[id];
	const struct allo_frame *frame = &d->profile->frames.at[node->frame];
	struct allo_line line = allo_call_line(d->profile, frame, node->call);
	struct allo_text file = allo_basename(allo_line_file(d->profile, line));

	if (file.len == 0)
		return;
	allo_output_printf(d->out, "  %s", d->style.dim);
	allo_output_printable(d->out, file);
	if (line.line > 0)
		allo_output_printf(d->out, ":%lu", (unsigned long)line.line);
	allo_output_string(d->out, d->style.reset);
}

static void put_strokes(const struct drawing *d, size_t depth, bool is_last)
{
	/* The outermost level has no strokes. */
	for (size_t i = 2; i < depth; i++)
		allo_output_string(d->out,
				   d->open.at[i] ? d->strokes->through : d->strokes->space);
	if (depth > 1)
		allo_output_string(d->out, is_last ? d->strokes->last : d->strokes->branch);
}

/* What a branch has beside the children that are shown: its own, and what is too small. */
struct remainder {
	struct allo_values self, small;
	size_t small_count;
};

static struct remainder remainder_of(const struct drawing *d, allo_node_id id)
{
	const struct allo_node *node = &d->tree->nodes.at[id];
	struct remainder rest = { .self = node->self };

	for (allo_node_id child = node->first_child; child != 0;
	     child = d->tree->nodes.at[child].next_sibling) {
		const struct allo_values *total = &d->tree->nodes.at[child].total;

		/* What holds nothing is not even small. */
		if (!is_shown(d, child) && magnitude_of(total) > 0) {
			allo_values_add(&rest.small, total);
			rest.small_count++;
		}
	}
	return rest;
}

/* Whether a node's own share needs a line: where nothing else is shown below it, it is all. */
static bool has_self_line(const struct drawing *d, allo_node_id id)
{
	const struct allo_node *node = &d->tree->nodes.at[id];

	return (node->self.value != 0 || node->self.before != 0) &&
	       (first_child(d, id) != 0 || id == 0);
}

static void put_remainder(struct drawing *d, allo_node_id id, size_t depth)
{
	struct remainder rest = remainder_of(d, id);
	char count[ALLO_NUMBER_SIZE];

	if (has_self_line(d, id)) {
		put_strokes(d, depth, rest.small_count == 0);
		put_values(d, &rest.self);
		allo_output_string(d->out, "[self]\n");
	}
	if (rest.small_count > 0) {
		put_strokes(d, depth, true);
		put_values(d, &rest.small);
		allo_output_printf(d->out, "%s%s smaller branch%s (under %g%%): --min 0 shows all%s\n",
				   d->style.dim, allo_format_count(rest.small_count, count),
				   rest.small_count == 1 ? "" : "es", d->show->min_share,
				   d->style.reset);
	}
}

static bool has_remainder(const struct drawing *d, allo_node_id id)
{
	return has_self_line(d, id) || remainder_of(d, id).small_count > 0;
}

/* Draws a node and the chain of only children that share its line; returns the last of these. */
static allo_node_id put_line(struct drawing *d, allo_node_id node, size_t depth, bool is_last)
{
	size_t frames = 1;

	put_strokes(d, depth, is_last);
	put_values(d, &d->tree->nodes.at[node].total);
	put_name(d, node);
	for (allo_node_id child = only_child(d, node); child != 0; child = only_child(d, node)) {
		/* A long chain says more in the middle of a page than across it. */
		if (frames < 4) {
			allo_output_string(d->out, " > ");
			put_name(d, child);
		} else if (frames == 4) {
			allo_output_string(d->out, " > ...");
		}
		frames++;
		node = child;
	}
	if (frames > 4) {
		allo_output_string(d->out, " > ");
		put_name(d, node);
	}
	put_file(d, node);
	if (frames > 2)
		allo_output_printf(d->out, "  %s(%zu frames)%s", d->style.dim, frames,
				   d->style.reset);
	allo_output_byte(d->out, '\n');
	return node;
}

static bool cover_depth(struct drawing *d, size_t depth)
{
	while (d->open.len <= depth) {
		if (!allo_vec_append(&d->open, "", 1))
			return false;
	}
	return true;
}

/* A branch that is being drawn: the node whose children are next, and how deep that is. */
struct branch {
	allo_node_id parent, next;
	size_t depth; /* of the children */
};

static void draw_tree(struct drawing *d)
{
	ALLO_VEC(struct branch) branches = { 0 };
	struct branch root = { .next = first_child(d, 0), .depth = 1 };

	if (!allo_vec_append(&branches, &root, 1))
		allo_output_fail_memory(d->out);
	while (branches.len > 0) {
		struct branch *branch = &branches.at[branches.len - 1], inner;
		allo_node_id node = branch->next;
		bool is_last;

		if (node == 0) {
			put_remainder(d, branch->parent, branch->depth);
			branches.len--;
			continue;
		}
		branch->next = sibling(d, node);
		is_last = branch->next == 0 && !has_remainder(d, branch->parent);
		if (!cover_depth(d, branch->depth)) {
			allo_output_fail_memory(d->out);
			break;
		}
		d->open.at[branch->depth] = !is_last;
		inner.depth = branch->depth + 1;
		inner.parent = put_line(d, node, branch->depth, is_last);
		inner.next = first_child(d, inner.parent);
		if ((d->show->max_depth == 0 || inner.depth <= d->show->max_depth) &&
		    d->tree->nodes.at[inner.parent].first_child != 0 &&
		    !allo_vec_append(&branches, &inner, 1)) {
			allo_output_fail_memory(d->out);
			break;
		}
	}
	allo_vec_done(&branches);
}

void allo_show_tree_text(const struct allo_show_tree *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_tree *tree,
			 const struct allo_profile *profile, const struct allo_columns *columns)
{
	const struct allo_metric *metric = &profile->metrics.at[columns->metric];
	const struct allo_values *whole = &tree->nodes.at[0].total;
	struct drawing d = {
		.show = show,
		.common = common,
		.out = out,
		.tree = tree,
		.profile = profile,
		.columns = columns,
		.style = allo_common_style(common),
		.strokes = show->is_ascii ? &ascii : &unicode,
		.threshold = magnitude_of(whole) * show->min_share / 100,
		.unit = allo_unit_of(allo_profile_text(profile, metric->unit)),
	};
	char sum[ALLO_NUMBER_SIZE];

	allo_output_printable(out, allo_profile_text(profile, metric->name));
	allo_output_printf(out, ": %s", format(&d, whole->value, sum));
	if (columns->has_before)
		allo_output_printf(out, ", before %s", format(&d, whole->before, sum));
	if (columns->has_blocks)
		allo_output_printf(out, " in %s blocks",
				   allo_format(allo_sum_number(whole->blocks), ALLO_UNIT_COUNT,
					       common->plain, sum));
	allo_output_printf(out, ", %s\n", allo_metric_kinds[metric->meaning].about);
	draw_tree(&d);
	allo_vec_done(&d.open);
}

/* JSON: a flat list, parents first, so that depth does not matter. */
void allo_show_tree_json(const struct allo_show_tree *show, struct allo_output *out,
			 const struct allo_tree *tree, const struct allo_profile *profile,
			 const struct allo_columns *columns)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	double threshold = magnitude_of(&tree->nodes.at[0].total) * show->min_share / 100;
	struct drawing d = { .tree = tree, .threshold = threshold };

	allo_json_out_begin(&json, '{');
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, profile, columns->metric);
	allo_json_out_key(&json, "nodes");
	allo_json_out_begin(&json, '[');
	for (allo_node_id i = 0; i < tree->nodes.len; i++) {
		const struct allo_node *node = &tree->nodes.at[i];
		char scratch[ALLO_NAME_SCRATCH];

		if ((i > 0 && !is_shown(&d, i)) ||
		    (show->max_depth && is_deeper(&d, i, show->max_depth)))
			continue;
		allo_json_out_begin(&json, '{');
		allo_json_out_key(&json, "id");
		allo_json_out_u64(&json, i);
		if (i > 0) {
			const struct allo_frame *frame = &profile->frames.at[node->frame];
			struct allo_line line = allo_call_line(profile, frame, node->call);

			allo_json_out_key(&json, "parent");
			allo_json_out_u64(&json, node->parent);
			allo_json_out_key(&json, "name");
			allo_json_out_text(&json,
					   allo_call_name(profile, frame, node->call, scratch));
			allo_json_out_key(&json, "file");
			allo_json_out_text(&json, allo_line_file(profile, line));
			allo_json_out_key(&json, "line");
			allo_json_out_u64(&json, line.line);
		}
		allo_json_out_key(&json, "total");
		allo_show_json_sum(&json, node->total.value);
		allo_json_out_key(&json, "self");
		allo_show_json_sum(&json, node->self.value);
		if (columns->has_before) {
			allo_json_out_key(&json, "total_before");
			allo_show_json_sum(&json, node->total.before);
			allo_json_out_key(&json, "self_before");
			allo_show_json_sum(&json, node->self.before);
		}
		if (columns->has_blocks) {
			allo_json_out_key(&json, "total_blocks");
			allo_show_json_sum(&json, node->total.blocks);
		}
		allo_json_out_end(&json);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}
