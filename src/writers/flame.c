/* flame.c - chooses the calls that a flame graph draws, places and colours them. */
#include "writers/flame.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

/* A tenth of a pixel: anything narrower cannot be seen or clicked. */
static const double least_share = 0.1 / ALLO_FLAME_WIDTH;

/* Bytes of all boxes in a file, at most, and bytes of one box besides its names. */
enum { BYTES_MOST = 4 << 20, BYTES_EACH = 200 };

void allo_flame_done(struct allo_flame *flame)
{
	allo_tree_done(&flame->tree);
	allo_vec_done(&flame->boxes);
}

struct allo_text allo_flame_file(const struct allo_profile *profile,
				 const struct allo_tree_node *node)
{
	const struct allo_frame *frame = &profile->frames.at[node->frame];

	return allo_line_file(profile, allo_call_line(profile, frame, node->call));
}

struct allo_text allo_flame_module(const struct allo_profile *profile,
				   const struct allo_tree_node *node)
{
	allo_module_id module = profile->frames.at[node->frame].module;

	if (module == 0)
		return (struct allo_text){ "", 0 };
	return allo_basename(allo_profile_text(profile, profile->modules.at[module].path));
}

/* Choosing. */

struct layout {
	const struct allo_profile *profile;
	struct allo_flame *flame;
	uint32_t *depths; /* by node; 0: left out, or the root */
	allo_sum *ends;   /* by node: where its next child starts */
	allo_node_id *order;
};

static void layout_done(struct layout *c)
{
	free(c->depths);
	free(c->ends);
	free(c->order);
}

