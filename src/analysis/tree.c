/*
 * tree.c - grows a call tree level by level.
 *
 * The members of a node are stacks, or samples in an inverted tree.  Each takes a step to its next
 * call; the members that step to the same call become a child of the node.  Branches below the
 * least size are not followed: in a large profile these are nearly all.
 */
#include "analysis/tree.h"

#include "base/assert.h"
#include "base/defer.h"
#include "profile/naming.h"
#include "profile/stack_walk.h"

#include <stdlib.h>

void allo_tree_done(struct allo_tree *tree)
{
	allo_vec_done(&tree->nodes);
	free(tree->sample_nodes);
	tree->sample_nodes = NULL;
}

/* Calls with equal keys are the same call, by the grain of the tree. */
struct call_key {
	uint64_t words[3];
};

/* The current call of a stack or sample. */
struct member {
	uint32_t unit; /* the stack, or the sample in an inverted tree */
	allo_stack_id stack;
	uint32_t call; /* of the stack's frame */
};

/* Members that stepped to the same call. */
struct group {
	uint32_t first, count; /* of its members; `first` is the example */
	double size;
	bool is_kept;
};

/* The members of the nodes of one level, node by node, and the number of each node. */
struct level {
	ALLO_VEC(struct member) members;
	ALLO_VEC(uint32_t) counts;
};

/* The group of a kind of call among the children of node `parent` - 1. */
struct known_group {
	allo_node_id parent;
	uint32_t group;
};

/* Marks a unit that continues in a node that is omitted or not reached yet. */
enum { BELOW = ALLO_TREE_BELOW };

struct builder {
	struct allo_tree *tree;
	const struct allo_profile *profile;
	const struct allo_metric_columns *columns;
	const struct allo_tree_options *options;
	struct allo_error *err;
	bool is_signed;      /* a metric of the columns */
	double least;        /* smallest size of a node */
	uint32_t depth;      /* number of the level that is being split */
	uint64_t steps_left; /* an inverted tree is cut when it has taken too many */

	/* All calls of all frames.  Calls with equal keys are of the same kind. */
	ALLO_VEC(struct call_key) keys; /* by kind; kind 0 is none */
	ALLO_VEC(uint32_t) kinds;       /* by call */
	ALLO_VEC(uint32_t) first_calls; /* in kinds[], by frame */
	struct allo_map kind_map;

	/* By unit: its size including callees, and the innermost node that it belongs to. */
	double *sizes;
	allo_node_id *node_of;
	allo_stack_id *first_callee, *next_callee; /* by stack; NULL in an inverted tree */

	struct level level, next;

	/* Scratch for splitting a node. */
	ALLO_VEC(struct member) steps;
	ALLO_VEC(uint32_t) group_of_step;
	ALLO_VEC(struct group) groups;
	struct known_group *known_groups; /* by kind */
	ALLO_VEC(allo_node_id) siblings;
};

static void builder_done(struct builder *b)
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

/* Kinds of calls: computed once for each frame, since millions of stacks use them. */

static struct call_key key_of(const struct builder *b, const struct allo_frame *frame,
			      uint32_t call)
{
	struct allo_line line = allo_call_line(b->profile, frame, call);
	allo_string_id function = 0, file = 0;
	uint64_t number = 0;

	if (b->options->grain == ALLO_GRAIN_CALL)
		return (struct call_key){ { frame->address,
					    (uint64_t)line.function << 32 | frame->module,
					    (uint64_t)line.line << 32 | line.column } };
	if (line.function) {
		function = b->profile->functions.at[line.function].name;
		file = b->profile->functions.at[line.function].file;
		number = b->options->grain == ALLO_GRAIN_LINE ? line.line : 0;
	}
	if (line.function == 0 || b->options->grain == ALLO_GRAIN_ADDRESS)
		number = frame->address;
	/* The address may be one in the module's file, so the module is part of the key. */
	if (line.function == 0 && frame->module)
		file = b->profile->modules.at[frame->module].path;
	return (struct call_key){ { (uint64_t)function << 32 | file, number, 0 } };
}

