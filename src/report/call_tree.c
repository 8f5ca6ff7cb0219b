/*
 * call_tree.c - draws a tree of calls.
 *
 * Stacks can be very deep, so nothing here is recursive.
 */
#include "report/call_tree.h"

#include "base/assert.h"
#include "base/defer.h"
#include "base/utf8.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "profile/source_name.h"
#include "report/code_style.h"
#include "report/show.h"

#include <stdio.h>
#include <stdlib.h>

struct drawing {
	const struct allo_call_tree *show;
	struct allo_report *report;
	const struct allo_report_options *options;
	struct allo_output *out;
	const struct allo_tree *tree;
	const struct allo_profile *profile;
	const struct allo_figures *figures;
	struct allo_style style;
	const struct allo_strokes *strokes;
	double threshold;
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

/* The next sibling that is large enough; 0: none. */
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
	const struct allo_tree_node *parent = &d->tree->nodes.at[node];
	allo_node_id child = parent->first_child;

	if (child == 0 || d->tree->nodes.at[child].next_sibling != 0 || parent->self.value != 0 ||
	    parent->self.before != 0)
		return 0;
	return child;
}

/* "~12.3 KiB", or "~12.3 KiB +/- 4.56 KiB" with margins. */
enum { VALUE_SIZE = 2 * ALLO_NUMBER_SIZE + 8 };

static const char *format_value(const struct drawing *d, const struct allo_values *values,
				char out[VALUE_SIZE])
{
	const struct allo_figures *figures = d->figures;
	bool is_plain = d->options->is_plain;
	char value[ALLO_NUMBER_SIZE], margin[ALLO_NUMBER_SIZE];

	allo_format(allo_sum_estimate(values->value, figures->is_estimated), figures->unit,
		    is_plain, value);
	snprintf(out, VALUE_SIZE, "%s", value);
	if (figures->has_margins)
		snprintf(out, VALUE_SIZE, "%s +/- %s", value,
			 allo_format(allo_sum_number(allo_values_margin(values)), figures->unit,
				     is_plain, margin));
	return out;
}

