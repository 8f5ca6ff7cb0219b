#include "profile/shown_names.h"

#include "base/hash.h"

void allo_shown_names_done(struct allo_shown_names *names)
{
	allo_arena_done(&names->arena);
	allo_name_buffer_done(&names->buffer);
	allo_vec_done(&names->all);
	allo_vec_done(&names->taken);
	allo_map_done(&names->by_full);
	allo_map_done(&names->by_text);
}

static uint64_t hash_of(struct allo_shown_names *names, struct allo_text text)
{
	if (names->seed == 0)
		names->seed = allo_hash_seed() | 1;
	return allo_hash_bytes(text.data, text.len, names->seed);
}

static struct allo_shown_name *find(struct allo_shown_names *names, struct allo_text full)
{
	struct allo_probe probe = allo_map_probe(&names->by_full, hash_of(names, full));
	uint32_t number;

	while ((number = allo_map_next(&names->by_full, &probe)) != 0) {
		if (allo_text_equal(names->all.at[number - 1].full, full))
			return &names->all.at[number - 1];
	}
	return NULL;
}

static struct allo_taken_name *find_taken(struct allo_shown_names *names, struct allo_text text)
{
	struct allo_probe probe = allo_map_probe(&names->by_text, hash_of(names, text));
	uint32_t number;

	while ((number = allo_map_next(&names->by_text, &probe)) != 0) {
		if (allo_text_equal(names->taken.at[number - 1].text, text))
			return &names->taken.at[number - 1];
	}
	return NULL;
}

static struct allo_text copy(struct allo_shown_names *names, struct allo_text text)
{
	const char *copied = allo_arena_copy(&names->arena, text.data, text.len);

	return copied ? (struct allo_text){ copied, text.len } : (struct allo_text){ NULL, 0 };
}

/* Takes a text that no other name has. */
static bool take(struct allo_shown_names *names, uint32_t index, struct allo_text text)
{
	struct allo_shown_name *name = &names->all.at[index];
	struct allo_taken_name taken = { copy(names, text), index, name->level };

	if (!taken.text.data || !allo_vec_append(&names->taken, &taken, 1))
		return false;
	name->shown = taken.text;
	return allo_map_put(&names->by_text, hash_of(names, text), (uint32_t)names->taken.len);
}

/* Gives a name the shortest text that is its own.  A name that had the text before gets a longer
 * one as well; the text stays taken, so that a third name does not get it. */
static void choose(struct allo_shown_names *names, uint32_t index)
{
	struct allo_shown_name *name = &names->all.at[index];

	for (; name->level < ALLO_SHOWN_FULL; name->level++) {
		enum allo_name_detail detail = name->level == ALLO_SHOWN_BRIEF ? ALLO_NAME_BRIEF
									       : ALLO_NAME_DISTINCT;
		struct allo_text text = allo_short_name(name->full, detail, &names->buffer);
		const struct allo_taken_name *taken = find_taken(names, text);

		if (!taken && take(names, index, text))
			return;
		if (taken && names->all.at[taken->name].level == taken->level) {
			names->all.at[taken->name].level++;
			choose(names, taken->name);
		}
	}
	name->shown = name->full;
}

void allo_shown_names_add(struct allo_shown_names *names, struct allo_text full)
{
	struct allo_shown_name name = { 0 };

	if (find(names, full))
		return;
	name.full = name.shown = copy(names, full);
	if (!name.full.data || !allo_vec_append(&names->all, &name, 1) ||
	    !allo_map_put(&names->by_full, hash_of(names, full), (uint32_t)names->all.len))
		return;
	choose(names, (uint32_t)names->all.len - 1);
}

struct allo_text allo_shown_names_find(struct allo_shown_names *names, struct allo_text full)
{
	const struct allo_shown_name *name = find(names, full);

	return name ? name->shown : allo_short_name(full, ALLO_NAME_BRIEF, &names->buffer);
}