/* The kind of a key; 0 on failure. */
static uint32_t add_kind(struct builder *b, struct call_key key, uint64_t seed)
{
	uint64_t rest = key.words[2] ? allo_hash_pair(key.words[1], key.words[2], seed)
				     : key.words[1];
	uint64_t hash = allo_hash_pair(key.words[0], rest, seed);
	struct allo_probe probe = allo_map_probe(&b->kind_map, hash);
	uint32_t kind;

	while ((kind = allo_map_next(&b->kind_map, &probe)) != 0) {
		if (memcmp(&b->keys.at[kind], &key, sizeof(key)) == 0)
			return kind;
	}
	kind = (uint32_t)b->keys.len;
	if (b->keys.len >= UINT32_MAX)
		return allo_fail_memory(b->err);
	return allo_vec_add(&b->keys, key, b->err) && allo_map_add(&b->kind_map, hash, kind, b->err)
		       ? kind
		       : 0;
}

static bool add_kinds(struct builder *b)
{
	const struct allo_profile *profile = b->profile;
	uint64_t seed = allo_hash_seed();
	uint32_t first = 0;

	allo_vec_add(&b->keys, ((struct call_key){ 0 }), b->err);
	for (size_t i = 0; i < profile->frames.len && !allo_failed(b->err); i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		allo_vec_add(&b->first_calls, first, b->err);
		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++, first++) {
			if (first == UINT32_MAX)
				return allo_fail_memory(b->err);
			allo_vec_add(&b->kinds, add_kind(b, key_of(b, frame, call), seed), b->err);
		}
	}
	allo_vec_add(&b->first_calls, first, b->err);
	if (allo_failed(b->err))
		return false;
	b->known_groups = calloc(b->keys.len, sizeof(*b->known_groups));
	return b->known_groups || allo_fail_memory(b->err);
}

static uint32_t first_call_of(const struct builder *b, allo_stack_id stack)
{
	return b->first_calls.at[b->profile->stacks.at[stack].frame];
}

static uint32_t call_count(const struct builder *b, allo_stack_id stack)
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

static bool alloc_units(struct builder *b, size_t count)
{
	b->sizes = calloc(count, sizeof(*b->sizes));
	b->node_of = calloc(count, sizeof(*b->node_of));
	return (b->sizes && b->node_of) || allo_fail_memory(b->err);
}

static double sample_size(const struct builder *b, size_t sample)
{
	const struct allo_metric_columns *columns = b->columns;
	const uint64_t *row = allo_profile_row(b->profile, sample);
	uint64_t before = columns->has_before ? row[columns->before] : 0;
	struct allo_values values;

	if (b->is_signed) {
		values = allo_values_of(b->profile, columns, sample);
		return (double)width_of(&values);
	}
	/* Sums of 128 bits take several times as long to convert. */
	return (double)(row[columns->metric] > before ? row[columns->metric] : before);
}

/* Prepares stacks and lists of callees.  Callees have higher ids than their callers, so a pass from
 * the last stack adds a size to the caller's when it is complete. */
static bool prepare_down(struct builder *b)
{
	const struct allo_profile *profile = b->profile;
	size_t count = profile->stacks.len ? profile->stacks.len : 1;

	b->first_callee = calloc(count, sizeof(*b->first_callee));
	b->next_callee = calloc(count, sizeof(*b->next_callee));
	if (!b->first_callee || !b->next_callee)
		return allo_fail_memory(b->err);
	if (!alloc_units(b, count))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++)
		b->sizes[profile->sample_stacks.at[i]] += sample_size(b, i);
	for (size_t i = count; i-- > 1;) {
		allo_stack_id parent = profile->stacks.at[i].parent;

		ALLO_ASSERT(parent < i);
		b->sizes[parent] += b->sizes[i];
		b->next_callee[i] = b->first_callee[parent];
		b->first_callee[parent] = (allo_stack_id)i;
	}
	b->least = b->sizes[0] * b->options->least_share;
	return true;
}

