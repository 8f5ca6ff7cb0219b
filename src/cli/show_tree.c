/*
 * show_tree.c - see show_tree.h.
 *
 * Stacks can be very deep: nothing here calls itself.
 */
#include "cli/show_tree.h"

#include "base/defer.h"
#include "base/utf8.h"
#include "profile/naming.h"
#include "report/show.h"

#include <stdio.h>
#include <stdlib.h>

struct drawing {
	const struct allo_show_tree *show;
	const struct allo_common *common;
	struct allo_output *out;
	const struct allo_tree *tree;
	const struct allo_profile *profile;
	const struct allo_columns *columns;
	struct allo_style style;
	const struct allo_strokes *strokes;
	double threshold;
	enum allo_unit unit;
	bool is_estimated, has_margins;
	size_t width;        /* of a line; 0: as wide as it is */
	size_t levels_most;  /* whose strokes are drawn: deeper branches stand at this level */
	ALLO_VEC(bool) open; /* by depth: whether the parent's line goes on past this branch */
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
	return allo_format(allo_sum_estimate(sum, d->is_estimated), d->unit, d->common->plain, out);
}

/* "~12.3 KiB", and "~12.3 KiB +/- 4.56 KiB" where that is asked for. */
enum { VALUE_SIZE = 2 * ALLO_NUMBER_SIZE + 8 };

static const char *format_value(const struct drawing *d, const struct allo_values *values,
				char out[VALUE_SIZE])
{
	char value[ALLO_NUMBER_SIZE], margin[ALLO_NUMBER_SIZE];

	snprintf(out, VALUE_SIZE, "%s", format(d, values->value, value));
	if (d->has_margins)
		snprintf(out, VALUE_SIZE, "%s +/- %s", value,
			 allo_format(allo_sum_number(allo_values_margin(values)), d->unit,
				     d->common->plain, margin));
	return out;
}

/* Returns the columns it took. */
static size_t put_values(const struct drawing *d, const struct allo_values *values)
{
	const struct allo_values *whole = &d->tree->nodes.at[0].total;
	char now[VALUE_SIZE], share[ALLO_NUMBER_SIZE], change[ALLO_NUMBER_SIZE];
	allo_sum difference = values->value - values->before;

	format_value(d, values, now);
	if (d->columns->has_before) {
		const char *color = difference > 0 ? d->style.red : d->style.green;

		allo_format_change(allo_sum_estimate(difference, d->is_estimated), d->unit,
				   d->common->plain, change);
		allo_output_printf(d->out, "%s%s%s (%s)  ", difference ? color : "", change,
				   difference ? d->style.reset : "", now);
		return strlen(change) + strlen(now) + sizeof(" ()  ") - 1;
	}
	allo_format_share((double)values->value, (double)whole->value, share);
	allo_output_printf(d->out, "%s %s  ", now, share);
	return strlen(now) + strlen(share) + sizeof("   ") - 1;
}

/* Returns the columns it took. */
static size_t put_strokes(const struct drawing *d, size_t depth, bool is_last)
{
	/* The outermost level has no strokes. */
	size_t first = depth > d->levels_most ? depth - d->levels_most + 2 : 2;

	for (size_t i = first; i < depth; i++)
		allo_output_string(d->out, d->open.at[i] ? d->strokes->through : d->strokes->space);
	if (depth > 1)
		allo_output_string(d->out, is_last ? d->strokes->last : d->strokes->branch);
	return depth > 1 ? 3 * (depth - first + 1) : 0;
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
		allo_output_printf(
			d->out, "%s%s smaller branch%s (under %g%%): --min 0 shows all%s\n",
			d->style.dim, allo_format_count(rest.small_count, count),
			rest.small_count == 1 ? "" : "es", d->show->min_share, d->style.reset);
	}
}

static bool has_remainder(const struct drawing *d, allo_node_id id)
{
	return has_self_line(d, id) || remainder_of(d, id).small_count > 0;
}

/* Calls that share a line: a node, its only child, and so on. */
enum { CHAIN_SHOWN = 5 };

struct chain {
	allo_node_id shown[CHAIN_SHOWN]; /* the first ones and the last */
	size_t shown_count, count;
};

static struct chain chain_of(const struct drawing *d, allo_node_id node, size_t shown_most)
{
	struct chain chain = { 0 };

	for (; node != 0; node = only_child(d, node)) {
		if (chain.shown_count < shown_most)
			chain.shown_count++;
		chain.shown[chain.shown_count - 1] = node;
		chain.count++;
	}
	return chain;
}

static struct allo_text name_of(const struct drawing *d, allo_node_id id,
				char scratch[ALLO_NAME_SCRATCH])
{
	const struct allo_node *node = &d->tree->nodes.at[id];

	return allo_call_name(d->profile, &d->profile->frames.at[node->frame], node->call, scratch);
}