/* Callers come before their callees, so one pass is enough. */
static void find_depths(struct layout *c)
{
	const struct allo_tree_node *nodes = c->flame->tree.nodes.at;

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

static size_t cost_of(const struct layout *c, allo_node_id id)
{
	const struct allo_tree_node *node = &c->flame->tree.nodes.at[id];
	const struct allo_frame *frame = &c->profile->frames.at[node->frame];
	char scratch[ALLO_NAME_SCRATCH];
	size_t name = allo_call_name(c->profile, frame, node->call, scratch).len;
	size_t file = allo_flame_file(c->profile, node).len;

	return BYTES_EACH + (name < ALLO_FLAME_NAME_MAX ? name : ALLO_FLAME_NAME_MAX) +
	       (file < ALLO_FLAME_NAME_MAX ? file : ALLO_FLAME_NAME_MAX);
}

static int compare_widths(const void *a, const void *b, void *context)
{
	const struct layout *c = context;
	const allo_node_id *x = a, *y = b;
	allo_sum x_width = c->flame->tree.nodes.at[*x].width;
	allo_sum y_width = c->flame->tree.nodes.at[*y].width;

	if (x_width != y_width)
		return x_width < y_width ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

/* Leaves out the narrowest boxes of a file that would be too large.  A caller is at least as wide
 * as its callees and comes before them among equals, so it stays as long as any of them. */
static bool cut_to_size(struct layout *c)
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

/* The first drawn node among a node and its next siblings; 0: none. */
static allo_node_id drawn_from(const struct layout *c, allo_node_id node)
{
	while (node != 0 && c->depths[node] == 0)
		node = c->flame->tree.nodes.at[node].next_sibling;
	return node;
}

/* The next node to draw, in depth-first order; 0 at the end. */
static allo_node_id next_drawn(const struct layout *c, allo_node_id node)
{
	const struct allo_tree_node *nodes = c->flame->tree.nodes.at;
	allo_node_id next = drawn_from(c, nodes[node].first_child);

	while (next == 0 && node != 0) {
		next = drawn_from(c, nodes[node].next_sibling);
		node = nodes[node].parent;
	}
	return next;
}

/* Places children side by side from the left end of their caller.  The space at the right end is
 * the caller's own memory, or callees that were left out. */
static bool place(struct layout *c)
{
	struct allo_flame *flame = c->flame;
	struct allo_tree_node *nodes = flame->tree.nodes.at;
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
		ALLO_ASSERT(nodes[id].parent < id || id == 0);
		if (box.depth >= flame->rows)
			flame->rows = box.depth + 1;
		id = next_drawn(c, id);
	} while (id != 0);
	return true;
}

/* Whether calls are missing that are not too deep, so must be too narrow. */
static void find_narrow(struct layout *c)
{
	const struct allo_flame *flame = c->flame;

	for (size_t i = 0; i < flame->boxes.len; i++) {
		const struct allo_flame_box *box = &flame->boxes.at[i];
		const struct allo_tree_node *node = &flame->tree.nodes.at[box->node];
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

/* Colours: boxes of one group have the same.  Groups are modules, where there are several; else
 * packages, crates and namespaces, which names tell; else files. */

static bool is_word(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

/* "std" of "std::vector<int>::push_back", "core" of "<u8 as core::clone::Clone>::clone". */
static struct allo_text namespace_of(struct allo_text name)
{
	struct allo_text trait, rest;
	size_t len = 0;

	while (name.len > 0 && (name.data[0] == '<' || name.data[0] == '&'))
		name = allo_text_from(name, 1);
	while (len < name.len && is_word(name.data[len]))
		len++;
	if (allo_text_starts(allo_text_from(name, len), ALLO_TEXT("::")))
		return (struct allo_text){ name.data, len };
	if (allo_text_starts(allo_text_from(name, len), ALLO_TEXT(" as ")) &&
	    allo_text_cut(allo_text_from(name, len + strlen(" as ")), ':', &trait, &rest))
		return trait;
	return (struct allo_text){ "", 0 };
}

/* "encoding/json" of "encoding/json.(*Decoder).Decode". */
static struct allo_text package_of(struct allo_text name)
{
	size_t dot = 0;

	for (size_t i = 0; i < name.len; i++) {
		char c = name.data[i];

		if (c == '/')
			dot = 0;
		else if (c == '.' && dot == 0)
			dot = i;
		else if (!is_word(c) && c != '.' && c != '-')
			break;
	}
	return (struct allo_text){ name.data, dot };
}

static struct allo_text group_name(const struct allo_profile *profile,
				   const struct allo_tree_node *node, bool by_module)
{
	struct allo_text module = allo_flame_module(profile, node), name, group;
	struct allo_text file = allo_basename(allo_flame_file(profile, node));
	char scratch[ALLO_NAME_SCRATCH];

	if (by_module && module.len > 0)
		return module;
	name = allo_call_name(profile, &profile->frames.at[node->frame], node->call, scratch);
	if (name.data == scratch)
		return module;
	group = namespace_of(name);
	/* In C, the part after a dot is the compiler's: "parse.part.0". */
	if (group.len == 0 && (file.len == 0 || allo_text_ends(file, ALLO_TEXT(".go"))))
		group = package_of(name);
	if (group.len == 0)
		group = file;
	return group.len ? group : module;
}

struct group {
	struct allo_text name;
	double width; /* of its boxes, side by side */
	uint32_t rank;
};

struct grouper {
	const struct allo_profile *profile;
	struct allo_flame *flame;
	struct allo_map map; /* of indices in groups[] + 1 */
	ALLO_VEC(struct group) groups;
	ALLO_VEC(uint32_t) order; /* of groups[] */
	uint64_t seed;
};

static void grouper_done(struct grouper *g)
{
	allo_map_done(&g->map);
	allo_vec_done(&g->groups);
	allo_vec_done(&g->order);
}

/* Whether the boxes are of more than one module. */
static bool has_modules(const struct grouper *g)
{
	allo_module_id first = 0;

	for (size_t i = 1; i < g->flame->boxes.len; i++) {
		const struct allo_tree_node *node =
			&g->flame->tree.nodes.at[g->flame->boxes.at[i].node];
		allo_module_id module = g->profile->frames.at[node->frame].module;

		if (first == 0)
			first = module;
		else if (module != 0 && module != first)
			return true;
	}
	return false;
}

/* The index in groups[], (uint32_t)-1 when memory is short. */
static uint32_t add_group(struct grouper *g, struct allo_text name)
{
	uint64_t hash = allo_hash_bytes(name.data, name.len, g->seed);
	struct allo_probe probe = allo_map_probe(&g->map, hash);
	struct group group = { .name = name, .rank = ALLO_FLAME_GROUPS };
	uint32_t number;

	while ((number = allo_map_next(&g->map, &probe)) != 0) {
		if (allo_text_equal(g->groups.at[number - 1].name, name))
			return number - 1;
	}
	number = (uint32_t)g->groups.len;
	if (!allo_vec_append(&g->groups, &group, 1) || !allo_vec_append(&g->order, &number, 1) ||
	    !allo_map_put(&g->map, hash, number + 1))
		return (uint32_t)-1;
	return number;
}

static int compare_groups(const void *a, const void *b, void *context)
{
	const struct grouper *g = context;
	const uint32_t *x = a, *y = b;
	double x_width = g->groups.at[*x].width, y_width = g->groups.at[*y].width;

	if (x_width != y_width)
		return x_width < y_width ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

/* The groups that take up most get a colour each. */
static void rank_groups(struct grouper *g)
{
	struct allo_flame *flame = g->flame;

	if (g->order.len == 0)
		return;
	qsort_r(g->order.at, g->order.len, sizeof(*g->order.at), compare_groups, g);
	for (size_t i = 0; i < g->order.len; i++) {
		struct group *group = &g->groups.at[g->order.at[i]];

		if (flame->group_count == ALLO_FLAME_GROUPS) {
			flame->has_others = true;
			return;
		}
		group->rank = flame->group_count;
		flame->groups[flame->group_count++] = group->name;
	}
}

static bool group_boxes(struct allo_flame *flame, const struct allo_profile *profile,
			struct allo_error *err)
{
	ALLO_DEFER(grouper_done)
	struct grouper g = { .profile = profile, .flame = flame, .seed = allo_hash_seed() };
	bool by_module = has_modules(&g);

	for (size_t i = 1; i < flame->boxes.len; i++) {
		struct allo_flame_box *box = &flame->boxes.at[i];

		box->group = add_group(
			&g, group_name(profile, &flame->tree.nodes.at[box->node], by_module));
		if (box->group == (uint32_t)-1)
			return allo_fail_memory(err);
		g.groups.at[box->group].width += box->width;
	}
	rank_groups(&g);
	flame->boxes.at[0].group = ALLO_FLAME_GROUPS;
	for (size_t i = 1; i < flame->boxes.len; i++)
		flame->boxes.at[i].group = g.groups.at[flame->boxes.at[i].group].rank;
	return true;
}

bool allo_flame_init(struct allo_flame *flame, const struct allo_profile *profile,
		     const struct allo_metric_columns *columns, struct allo_error *err)
{
	ALLO_DEFER(layout_done) struct layout c = { .profile = profile, .flame = flame };
	struct allo_tree_options options = { .grain = ALLO_GRAIN_FUNCTION,
					     .least_share = least_share };

	if (!allo_tree_from_profile(&flame->tree, profile, columns, &options, err))
		return false;
	if (flame->tree.nodes.at[0].width == 0)
		return true; /* the graph is empty */
	c.depths = calloc(flame->tree.nodes.len, sizeof(*c.depths));
	c.ends = calloc(flame->tree.nodes.len, sizeof(*c.ends));
	if (!c.depths || !c.ends)
		return allo_fail_memory(err);
	find_depths(&c);
	if (!cut_to_size(&c) || !place(&c))
		return allo_fail_memory(err);
	find_narrow(&c);
	return group_boxes(flame, profile, err);
}