static bool prepare_up(struct builder *b)
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

static void add_step(struct builder *b, uint32_t unit, allo_stack_id stack, uint32_t call)
{
	allo_vec_add(&b->steps, ((struct member){ unit, stack, call }), b->err);
}

/* Downwards, the calls of a frame are visited from the outermost to the innermost. */
static void step_into_callees(struct builder *b, allo_stack_id caller)
{
	allo_stack_id stack = b->first_callee[caller];

	for (; stack != 0; stack = b->next_callee[stack])
		add_step(b, stack, stack, call_count(b, stack) - 1);
}

static void step_down(struct builder *b, const struct member *m)
{
	if (m->call > 0)
		add_step(b, m->unit, m->stack, m->call - 1);
	else
		step_into_callees(b, m->stack);
}

static void step_up(struct builder *b, const struct member *m)
{
	allo_stack_id caller = b->profile->stacks.at[m->stack].parent;

	if (m->call + 1 < call_count(b, m->stack))
		add_step(b, m->unit, m->stack, m->call + 1);
	else if (caller != 0)
		add_step(b, m->unit, caller, 0);
}

static void step_from_root(struct builder *b)
{
	const struct allo_profile *profile = b->profile;

	if (!b->options->is_inverted) {
		step_into_callees(b, 0);
		return;
	}
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (profile->sample_stacks.at[i] != 0)
			add_step(b, (uint32_t)i, profile->sample_stacks.at[i], 0);
	}
}

/* Whether the unit ends with this call. */
static bool is_last_call(const struct builder *b, const struct member *m)
{
	if (!b->options->is_inverted)
		return m->call == 0;
	return m->call + 1 == call_count(b, m->stack) &&
	       b->profile->stacks.at[m->stack].parent == 0;
}

/* Splitting a node's steps. */

static uint32_t kind_of(const struct builder *b, const struct member *m)
{
	ALLO_ASSERT(m->call < call_count(b, m->stack));
	return b->kinds.at[first_call_of(b, m->stack) + m->call];
}

/* Adds a step to its group; the first step of a kind starts one. */
static bool group_step(struct builder *b, allo_node_id parent, uint32_t step)
{
	const struct member *m = &b->steps.at[step];
	struct known_group *known = &b->known_groups[kind_of(b, m)];
	struct group *group;

	if (known->parent != parent + 1) {
		if (!allo_vec_add(&b->groups, ((struct group){ .first = step }), b->err))
			return false;
		*known = (struct known_group){ parent + 1, (uint32_t)b->groups.len - 1 };
	}
	ALLO_ASSERT(known->group < b->groups.len);
	group = &b->groups.at[known->group];
	group->count++;
	group->size += b->sizes[m->unit];
	b->group_of_step.at[step] = known->group;
	return true;
}

/* Adds nodes for the groups that are large enough, and makes room for their members. */
static bool add_nodes(struct builder *b, allo_node_id parent)
{
	uint32_t room = (uint32_t)b->next.members.len;

	for (size_t i = 0; i < b->groups.len; i++) {
		struct group *group = &b->groups.at[i];
		const struct member *example = &b->steps.at[group->first];
		struct allo_tree_node node = { .parent = parent,
					       .stack = example->stack,
					       .frame = b->profile->stacks.at[example->stack].frame,
					       .call = example->call,
					       .call_count = 1 };

		group->is_kept = group->size >= b->least && b->tree->cut_level == 0;
		if (!group->is_kept) {
			b->tree->nodes.at[parent].omitted++;
			b->tree->nodes.at[parent].left_out += group->size > 0;
			continue;
		}
		if (b->tree->nodes.len >= BELOW)
			return allo_fail_memory(b->err);
		allo_vec_add(&b->tree->nodes, node, b->err);
		allo_vec_add(&b->next.counts, group->count, b->err);
		group->first = room;
		room += group->count;
	}
	return allo_vec_extend(&b->next.members, room, b->err) && !allo_failed(b->err);
}

