/*
 * tree.c - see tree.h.
 *
 * The tree grows level by level.  A node's members, stacks or in an inverted tree samples, take one
 * step further, and those that step into the same function become a child of the node.  Branches
 * that turn out to be too small are not followed: in a large profile these are nearly all.
 */
#include "analysis/tree.h"

#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

void allo_tree_done(struct allo_tree *tree)
{
	allo_vec_done(&tree->nodes);
}

/* What makes calls the same. */
struct call_key {
	allo_string_id function, file;
	uint64_t number;
};

/* One call of a stack that has come as far as this. */
struct member {
	uint32_t unit; /* the stack itself, or in an inverted tree the sample */
	allo_stack_id stack;
	uint32_t call; /* of the stack's frame */
};

/* Members that have stepped into the same function. */
struct group {
	uint32_t first, count; /* of its members; `first` is also the one that it is known by */
	double size;
	bool is_kept;
};

/* Members of the nodes of one level, node by node, and how many each has. */
struct level {
	ALLO_VEC(struct member) members;
	ALLO_VEC(uint32_t) counts;
};

/* The group of a kind of calls among the children of `parent` - 1. */
struct known_group {
	allo_node_id parent;
	uint32_t group;
};

/* Marks a unit whose own node is left out or not reached: it belongs to a caller's. */
enum { BELOW = 1u << 31 };

struct building {
	struct allo_tree *tree;
	const struct allo_profile *profile;
	const struct allo_columns *columns;
	const struct allo_tree_options *options;
	double least; /* size of a node that is worth having */

	/* Calls of all frames, one after the other, by what they are the same as. */
	ALLO_VEC(struct call_key) keys; /* by kind; kind 0 is none */
	ALLO_VEC(uint32_t) kinds;       /* of calls */
	ALLO_VEC(uint32_t) first_calls; /* in kinds[], by frame */
	struct allo_map kind_map;

	/* By unit: what it and all that it calls take up; the innermost node that it belongs to. */
	double *sizes;
	allo_node_id *node_of;
	allo_stack_id *first_callee, *next_callee; /* by stack; NULL in an inverted tree */

	struct level level, next;

	/* What a node is split with. */
	ALLO_VEC(struct member) steps;
	ALLO_VEC(uint32_t) group_of_step;
	ALLO_VEC(struct group) groups;
	struct known_group *known_groups; /* by kind */
	ALLO_VEC(allo_node_id) siblings;
};

static void building_done(struct building *b)
{
	allo_vec_done(&b->keys);
	allo_vec_done(&b->kinds);
	allo_vec_done(&b->first_calls);
	allo_map_done(&b->kind_map);
	free(b->sizes);
	free(b->node_of);
	free(b->first_callee);
	free(b->next_callee);
	allo_vec_done(&b->level.members);
	allo_vec_done(&b->level.counts);
	allo_vec_done(&b->next.members);
	allo_vec_done(&b->next.counts);
	allo_vec_done(&b->steps);
	allo_vec_done(&b->group_of_step);
	allo_vec_done(&b->groups);
	free(b->known_groups);
	allo_vec_done(&b->siblings);
}

/* Kinds of calls: found out once for each frame, since stacks ask for them a million times. */

static struct call_key key_of(const struct building *b, const struct allo_frame *frame,
			      uint32_t call)
{
	struct allo_line line = allo_call_line(b->profile, frame, call);
	struct call_key key = { 0 };

	if (line.function) {
		key.function = b->profile->functions.at[line.function].name;
		key.file = b->profile->functions.at[line.function].file;
		key.number = b->options->grain == ALLO_GRAIN_LINE ? line.line : 0;
	}
	if (line.function == 0 || b->options->grain == ALLO_GRAIN_ADDRESS)
		key.number = frame->address;
	/* Addresses may be those in the modules' files. */
	if (line.function == 0 && frame->module)
		key.file = b->profile->modules.at[frame->module].path;
	return key;
}

/* 0 when memory is short. */
static uint32_t add_kind(struct building *b, struct call_key key, uint64_t seed)
{
	uint64_t hash = allo_hash_pair((uint64_t)key.function << 32 | key.file, key.number, seed);
	struct allo_probe probe = allo_map_probe(&b->kind_map, hash);
	uint32_t kind;

	while ((kind = allo_map_next(&b->kind_map, &probe)) != 0) {
		const struct call_key *old = &b->keys.at[kind];

		if (old->function == key.function && old->file == key.file &&
		    old->number == key.number)
			return kind;
	}
	kind = (uint32_t)b->keys.len;
	if (b->keys.len >= UINT32_MAX || !allo_vec_append(&b->keys, &key, 1) ||
	    !allo_map_put(&b->kind_map, hash, kind))
		return 0;
	return kind;
}

