/*
 * text_ids.h - ids of texts that come again and again, without keeping the texts.
 *
 *     hash = allo_text_ids_hash(&ids, text);
 *     id = allo_text_ids_find(&ids, hash);
 *     if (id == 0)
 *             ... find out what the text is, then allo_text_ids_put(&ids, hash, id)
 *
 * Texts are known by hashes of 128 bits, of which the map has one half.
 */
#ifndef ALLO_BASE_TEXT_IDS_H
#define ALLO_BASE_TEXT_IDS_H

#include "base/hash.h"
#include "base/map.h"
#include "base/text.h"
#include "base/vec.h"

struct allo_text_id {
	uint64_t hash; /* the half that the map has not */
	uint32_t id;
};

/* To be initialised by allo_text_ids_init(); all zeros may be done with. */
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

/* Forgets all texts. */
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

/* 0 if the text has none yet. */
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

/* Gives an id to a text that has none; false when memory is short. */
static inline bool allo_text_ids_put(struct allo_text_ids *ids, struct allo_hash128 hash,
				     uint32_t id)
{
	struct allo_text_id entry = { hash.low, id };

	return allo_vec_append(&ids->entries, &entry, 1) &&
	       allo_map_put(&ids->map, hash.high, (uint32_t)ids->entries.len);
}

#endif
