/* label_tables.c - see label_tables.h. */
#include "replay/label_tables.h"

#include "base/defer.h"
#include "base/hash.h"
#include "base/map.h"
#include "wire/varint.h"

enum {
	/* Numbers that are in use without anything being there, because blocks lack: more than a
	 * real recording loses and few enough to be held. */
	MISSING_MAX = 1 << 20,
	/* So that what sets hold grows with their number, whatever a file says: labels of one, and
	 * of all that differ. */
	SET_LABELS_MAX = 32,
	LABELS_MAX = 16 << 20,
};

/* Facts. */

/* Takes the number of an entry of a table that has `count` of them so far. */
static bool take_index(const uint8_t **at, const uint8_t *end, size_t count, uint64_t *number)
{
	return allo_varint_take(at, end, number) && *number > 0 &&
	       *number <= (uint64_t)count + MISSING_MAX && *number < UINT32_MAX;
}

bool allo_label_tables_add_text(struct allo_recording *recording, const uint8_t *at,
				const uint8_t *end, struct allo_error *err)
{
	struct allo_noted_text *text;
	uint64_t number;

	if (!take_index(&at, end, recording->text_count, &number))
		return false;
	if (!allo_vec_cover(&recording->texts, (size_t)number + 1))
		return allo_fail_memory(err);
	text = &recording->texts.at[number];
	if (text->same != 0)
		return true;
	text->text.data = allo_arena_copy(&recording->table_arena, at, (size_t)(end - at));
	text->text.len = (size_t)(end - at);
	text->same = (uint32_t)number;
	recording->text_count++;
	return text->text.data || allo_fail_memory(err);
}

bool allo_label_tables_add_set(struct allo_recording *recording, const uint8_t *at,
			       const uint8_t *end, struct allo_error *err)
{
	uint64_t number, parent, key, value;
	struct allo_noted_set *set;

	if (!take_index(&at, end, recording->set_count, &number) ||
	    !allo_varint_take(&at, end, &parent) || parent >= number ||
	    !allo_varint_take(&at, end, &key) || key > UINT32_MAX ||
	    !allo_varint_take(&at, end, &value) || value > UINT32_MAX)
		return false;
	if (!allo_vec_cover(&recording->label_sets, (size_t)number + 1))
		return allo_fail_memory(err);
	set = &recording->label_sets.at[number];
	if (set->is_known)
		return true;
	*set = (struct allo_noted_set){ .parent = (uint32_t)parent,
					.added = { (uint32_t)key, (uint32_t)value },
					.is_known = true };
	recording->set_count++;
	return true;
}

/* What they come to. */

/* Which texts are equal to one before them. */
static bool find_equal_texts(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };

	for (size_t i = 1; i < recording->texts.len; i++) {
		struct allo_noted_text *text = &recording->texts.at[i];
		struct allo_probe probe;
		uint64_t hash;
		uint32_t same;

		if (text->same == 0)
			continue;
		hash = allo_hash_bytes(text->text.data, text->text.len, allo_hash_seed());
		probe = allo_map_probe(&map, hash);
		while ((same = allo_map_next(&map, &probe)) != 0 &&
		       !allo_text_equal(recording->texts.at[same].text, text->text))
			;
		if (same != 0)
			text->same = same;
		else if (!allo_map_put(&map, hash, (uint32_t)i))
			return allo_fail_memory(err);
	}
	return true;
}

/* The labels of a set, by their keys' numbers. */
struct labels {
	struct allo_noted_label at[SET_LABELS_MAX];
	uint32_t count;
};

/* The parent's labels, with the one that is added in its place. */
static void gather(const struct allo_recording *recording, const struct allo_noted_set *set,
		   struct labels *labels)
{
	const struct allo_noted_set *parent = &recording->label_sets.at[set->parent];
	struct allo_noted_label added = { allo_recording_same_text(recording, set->added.key),
					  allo_recording_same_text(recording, set->added.value) };
	uint32_t at = 0;

	labels->count = parent->count;
	for (uint32_t i = 0; i < parent->count; i++)
		labels->at[i] = recording->labels.at[parent->first + i];
	if (added.key == 0 || added.value == 0)
		return;
	while (at < labels->count && labels->at[at].key < added.key)
		at++;
	if (at == labels->count || labels->at[at].key != added.key) {
		if (labels->count == SET_LABELS_MAX)
			return;
		memmove(&labels->at[at + 1], &labels->at[at],
			(labels->count - at) * sizeof(*labels->at));
		labels->count++;
	}
	labels->at[at] = added;
}

static bool has_labels(const struct allo_recording *recording, uint32_t number,
		       const struct labels *labels)
{
	const struct allo_noted_set *set = &recording->label_sets.at[number];

	return set->count == labels->count && memcmp(&recording->labels.at[set->first], labels->at,
						     labels->count * sizeof(*labels->at)) == 0;
}

/* Gives a set its labels, which may be those of one before it. */
static bool settle(struct allo_recording *recording, struct allo_map *map, uint32_t number,
		   const struct labels *labels, struct allo_error *err)
{
	struct allo_noted_set *set = &recording->label_sets.at[number];
	uint64_t hash = allo_hash_bytes(labels->at, labels->count * sizeof(*labels->at),
					allo_hash_seed());
	struct allo_probe probe = allo_map_probe(map, hash);
	uint32_t same;

	if (labels->count == 0 || recording->labels.len + labels->count > LABELS_MAX)
		return true;
	while ((same = allo_map_next(map, &probe)) != 0 && !has_labels(recording, same, labels))
		;
	if (same != 0) {
		set->first = recording->label_sets.at[same].first;
	} else {
		same = number;
		set->first = (uint32_t)recording->labels.len;
		if (!allo_vec_append(&recording->labels, labels->at, labels->count) ||
		    !allo_map_put(map, hash, number))
			return allo_fail_memory(err);
	}
	set->count = labels->count;
	set->same = same;
	return true;
}

bool allo_label_tables_end(struct allo_recording *recording, struct allo_error *err)
{
	ALLO_DEFER(allo_map_done) struct allo_map map = { 0 };
	struct labels labels;

	if (!find_equal_texts(recording, err))
		return false;
	for (size_t i = 1; i < recording->label_sets.len; i++) {
		const struct allo_noted_set *set = &recording->label_sets.at[i];

		if (!set->is_known)
			continue;
		gather(recording, set, &labels);
		if (!settle(recording, &map, (uint32_t)i, &labels, err))
			return false;
	}
	return true;
}