static bool add_kinds(struct building *b)
{
	const struct allo_profile *profile = b->profile;
	uint64_t seed = allo_hash_seed();
	struct call_key none = { 0 };
	uint32_t first = 0, kind;

	if (!allo_vec_append(&b->keys, &none, 1))
		return false;
	for (size_t i = 0; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		if (!allo_vec_append(&b->first_calls, &first, 1))
			return false;
		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++, first++) {
			kind = add_kind(b, key_of(b, frame, call), seed);
			if (kind == 0 || first == UINT32_MAX ||
			    !allo_vec_append(&b->kinds, &kind, 1))
				return false;
		}
	}
	b->known_groups = calloc(b->keys.len, sizeof(*b->known_groups));
	return allo_vec_append(&b->first_calls, &first, 1) && b->known_groups;
}

static uint32_t first_call_of(const struct building *b, allo_stack_id stack)
{
	return b->first_calls.at[b->profile->stacks.at[stack].frame];
}

static uint32_t call_count(const struct building *b, allo_stack_id stack)
{
	return b->first_calls.at[b->profile->stacks.at[stack].frame + 1] - first_call_of(b, stack);
}

/* Units. */

static allo_sum width_of(const struct allo_values *values)
{
	allo_sum value = values->value < 0 ? -values->value : values->value;
	allo_sum before = values->before < 0 ? -values->before : values->before;

	return value > before ? value : before;
}

static bool alloc_units(struct building *b, size_t count)
{
	b->sizes = calloc(count, sizeof(*b->sizes));
	b->node_of = calloc(count, sizeof(*b->node_of));
	return b->sizes && b->node_of;
}

static double sample_size(const struct building *b, size_t sample)
{
	struct allo_values values = allo_values_of(b->profile, b->columns, sample);

	return (double)width_of(&values);
}

/* Stacks, each with its callees.  These go through the list backwards, since callees are behind
 * their callers there: so a stack's size is complete when it is added to its caller's. */
static bool prepare_down(struct building *b)
{
	const struct allo_profile *profile = b->profile;
	size_t count = profile->stacks.len ? profile->stacks.len : 1;

	b->first_callee = calloc(count, sizeof(*b->first_callee));
	b->next_callee = calloc(count, sizeof(*b->next_callee));
	if (!b->first_callee || !b->next_callee || !alloc_units(b, count))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		b->sizes[profile->sample_stacks.at[i]] += sample_size(b, i);
	for (size_t i = count; i-- > 1;) {
		allo_stack_id parent = profile->stacks.at[i].parent;

		b->sizes[parent] += b->sizes[i];
		b->next_callee[i] = b->first_callee[parent];
		b->first_callee[parent] = (allo_stack_id)i;
	}
	b->least = b->sizes[0] * b->options->least_share;
	return true;
}

static bool prepare_up(struct building *b)
{
	size_t count = allo_profile_sample_count(b->profile);
	double whole = 0;

	if (!alloc_units(b, count + 1))
		return false;
	for (size_t i = 0; i < count; i++) {
		b->sizes[i] = sample_size(b, i);
		b->node_of[i] = b->profile->sample_stacks.at[i] ? BELOW : 0;
		whole += b->sizes[i];
	}
	b->least = whole * b->options->least_share;
	return true;
}

/* Steps. */

static bool add_step(struct building *b, uint32_t unit, allo_stack_id stack, uint32_t call)
{
	struct member *step = allo_vec_push(&b->steps);

	if (step)
		*step = (struct member){ unit, stack, call };
	return step != NULL;
}

/* Callers go before, so a frame's calls are gone through from the outermost in. */
static bool step_into_callees(struct building *b, allo_stack_id caller)
{
	allo_stack_id stack = b->first_callee[caller];

	for (; stack != 0; stack = b->next_callee[stack]) {
		if (!add_step(b, stack, stack, call_count(b, stack) - 1))
			return false;
	}
	return true;
}

static bool step_down(struct building *b, const struct member *m)
{
	return m->call > 0 ? add_step(b, m->unit, m->stack, m->call - 1)
			   : step_into_callees(b, m->stack);
}

