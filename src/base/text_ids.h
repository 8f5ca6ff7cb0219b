/*
 * text_ids.h - a map from texts to ids that stores hashes instead of the texts.
 *
 *     hash = allo_text_ids_hash(&ids, text);
 *     id = allo_text_ids_find(&ids, hash);
 *     if (id == 0)
 *             ... parse the text, then allo_text_ids_add(&ids, hash, id, err)
 *
 * A hash of 128 bits identifies a text; the map stores one half and the entry the other.
 */
#ifndef ALLO_BASE_TEXT_IDS_H
#define ALLO_BASE_TEXT_IDS_H

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

struct allo_text_id {
	uint64_t hash; /* the low half; the map has the high one */
	uint32_t id;
};

/* Initialise with allo_text_ids_init(); an all-zero struct is safe to hand to its done. */
struct allo_text_ids {
	struct allo_hasher hasher;
	struct allo_map map; /* indices + 1 */
	ALLO_VEC(struct allo_text_id) entries;
};

static inline void allo_text_ids_init(struct allo_text_ids *ids)
{
	allo_hasher_init(&ids->hasher);
}

static inline void allo_text_ids_done(struct allo_text_ids *ids)
{
	allo_map_done(&ids->map);
	allo_vec_done(&ids->entries);
}

/* Removes all texts. */
static inline void allo_text_ids_clear(struct allo_text_ids *ids)
{
	allo_map_clear(&ids->map);
	ids->entries.len = 0;
}

static inline struct allo_hash128 allo_text_ids_hash(const struct allo_text_ids *ids,
						     struct allo_text text)
{
	return allo_hasher_hash(&ids->hasher, text.data, text.len);
}

/* The id of a text, or 0. */
static inline uint32_t allo_text_ids_find(const struct allo_text_ids *ids, struct allo_hash128 hash)
{
	struct allo_probe probe = allo_map_probe(&ids->map, hash.high);
	uint32_t number;

	while ((number = allo_map_next(&ids->map, &probe)) != 0) {
		if (ids->entries.at[number - 1].hash == hash.low)
			return ids->entries.at[number - 1].id;
	}
	return 0;
}

/* Gives an id to a text that has none; false when out of memory. */
static inline bool allo_text_ids_put(struct allo_text_ids *ids, struct allo_hash128 hash,
				     uint32_t id)
{
	struct allo_text_id entry = { hash.low, id };

	return allo_vec_append(&ids->entries, &entry, 1) &&
	       allo_map_put(&ids->map, hash.high, (uint32_t)ids->entries.len);
}

/* The same, but records in `err` that memory ran out. */
static inline bool allo_text_ids_add(struct allo_text_ids *ids, struct allo_hash128 hash,
				     uint32_t id, struct allo_error *err)
{
	return allo_or_fail_memory(allo_text_ids_put(ids, hash, id), err);
}

#endif