static struct allo_line line_of(const struct drawing *d, allo_node_id id)
{
	const struct allo_node *node = &d->tree->nodes.at[id];

	return allo_call_line(d->profile, &d->profile->frames.at[node->frame], node->call);
}

/* What follows the names: "  file.c:12  (3 frames)".  Returns the columns it takes, and writes it
 * only if asked to. */
static size_t put_end(const struct drawing *d, const struct chain *chain, bool is_written)
{
	allo_node_id last = chain->shown[chain->shown_count - 1];
	struct allo_line line = line_of(d, last);
	struct allo_text file = allo_basename(allo_line_file(d->profile, line));
	char number[24] = "", frames[48] = "";

	if (file.len > 0 && line.line > 0 && !d->tree->nodes.at[last].has_lines)
		snprintf(number, sizeof(number), ":%lu", (unsigned long)line.line);
	if (chain->count > 2)
		snprintf(frames, sizeof(frames), "  (%zu frames)", chain->count);
	if (is_written) {
		allo_output_string(d->out, d->style.dim);
		allo_output_string(d->out, file.len ? "  " : "");
		allo_output_printable(d->out, file);
		allo_output_printf(d->out, "%s%s%s", number, frames, d->style.reset);
	}
	return (file.len ? 2 + allo_utf8_columns(file) : 0) + strlen(number) + strlen(frames);
}

static const char *arrow_before(const struct chain *chain, size_t i)
{
	bool has_gap = i + 1 == chain->shown_count && chain->count > chain->shown_count;

	return i == 0 ? "" : has_gap ? " > ... > " : " > ";
}

/* Columns that a chain takes when its names are cut to `most`. */
static size_t chain_columns(const struct drawing *d, const struct chain *chain, size_t most)
{
	size_t sum = put_end(d, chain, false);

	for (size_t i = 0; i < chain->shown_count; i++) {
		char scratch[ALLO_NAME_SCRATCH];
		size_t columns = allo_utf8_columns(name_of(d, chain->shown[i], scratch));

		sum += strlen(arrow_before(chain, i)) + (columns < most ? columns : most);
	}
	return sum;
}

/* What of a chain fits into `room` columns, and how long each name may be; 0: as long as it is. */
static struct chain fit_chain(const struct drawing *d, allo_node_id node, size_t room, size_t *most)
{
	/* Less than this is no name at all: rather fewer of them, or a line that is too long. */
	enum { LEAST = 14 };
	size_t shown = CHAIN_SHOWN;
	struct chain chain = chain_of(d, node, shown);

	*most = 0;
	if (d->width == 0 || chain_columns(d, &chain, SIZE_MAX) <= room)
		return chain;
	while (shown > 2 && chain_columns(d, &chain, LEAST) > room)
		chain = chain_of(d, node, --shown);
	for (*most = room; *most > LEAST && chain_columns(d, &chain, *most) > room;)
		--*most;
	return chain;
}

/* Draws a node and the calls that share its line; returns the last of these. */
static allo_node_id put_line(struct drawing *d, allo_node_id node, size_t depth, bool is_last)
{
	size_t taken = put_strokes(d, depth, is_last), most;
	struct chain chain;

	taken += put_values(d, &d->tree->nodes.at[node].total);
	chain = fit_chain(d, node, d->width > taken ? d->width - taken : 0, &most);
	for (size_t i = 0; i < chain.shown_count; i++) {
		char scratch[ALLO_NAME_SCRATCH];

		allo_output_printf(d->out, "%s%s", arrow_before(&chain, i), d->style.bold);
		allo_show_cut(d->out, name_of(d, chain.shown[i], scratch), most, d->show->is_ascii);
		allo_output_string(d->out, d->style.reset);
	}
	put_end(d, &chain, true);
	allo_output_byte(d->out, '\n');
	return chain.shown[chain.shown_count - 1];
}

/* A branch that is being drawn: the node whose children are next, and how deep that is. */
struct branch {
	allo_node_id parent, next;
	size_t depth; /* of the children */
};

/* False when memory is short. */
static bool draw_tree(struct drawing *d)
{
	ALLO_VEC(struct branch) branches = { 0 };
	struct branch root = { .next = first_child(d, 0), .depth = 1 };
	bool ok = allo_vec_append(&branches, &root, 1);

	while (ok && branches.len > 0) {
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
		ok = allo_vec_cover(&d->open, branch->depth + 1);
		if (!ok)
			break;
		d->open.at[branch->depth] = !is_last;
		inner.depth = branch->depth + 1;
		inner.parent = put_line(d, node, branch->depth, is_last);
		inner.next = first_child(d, inner.parent);
		if ((d->show->max_depth == 0 || inner.depth <= d->show->max_depth) &&
		    d->tree->nodes.at[inner.parent].first_child != 0)
			ok = allo_vec_append(&branches, &inner, 1);
	}
	allo_vec_done(&branches);
	return ok;
}

