/* flame.c - see flame.h. */
#include "writers/flame.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

/* A tenth of a pixel: less cannot be seen, nor hit. */
static const double least_share = 0.1 / ALLO_FLAME_WIDTH;

/* What all boxes together may take up in a file, and what one takes beside its names. */
enum { BYTES_MOST = 4 << 20, BYTES_EACH = 200 };

void allo_flame_done(struct allo_flame *flame)
{
	allo_tree_done(&flame->tree);
	allo_vec_done(&flame->boxes);
}

struct allo_text allo_flame_file(const struct allo_profile *profile, const struct allo_node *node)
{
	const struct allo_frame *frame = &profile->frames.at[node->frame];

	return allo_line_file(profile, allo_call_line(profile, frame, node->call));
}

struct allo_text allo_flame_module(const struct allo_profile *profile, const struct allo_node *node)
{
	allo_module_id module = profile->frames.at[node->frame].module;

	if (module == 0)
		return (struct allo_text){ "", 0 };
	return allo_basename(allo_profile_text(profile, profile->modules.at[module].path));
}

/* Choosing. */

struct choosing {
	const struct allo_profile *profile;
	struct allo_flame *flame;
	uint32_t *depths; /* by node; 0 for one that is left out, and for the root */
	allo_sum *ends;   /* by node: where its next child starts */
	allo_node_id *order;
};

static void choosing_done(struct choosing *c)
{
	free(c->depths);
	free(c->ends);
	free(c->order);
}

/* Callers come before, so one pass is enough. */
static void find_depths(struct choosing *c)
{
	const struct allo_node *nodes = c->flame->tree.nodes.at;

	for (size_t i = 1; i < c->flame->tree.nodes.len; i++) {
		uint32_t caller = c->depths[nodes[i].parent];

		if (caller == 0 && nodes[i].parent != 0)
			continue;
		if (caller < ALLO_FLAME_DEPTH_MAX)
			c->depths[i] = caller + 1;
		else
			c->flame->has_deep = true;
	}
}

static size_t cost_of(const struct choosing *c, allo_node_id id)
{
	const struct allo_node *node = &c->flame->tree.nodes.at[id];
	const struct allo_frame *frame = &c->profile->frames.at[node->frame];
	char scratch[ALLO_NAME_SCRATCH];
	size_t name = allo_call_name(c->profile, frame, node->call, scratch).len;
	size_t file = allo_flame_file(c->profile, node).len;

	return BYTES_EACH + (name < ALLO_FLAME_NAME_MAX ? name : ALLO_FLAME_NAME_MAX) +
	       (file < ALLO_FLAME_NAME_MAX ? file : ALLO_FLAME_NAME_MAX);
}

static int compare_widths(const void *a, const void *b, void *context)
{
	const struct choosing *c = context;
	const allo_node_id *x = a, *y = b;
	allo_sum x_width = c->flame->tree.nodes.at[*x].width;
	allo_sum y_width = c->flame->tree.nodes.at[*y].width;

	if (x_width != y_width)
		return x_width < y_width ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

/* Leaves out the narrowest that would make the file too large.  A caller is at least as wide as
 * what it calls, and comes before it among equals: so it stays as long as any of these does. */
static bool cut_to_size(struct choosing *c)
{
	size_t count = c->flame->tree.nodes.len, used = 0, bytes = 0;

	for (size_t i = 1; i < count; i++)
		bytes += c->depths[i] ? cost_of(c, (allo_node_id)i) : 0;
	if (bytes <= BYTES_MOST)
		return true;
	c->order = malloc(count * sizeof(*c->order));
	if (!c->order)
		return false;
	for (size_t i = 1; i < count; i++) {
		if (c->depths[i])
			c->order[used++] = (allo_node_id)i;
	}
	qsort_r(c->order, used, sizeof(*c->order), compare_widths, c);
	bytes = 0;
	for (size_t i = 0; i < used; i++) {
		bytes += cost_of(c, c->order[i]);
		if (bytes > BYTES_MOST)
			c->depths[c->order[i]] = 0;
	}
	return true;
}

/* Placing. */

/* The node itself or the first behind it among its siblings that is drawn; 0: none. */
static allo_node_id drawn_from(const struct choosing *c, allo_node_id node)
{
	while (node != 0 && c->depths[node] == 0)
		node = c->flame->tree.nodes.at[node].next_sibling;
	return node;
}

/* The one that comes after a node when all are drawn; 0 at the end. */
static allo_node_id next_drawn(const struct choosing *c, allo_node_id node)
{
	const struct allo_node *nodes = c->flame->tree.nodes.at;
	allo_node_id next = drawn_from(c, nodes[node].first_child);

	while (next == 0 && node != 0) {
		next = drawn_from(c, nodes[node].next_sibling);
		node = nodes[node].parent;
	}
	return next;
}

/* Children stand side by side from the left end of their caller; what is free at its right end is
 * its own, or was left out. */
static bool place(struct choosing *c)
{
	struct allo_flame *flame = c->flame;
	struct allo_node *nodes = flame->tree.nodes.at;
	double whole = (double)nodes[0].width;
	allo_node_id id = 0;

	do {
		struct allo_flame_box box = { .node = id, .depth = c->depths[id] };
		allo_sum start = c->ends[nodes[id].parent];

		box.start = (double)start / whole;
		box.width = (double)nodes[id].width / whole;
		c->ends[id] = start;
		if (id != 0)
			c->ends[nodes[id].parent] += nodes[id].width;
		if (!allo_vec_append(&flame->boxes, &box, 1))
			return false;
		if (box.depth >= flame->rows)
			flame->rows = box.depth + 1;
		id = next_drawn(c, id);
	} while (id != 0);
	return true;
}

/* Whether more is missing than what is too deep. */
static void look_for_narrow(struct choosing *c)
{
	const struct allo_flame *flame = c->flame;

	for (size_t i = 0; i < flame->boxes.len; i++) {
		const struct allo_flame_box *box = &flame->boxes.at[i];
		const struct allo_node *node = &flame->tree.nodes.at[box->node];
		allo_sum left = node->total.value - node->self.value;
		allo_sum left_before = node->total.before - node->self.before;

		if (box->depth == ALLO_FLAME_DEPTH_MAX)
			continue;
		for (allo_node_id child = drawn_from(c, node->first_child); child != 0;
		     child = drawn_from(c, flame->tree.nodes.at[child].next_sibling)) {
			left -= flame->tree.nodes.at[child].total.value;
			left_before -= flame->tree.nodes.at[child].total.before;
		}
		c->flame->has_narrow |= left != 0 || left_before != 0;
	}
}

bool allo_flame_init(struct allo_flame *flame, const struct allo_profile *profile,
		     const struct allo_columns *columns, struct allo_error *err)
{
	ALLO_DEFER(choosing_done) struct choosing c = { .profile = profile, .flame = flame };
	struct allo_tree_options options = { .grain = ALLO_GRAIN_FUNCTION,
					     .least_share = least_share };

	if (!allo_tree_from_profile(&flame->tree, profile, columns, &options, err))
		return false;
	if (flame->tree.nodes.at[0].width == 0)
		return true; /* nothing to draw */
	c.depths = calloc(flame->tree.nodes.len, sizeof(*c.depths));
	c.ends = calloc(flame->tree.nodes.len, sizeof(*c.ends));
	if (!c.depths || !c.ends)
		return allo_fail_memory(err);
	find_depths(&c);
	if (!cut_to_size(&c) || !place(&c))
		return allo_fail_memory(err);
	look_for_narrow(&c);
	return allo_flame_group(flame, profile, err);
}