/* Returns the columns it took. */
static size_t put_values(const struct drawing *d, const struct allo_values *values)
{
	const struct allo_values *whole = &d->tree->nodes.at[0].total;
	char now[VALUE_SIZE], share[ALLO_NUMBER_SIZE], change[ALLO_NUMBER_SIZE];
	allo_sum difference = values->value - values->before;

	format_value(d, values, now);
	if (d->figures->columns.has_before) {
		const char *color = difference > 0 ? d->style.red : d->style.green;

		allo_format_change(allo_sum_estimate(difference, d->figures->is_estimated),
				   d->figures->unit, d->options->is_plain, change);
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

/* The memory of a branch that its shown children do not have: its own, and small children. */
struct remainder {
	struct allo_values self, small;
	size_t small_count;
};

static struct remainder remainder_of(const struct drawing *d, allo_node_id id)
{
	const struct allo_tree_node *node = &d->tree->nodes.at[id];
	struct remainder rest = { .self = node->self };

	for (allo_node_id child = node->first_child; child != 0;
	     child = d->tree->nodes.at[child].next_sibling) {
		const struct allo_values *total = &d->tree->nodes.at[child].total;

		/* An empty child is not counted. */
		if (!is_shown(d, child) && magnitude_of(total) > 0) {
			allo_values_add(&rest.small, total);
			rest.small_count++;
		}
	}
	return rest;
}

/* Whether a node's own memory needs a line: below a node without shown children it is all. */
static bool has_self_line(const struct drawing *d, allo_node_id id)
{
	const struct allo_tree_node *node = &d->tree->nodes.at[id];

	return (node->self.value != 0 || node->self.before != 0) &&
	       (first_child(d, id) != 0 || id == 0);
}

/* Columns of "1,234 smaller branches (under 0.5%): --min 0 shows all". */
enum { SMALLER_COLUMNS = 58 };

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
		size_t taken = put_strokes(d, depth, true) + put_values(d, &rest.small);
		bool is_narrow = d->width > 0 && d->width < taken + SMALLER_COLUMNS;

		allo_output_printf(d->out, "%s%s smaller", d->style.dim,
				   allo_format_count(rest.small_count, count));
		if (!is_narrow)
			allo_output_printf(d->out, " branch%s (under %g%%): --min 0 shows all",
					   rest.small_count == 1 ? "" : "es", d->show->min_share);
		allo_output_printf(d->out, "%s\n", d->style.reset);
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
	bool has_no_end; /* there is no room for the place and the number of frames */
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

static struct allo_text full_name_of(const struct drawing *d, allo_node_id id,
				     char scratch[ALLO_NAME_SCRATCH])
{
	const struct allo_tree_node *node = &d->tree->nodes.at[id];

	return allo_call_name(d->profile, &d->profile->frames.at[node->frame], node->call, scratch);
}

static struct allo_text name_of(const struct drawing *d, allo_node_id id,
				char scratch[ALLO_NAME_SCRATCH])
{
	return allo_report_name(d->report, full_name_of(d, id, scratch));
}

static void add_names(const struct drawing *d)
{
	char scratch[ALLO_NAME_SCRATCH];

	for (allo_node_id i = 1; i < d->tree->nodes.len; i++) {
		if (is_shown(d, i))
			allo_report_add_name(d->report, full_name_of(d, i, scratch));
	}
}

static struct allo_line line_of(const struct drawing *d, allo_node_id id)
{
	const struct allo_tree_node *node = &d->tree->nodes.at[id];

	return allo_call_line(d->profile, &d->profile->frames.at[node->frame], node->call);
}

/* The end of a line: "  file.c:12  (3 frames)".  Returns its columns, and writes it only if
 * `is_written`. */
static size_t put_end(const struct drawing *d, const struct chain *chain, bool is_written)
{
	allo_node_id last = chain->shown[chain->shown_count - 1];
	struct allo_line line = line_of(d, last);
	struct allo_text file = allo_source_name(allo_line_file(d->profile, line));
	char number[24] = "", frames[48] = "";

	if (chain->has_no_end)
		return 0;
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

	if (chain->shown_count == 1)
		return chain->count > 1 ? "... > " : "";
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

/* The part of a chain that fits into `room` columns, and the columns of each name; 0: any. */
static struct chain fit_chain(const struct drawing *d, allo_node_id node, size_t room, size_t *most)
{
	/* Shorter names say nothing: fewer names, or the last one without its place, are better. */
	enum { LEAST = 14 };
	size_t shown = CHAIN_SHOWN;
	struct chain chain = chain_of(d, node, shown);

	*most = 0;
	if (d->width == 0 || chain_columns(d, &chain, SIZE_MAX) <= room)
		return chain;
	while (shown > 1 && chain_columns(d, &chain, LEAST) > room)
		chain = chain_of(d, node, --shown);
	chain.has_no_end = chain_columns(d, &chain, LEAST) > room;
	for (*most = room; *most > LEAST && chain_columns(d, &chain, *most) > room;)
		--*most;
	return chain;
}

/* Own code is told from libraries. */
static const char *style_of(const struct drawing *d, allo_node_id id)
{
	const struct allo_tree_node *node = &d->tree->nodes.at[id];

	return allo_report_escape(
		d->report, allo_report_call_style(d->report, d->profile,
						  &d->profile->frames.at[node->frame], node->call));
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

		allo_output_printf(d->out, "%s%s", arrow_before(&chain, i),
				   style_of(d, chain.shown[i]));
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

static void describe_heading(struct allo_report *report, const struct allo_tree *tree,
			     const struct allo_figures *figures)
{
	const struct allo_profile *profile = figures->profile;
	const struct allo_values *whole = &tree->nodes.at[0].total;
	size_t metric = figures->columns.metric;
	char scratch[ALLO_NAME_SCRATCH], about[ALLO_ABOUT_SIZE];

	if (!figures->columns.has_before) {
		allo_report_metric_heading(report, figures, whole);
		return;
	}
	allo_report_heading(report);
	allo_report_put_text(report, ALLO_STYLE_PLAIN, allo_metric_name(profile, metric, scratch));
	allo_report_put(report, ALLO_STYLE_PLAIN, ": %s",
			allo_report_value(report, figures, whole->value));
	if (figures->columns.has_blocks)
		allo_report_put(report, ALLO_STYLE_PLAIN, " in %s block%s",
				allo_report_format_number(
					report,
					allo_sum_estimate(whole->blocks, figures->is_estimated),
					ALLO_UNIT_COUNT),
				whole->blocks == 1 ? "" : "s");
	allo_report_put(report, ALLO_STYLE_PLAIN, ", before %s, %s",
			allo_report_value(report, figures, whole->before),
			allo_metric_about(profile, metric, about));
	allo_report_end_line(report);
}

/* JSON: a flat list, parents first, so depth does not matter. */

static void describe_node(struct allo_report *report, const struct drawing *d, allo_node_id id)
{
	const struct allo_tree_node *node = &d->tree->nodes.at[id];
	struct allo_line line;
	char scratch[ALLO_NAME_SCRATCH];

	allo_report_object(report, NULL);
	allo_report_field_u64(report, "id", id);
	if (id > 0) {
		line = line_of(d, id);
		allo_report_field_u64(report, "parent", node->parent);
		allo_report_field_name(report, "name", full_name_of(d, id, scratch));
		allo_report_field_short(report, full_name_of(d, id, scratch));
		allo_report_field_name(report, "file", allo_line_file(d->profile, line));
		allo_report_field_u64(report, "line", line.line);
	}
	allo_report_field_sum(report, "total", node->total.value);
	allo_report_field_sum(report, "self", node->self.value);
	if (d->figures->has_margins) {
		allo_report_field_sum(report, "total_margin", allo_values_margin(&node->total));
		allo_report_field_sum(report, "self_margin", allo_values_margin(&node->self));
	}
	if (d->figures->columns.has_before) {
		allo_report_field_sum(report, "total_before", node->total.before);
		allo_report_field_sum(report, "self_before", node->self.before);
	}
	if (d->figures->columns.has_blocks)
		allo_report_field_sum(report, "total_blocks", node->total.blocks);
	allo_report_close(report);
}

static void describe_nodes(struct allo_report *report, const struct drawing *d)
{
	size_t count = d->tree->nodes.len;
	ALLO_DEFER(allo_free_pointer) uint32_t *depths = calloc(count, sizeof(*depths));

	if (!depths) {
		allo_report_fail_memory(report);
		return;
	}
	allo_report_field_metric(report, d->profile, d->figures->columns.metric);
	allo_report_list(report, "nodes");
	for (allo_node_id i = 0; i < count; i++) {
		ALLO_ASSERT(i == 0 || d->tree->nodes.at[i].parent < i);
		depths[i] = i > 0 ? depths[d->tree->nodes.at[i].parent] + 1 : 0;
		if ((i == 0 || is_shown(d, i)) &&
		    (d->show->max_depth == 0 || depths[i] <= d->show->max_depth))
			describe_node(report, d, i);
	}
	allo_report_close(report);
}

void allo_report_tree(struct allo_report *report, const struct allo_call_tree *show,
		      const struct allo_tree *tree, const struct allo_figures *figures)
{
	size_t width = report->options.max_width;
	struct drawing d = {
		.show = show,
		.report = report,
		.options = &report->options,
		.tree = tree,
		.profile = figures->profile,
		.figures = figures,
		.style = report->options.style,
		.strokes = allo_show_strokes(show->is_ascii),
		.width = width,
		.threshold = magnitude_of(&tree->nodes.at[0].total) * show->min_share / 100,
		/* Half a screen; more than 64 levels are hard to follow. */
		.levels_most = width ? width / 6 + 2 : 64,
	};

	describe_heading(report, tree, figures);
	add_names(&d);
	if (allo_report_is(report, ALLO_REPORT_JSON))
		describe_nodes(report, &d);
	d.out = allo_report_drawing(report);
	if (d.out && !draw_tree(&d))
		allo_report_fail_memory(report);
	allo_vec_done(&d.open);
}