static bool step_up(struct building *b, const struct member *m)
{
	allo_stack_id caller = b->profile->stacks.at[m->stack].parent;

	if (m->call + 1 < call_count(b, m->stack))
		return add_step(b, m->unit, m->stack, m->call + 1);
	return caller == 0 || add_step(b, m->unit, caller, 0);
}

static bool step_from_root(struct building *b)
{
	const struct allo_profile *profile = b->profile;

	if (!b->options->is_inverted)
		return step_into_callees(b, 0);
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (profile->sample_stacks.at[i] != 0 &&
		    !add_step(b, (uint32_t)i, profile->sample_stacks.at[i], 0))
			return false;
	}
	return true;
}

/* Whether nothing of the unit is left to step into. */
static bool is_last_call(const struct building *b, const struct member *m)
{
	if (!b->options->is_inverted)
		return m->call == 0;
	return m->call + 1 == call_count(b, m->stack) &&
	       b->profile->stacks.at[m->stack].parent == 0;
}

/* Splitting a node's steps. */

/* Which of the groups a step belongs to; a new one for the first of its kind. */
static bool group_step(struct building *b, allo_node_id parent, uint32_t step)
{
	const struct member *m = &b->steps.at[step];
	uint32_t kind = b->kinds.at[first_call_of(b, m->stack) + m->call];
	struct known_group *known = &b->known_groups[kind];
	struct group *group;

	if (known->parent != parent + 1) {
		group = allo_vec_push(&b->groups);
		if (!group)
			return false;
		*group = (struct group){ .first = step };
		*known = (struct known_group){ parent + 1, (uint32_t)b->groups.len - 1 };
	}
	group = &b->groups.at[known->group];
	group->count++;
	group->size += b->sizes[m->unit];
	b->group_of_step.at[step] = known->group;
	return true;
}

/* Makes nodes of the groups that are large enough, and room for their members. */
static bool add_nodes(struct building *b, allo_node_id parent)
{
	uint32_t room = (uint32_t)b->next.members.len;

	for (size_t i = 0; i < b->groups.len; i++) {
		struct group *group = &b->groups.at[i];
		const struct member *example = &b->steps.at[group->first];
		struct allo_node node = { .parent = parent,
					  .frame = b->profile->stacks.at[example->stack].frame,
					  .call = example->call };

		group->is_kept = group->size >= b->least;
		if (!group->is_kept) {
			b->tree->nodes.at[parent].left_out += group->size > 0;
			continue;
		}
		if (b->tree->nodes.len >= BELOW || !allo_vec_append(&b->tree->nodes, &node, 1) ||
		    !allo_vec_append(&b->next.counts, &group->count, 1))
			return false;
		group->first = room;
		room += group->count;
	}
	return allo_vec_cover(&b->next.members, room);
}

/* Children of `parent` for the steps of its members. */
static bool split(struct building *b, allo_node_id parent)
{
	b->groups.len = 0;
	if (!allo_vec_cover(&b->group_of_step, b->steps.len))
		return false;
	for (size_t i = 0; i < b->steps.len; i++) {
		if (!group_step(b, parent, (uint32_t)i))
			return false;
	}
	if (!add_nodes(b, parent))
		return false;
	for (size_t i = 0; i < b->steps.len; i++) {
		struct group *group = &b->groups.at[b->group_of_step.at[i]];

		if (group->is_kept)
			b->next.members.at[group->first++] = b->steps.at[i];
	}
	b->steps.len = 0;
	return true;
}

static uint32_t line_of(const struct building *b, allo_frame_id frame, uint32_t call)
{
	return allo_call_line(b->profile, &b->profile->frames.at[frame], call).line;
}

static void note_line(struct building *b, allo_node_id id, const struct member *m)
{
	struct allo_node *node = &b->tree->nodes.at[id];
	allo_frame_id frame = b->profile->stacks.at[m->stack].frame;

	if (frame != node->frame || m->call != node->call)
		node->has_lines |= line_of(b, frame, m->call) !=
				   line_of(b, node->frame, node->call);
}

static bool grow_level(struct building *b, allo_node_id node)
{
	const struct member *m = b->level.members.at;

	for (size_t i = 0; i < b->level.counts.len; i++, node++) {
		for (const struct member *end = m + b->level.counts.at[i]; m < end; m++) {
			b->node_of[m->unit] = node | (is_last_call(b, m) ? 0 : BELOW);
			note_line(b, node, m);
			if (!(b->options->is_inverted ? step_up(b, m) : step_down(b, m)))
				return false;
		}
		if (!split(b, node))
			return false;
	}
	return true;
}