/* Splits the steps of a node's members into children. */
static bool split(struct builder *b, allo_node_id parent)
{
	b->groups.len = 0;
	b->steps_left -= b->steps.len < b->steps_left ? b->steps.len : b->steps_left;
	if (allo_failed(b->err) || !allo_vec_extend(&b->group_of_step, b->steps.len, b->err))
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

static uint32_t line_of(const struct builder *b, allo_frame_id frame, uint32_t call)
{
	return allo_call_line(b->profile, &b->profile->frames.at[frame], call).line;
}

static void note_line(struct builder *b, allo_node_id id, const struct member *m)
{
	struct allo_tree_node *node = &b->tree->nodes.at[id];
	allo_frame_id frame = b->profile->stacks.at[m->stack].frame;

	if (frame != node->frame || m->call != node->call)
		node->has_lines |= line_of(b, frame, m->call) !=
				   line_of(b, node->frame, node->call);
}

/* Whether all of `count` members step to the same call, so that it can share their node. */
static bool is_chain(const struct builder *b, size_t count)
{
	if (!b->options->joins_chains || count == 0 || b->steps.len != count)
		return false;
	for (size_t i = 1; i < count; i++) {
		if (kind_of(b, &b->steps.at[i]) != kind_of(b, &b->steps.at[0]))
			return false;
	}
	return true;
}

/* Moves the members of a node to its next call. */
static void join_call(struct builder *b, allo_node_id node, struct member *members)
{
	memcpy(members, b->steps.at, b->steps.len * sizeof(*members));
	b->steps.len = 0;
	b->tree->nodes.at[node].call_count++;
}

static void step_members(struct builder *b, allo_node_id node, const struct member *m, size_t count)
{
	for (const struct member *end = m + count; m < end; m++) {
		b->node_of[m->unit] = node | (is_last_call(b, m) ? 0 : BELOW);
		note_line(b, node, m);
		if (b->options->is_inverted)
			step_up(b, m);
		else
			step_down(b, m);
	}
}

static bool grow_level(struct builder *b, allo_node_id node)
{
	struct member *members = b->level.members.at;

	for (size_t i = 0; i < b->level.counts.len; i++, node++) {
		size_t count = b->level.counts.at[i];

		step_members(b, node, members, count);
		while (is_chain(b, count) && !allo_failed(b->err)) {
			join_call(b, node, members);
			step_members(b, node, members, count);
		}
		if (!split(b, node))
			return false;
		members += count;
	}
	return true;
}

/* The calls that all samples have in common may belong to the root. */
static bool grow_root(struct builder *b)
{
	struct allo_tree_node *root = &b->tree->nodes.at[0];
	size_t count = allo_profile_sample_count(b->profile);

	step_from_root(b);
	if (allo_failed(b->err) || !is_chain(b, count))
		return split(b, 0);
	root->stack = b->steps.at[0].stack;
	root->frame = b->profile->stacks.at[root->stack].frame;
	allo_vec_extend(&b->level.members, count, b->err);
	allo_vec_add(&b->level.counts, (uint32_t)count, b->err);
	if (allo_failed(b->err))
		return false;
	join_call(b, 0, b->level.members.at);
	return grow_level(b, 0);
}

static bool grow(struct builder *b)
{
	allo_node_id first = 1; /* node of the level */

	if (!grow_root(b))
		return false;
	while (b->next.counts.len > 0) {
		struct level done = b->level;

		b->level = b->next;
		b->next = done;
		b->next.members.len = b->next.counts.len = 0;
		b->depth++;
		if (b->steps_left == 0 && b->options->is_inverted)
			b->tree->cut_level = b->depth;
		if (!grow_level(b, first))
			return false;
		first += (allo_node_id)b->level.counts.len;
	}
	return true;
}

/* Values. */

/* Stacks that were not reached belong to the nodes of their callers. */
static void spread_nodes(struct builder *b)
{
	for (size_t i = 1; i < b->profile->stacks.len; i++) {
		if (b->node_of[i] == 0)
			b->node_of[i] = b->node_of[b->profile->stacks.at[i].parent] | BELOW;
	}
}

static bool is_zero(const struct builder *b, size_t sample)
{
	const struct allo_metric_columns *columns = b->columns;
	const uint64_t *row = allo_profile_row(b->profile, sample);

	return row[columns->metric] == 0 && (!columns->has_before || row[columns->before] == 0) &&
	       (!columns->has_blocks || row[columns->blocks] == 0) &&
	       b->profile->variances.len == 0;
}

static void add_values(struct builder *b)
{
	struct allo_tree_node *nodes = b->tree->nodes.at;

	for (size_t i = 0; i < allo_profile_sample_count(b->profile); i++) {
		struct allo_values values;
		size_t unit = b->options->is_inverted ? i : b->profile->sample_stacks.at[i];
		struct allo_tree_node *node = &nodes[b->node_of[unit] & ~BELOW];

		/* In a short range most samples are. */
		if (is_zero(b, i))
			continue;
		values = allo_values_of(b->profile, b->columns, i);
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

static allo_sum weight(const struct allo_tree_node *node)
{
	allo_sum change = node->total.value - node->total.before;

	/* Without a comparison `before` is 0, so this is the value. */
	return change < 0 ? -change : change;
}

static struct allo_text function_of(const struct builder *b, const struct allo_tree_node *node)
{
	const struct allo_frame *frame = &b->profile->frames.at[node->frame];
	struct allo_line line = allo_call_line(b->profile, frame, node->call);

	return line.function
		       ? allo_profile_text(b->profile, b->profile->functions.at[line.function].name)
		       : (struct allo_text){ "", 0 };
}

static int compare_nodes(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	const allo_node_id *x = a, *y = b;
	const struct allo_tree_node *x_node = &builder->tree->nodes.at[*x];
	const struct allo_tree_node *y_node = &builder->tree->nodes.at[*y];
	allo_sum x_weight = weight(x_node), y_weight = weight(y_node);
	int order;

	if (x_weight != y_weight)
		return x_weight < y_weight ? 1 : -1;
	order = allo_text_compare(function_of(builder, x_node), function_of(builder, y_node));
	return order != 0 ? order : (*x > *y) - (*x < *y);
}

/* Links the children of a node, the heaviest first. */
static bool link_siblings(struct builder *b, allo_node_id first, size_t count)
{
	struct allo_tree_node *nodes = b->tree->nodes.at, *parent = &nodes[nodes[first].parent];

	if (!allo_vec_extend(&b->siblings, count, b->err))
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

static bool link_nodes(struct builder *b)
{
	const struct allo_tree_node *nodes = b->tree->nodes.at;
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
			    const struct allo_metric_columns *columns,
			    const struct allo_tree_options *options, struct allo_error *err)
{
	ALLO_DEFER(builder_done)
	struct builder b = {
		.tree = tree,
		.profile = profile,
		.columns = columns,
		.options = options,
		.err = err,
		.steps_left = 4 * allo_stack_walk_budget(profile),
	};

	ALLO_ASSERT(!options->joins_chains || options->is_inverted);
	b.is_signed = profile->metrics.at[columns->metric].is_signed ||
		      (columns->has_before && profile->metrics.at[columns->before].is_signed);
	if (!allo_vec_add(&tree->nodes, ((struct allo_tree_node){ 0 }), err) || !add_kinds(&b) ||
	    !(options->is_inverted ? prepare_up(&b) : prepare_down(&b)) || !grow(&b))
		return false;
	if (!options->is_inverted)
		spread_nodes(&b);
	add_values(&b);
	if (options->is_inverted) {
		tree->sample_nodes = b.node_of;
		b.node_of = NULL;
	}
	return link_nodes(&b);
}
