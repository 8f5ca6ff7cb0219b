/*
 * flame_groups.c - which boxes of a flame graph have the same colour; see flame.h.
 *
 * Modules, where there are several; else packages, crates and namespaces as names tell them; else
 * files.
 */
#include "base/defer.h"
#include "profile/naming.h"
#include "writers/flame.h"

#include <stdlib.h>

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

static struct allo_text group_name(const struct allo_profile *profile, const struct allo_node *node,
				   bool by_module)
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
	/* In C, what is behind a dot is the compiler's: "parse.part.0". */
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

struct grouping {
	const struct allo_profile *profile;
	struct allo_flame *flame;
	struct allo_map map; /* of indices in groups[] + 1 */
	ALLO_VEC(struct group) groups;
	ALLO_VEC(uint32_t) order; /* of groups[] */
	uint64_t seed;
};

static void grouping_done(struct grouping *g)
{
	allo_map_done(&g->map);
	allo_vec_done(&g->groups);
	allo_vec_done(&g->order);
}

/* Whether the boxes are of more than one module. */
static bool has_modules(const struct grouping *g)
{
	allo_module_id first = 0;

	for (size_t i = 1; i < g->flame->boxes.len; i++) {
		const struct allo_node *node = &g->flame->tree.nodes.at[g->flame->boxes.at[i].node];
		allo_module_id module = g->profile->frames.at[node->frame].module;

		if (first == 0)
			first = module;
		else if (module != 0 && module != first)
			return true;
	}
	return false;
}

/* The index in groups[], (uint32_t)-1 when memory is short. */
static uint32_t add_group(struct grouping *g, struct allo_text name)
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
	const struct grouping *g = context;
	const uint32_t *x = a, *y = b;
	double x_width = g->groups.at[*x].width, y_width = g->groups.at[*y].width;

	if (x_width != y_width)
		return x_width < y_width ? 1 : -1;
	return (*x > *y) - (*x < *y);
}

/* The groups that take up most get a colour each. */
static void rank_groups(struct grouping *g)
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

bool allo_flame_group(struct allo_flame *flame, const struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(grouping_done)
	struct grouping g = { .profile = profile, .flame = flame, .seed = allo_hash_seed() };
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