bool allo_show_tree_text(const struct allo_show_tree *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_tree *tree,
			 const struct allo_profile *profile, const struct allo_columns *columns,
			 struct allo_error *err)
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
		.strokes = allo_show_strokes(show->is_ascii),
		.width = allo_common_width(common),
		.threshold = magnitude_of(whole) * show->min_share / 100,
		.unit = allo_unit_of(allo_profile_text(profile, metric->unit)),
		.is_estimated = allo_profile_estimates(profile, columns->metric),
		.has_margins = show->has_margins && profile->variances.len > 0,
	};
	char sum[VALUE_SIZE], scratch[ALLO_NAME_SCRATCH];
	bool ok;

	/* Half a screen, or more than anybody can follow. */
	d.levels_most = d.width ? d.width / 6 + 2 : 64;
	allo_output_printable(out, allo_metric_name(profile, columns->metric, scratch));
	allo_output_printf(out, ": %s", format_value(&d, whole, sum));
	if (columns->has_before)
		allo_output_printf(out, ", before %s", format(&d, whole->before, sum));
	if (columns->has_blocks)
		allo_output_printf(out, " in %s block%s",
				   allo_format(allo_sum_estimate(whole->blocks, d.is_estimated),
					       ALLO_UNIT_COUNT, common->plain, sum),
				   whole->blocks == 1 ? "" : "s");
	allo_output_printf(out, ", %s\n", allo_metric_kinds[metric->meaning].about);
	ok = draw_tree(&d);
	allo_vec_done(&d.open);
	return ok || allo_fail_memory(err);
}

/* JSON: a flat list, parents first, so that depth does not matter. */

static void put_json_place(struct allo_json_out *json, const struct drawing *d, allo_node_id id)
{
	struct allo_line line = line_of(d, id);
	char scratch[ALLO_NAME_SCRATCH];

	allo_json_out_key(json, "parent");
	allo_json_out_u64(json, d->tree->nodes.at[id].parent);
	allo_json_out_key(json, "name");
	allo_json_out_text(json, name_of(d, id, scratch));
	allo_json_out_key(json, "file");
	allo_json_out_text(json, allo_line_file(d->profile, line));
	allo_json_out_key(json, "line");
	allo_json_out_u64(json, line.line);
}

static void put_json_node(struct allo_json_out *json, const struct drawing *d, allo_node_id id)
{
	const struct allo_node *node = &d->tree->nodes.at[id];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "id");
	allo_json_out_u64(json, id);
	if (id > 0)
		put_json_place(json, d, id);
	allo_json_out_key(json, "total");
	allo_show_json_sum(json, node->total.value);
	allo_json_out_key(json, "self");
	allo_show_json_sum(json, node->self.value);
	if (d->has_margins) {
		allo_json_out_key(json, "total_margin");
		allo_show_json_sum(json, allo_values_margin(&node->total));
		allo_json_out_key(json, "self_margin");
		allo_show_json_sum(json, allo_values_margin(&node->self));
	}
	if (d->columns->has_before) {
		allo_json_out_key(json, "total_before");
		allo_show_json_sum(json, node->total.before);
		allo_json_out_key(json, "self_before");
		allo_show_json_sum(json, node->self.before);
	}
	if (d->columns->has_blocks) {
		allo_json_out_key(json, "total_blocks");
		allo_show_json_sum(json, node->total.blocks);
	}
	allo_json_out_end(json);
}

bool allo_show_tree_json(const struct allo_show_tree *show, struct allo_output *out,
			 const struct allo_tree *tree, const struct allo_profile *profile,
			 const struct allo_columns *columns, struct allo_error *err)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };
	struct drawing d = {
		.tree = tree,
		.profile = profile,
		.columns = columns,
		.threshold = magnitude_of(&tree->nodes.at[0].total) * show->min_share / 100,
		.has_margins = show->has_margins && profile->variances.len > 0,
	};
	ALLO_DEFER(allo_free_pointer) uint32_t *depths = calloc(tree->nodes.len, sizeof(*depths));

	if (!depths)
		return allo_fail_memory(err);
	allo_show_json_begin_numbers(&json, allo_profile_estimates(profile, columns->metric));
	allo_json_out_key(&json, "metric");
	allo_show_json_metric(&json, profile, columns->metric);
	allo_json_out_key(&json, "nodes");
	allo_json_out_begin(&json, '[');
	for (allo_node_id i = 0; i < tree->nodes.len; i++) {
		depths[i] = i > 0 ? depths[tree->nodes.at[i].parent] + 1 : 0;
		if ((i == 0 || is_shown(&d, i)) &&
		    (show->max_depth == 0 || depths[i] <= show->max_depth))
			put_json_node(&json, &d, i);
	}
	allo_json_out_end(&json);
	allo_json_out_end(&json);
	return true;
}