static bool grow(struct building *b)
{
	allo_node_id first = 1; /* node of the level */

	if (!step_from_root(b) || !split(b, 0))
		return false;
	while (b->next.counts.len > 0) {
		struct level done = b->level;

		b->level = b->next;
		b->next = done;
		b->next.members.len = b->next.counts.len = 0;
		if (!grow_level(b, first))
			return false;
		first += (allo_node_id)b->level.counts.len;
	}
	return true;
}

/* Values. */

/* Stacks that have not been reached belong to their callers' nodes. */
static void spread_nodes(struct building *b)
{
	for (size_t i = 1; i < b->profile->stacks.len; i++) {
		if (b->node_of[i] == 0)
			b->node_of[i] = b->node_of[b->profile->stacks.at[i].parent] | BELOW;
	}
}

static void add_values(struct building *b)
{
	struct allo_node *nodes = b->tree->nodes.at;

	for (size_t i = 0; i < allo_profile_sample_count(b->profile); i++) {
		struct allo_values values = allo_values_of(b->profile, b->columns, i);
		size_t unit = b->options->is_inverted ? i : b->profile->sample_stacks.at[i];
		struct allo_node *node = &nodes[b->node_of[unit] & ~BELOW];

		allo_values_add(&node->total, &values);
		node->width += width_of(&values);
		if (!(b->node_of[unit] & BELOW))
			allo_values_add(&node->self, &values);
	}
	for (size_t i = b->tree->nodes.len; i-- > 1;) {
		allo_values_add(&nodes[nodes[i].parent].total, &nodes[i].total);
		nodes[nodes[i].parent].width += nodes[i].width;
	}
}

/* Order. */

static allo_sum weight(const struct allo_node *node)
{
	allo_sum change = node->total.value - node->total.before;

	/* In a comparison with nothing on the other side this is the value itself. */
	return change < 0 ? -change : change;
}

static struct allo_text function_of(const struct building *b, const struct allo_node *node)
{
	uint32_t kind = b->kinds.at[b->first_calls.at[node->frame] + node->call];

	return allo_profile_text(b->profile, b->keys.at[kind].function);
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct building *building = context;
	const allo_node_id *x = a, *y = b;
	const struct allo_node *x_node = &building->tree->nodes.at[*x];
	const struct allo_node *y_node = &building->tree->nodes.at[*y];
	allo_sum x_weight = weight(x_node), y_weight = weight(y_node);
	int order;

	if (x_weight != y_weight)
		return x_weight < y_weight ? 1 : -1;
	order = allo_text_compare(function_of(building, x_node), function_of(building, y_node));
	return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* Chains nodes that have the same parent, the heaviest first. */
static bool link_siblings(struct building *b, allo_node_id first, size_t count)
{
	struct allo_node *nodes = b->tree->nodes.at, *parent = &nodes[nodes[first].parent];

	if (!allo_vec_cover(&b->siblings, count))
		return false;
	for (size_t i = 0; i < count; i++)
		b->siblings.at[i] = first + (allo_node_id)i;
	if (count > 1)
		qsort_r(b->siblings.at, count, sizeof(*b->siblings.at), compare_nodes, b);
	for (size_t i = count; i-- > 0;) {
		nodes[b->siblings.at[i]].next_sibling = parent->first_child;
		parent->first_child = b->siblings.at[i];
	}
	return true;
}

static bool link_nodes(struct building *b)
{
	const struct allo_node *nodes = b->tree->nodes.at;
	size_t count = b->tree->nodes.len, first = 1;

	for (size_t i = 2; i <= count; i++) {
		if (i < count && nodes[i].parent == nodes[first].parent)
			continue;
		if (first < count && !link_siblings(b, (allo_node_id)first, i - first))
			return false;
		first = i;
	}
	return true;
}

bool allo_tree_from_profile(struct allo_tree *tree, const struct allo_profile *profile,
			    const struct allo_columns *columns,
			    const struct allo_tree_options *options, struct allo_error *err)
{
	ALLO_DEFER(building_done)
	struct building b = {
		.tree = tree, .profile = profile, .columns = columns, .options = options
	};
	struct allo_node root = { 0 };

	if (!allo_vec_append(&tree->nodes, &root, 1) || !add_kinds(&b) ||
	    !(options->is_inverted ? prepare_up(&b) : prepare_down(&b)) || !grow(&b))
		return allo_fail_memory(err);
	if (!options->is_inverted)
		spread_nodes(&b);
	add_values(&b);
	return link_nodes(&b) || allo_fail_memory(err);
}
