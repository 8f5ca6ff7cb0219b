/*
 * map.h - hash map from hashes to ids.
 *
 * The owner keeps the entries and compares them; the map keeps one word per entry:
 *
 *     struct allo_probe probe = allo_map_probe(&map, hash);
 *     while ((id = allo_map_next(&map, &probe)) != 0)
 *             if (entries[id] is equal)
 *                     return id;
 *     ... add the entry, then allo_map_add(&map, hash, id, err)
 *
 * Hashes come from hash.h.
 */
#ifndef ALLO_BASE_MAP_H
#define ALLO_BASE_MAP_H

#include "base/error.h"

#include <stddef.h>

/* All zeros is an empty map. */
struct allo_map {
	uint64_t *slots; /* upper half: upper half of the hash; lower half: id, 0 = free */
	uint32_t mask;
	uint32_t used;
};

struct allo_probe {
	uint32_t at, tag;
};

static inline struct allo_probe allo_map_probe(const struct allo_map *map, uint64_t hash)
{
	uint32_t tag = (uint32_t)(hash >> 32);

	return (struct allo_probe){ tag & map->mask, tag };
}

/* Prefetches the slot of a hash. */
static inline void allo_map_fetch(const struct allo_map *map, uint64_t hash)
{
	if (map->slots)
		__builtin_prefetch(&map->slots[allo_map_probe(map, hash).at]);
}

/* The next id whose entry may be equal, or 0. */
static inline uint32_t allo_map_next(const struct allo_map *map, struct allo_probe *probe)
{
	if (!map->slots)
		return 0;
	for (;;) {
		uint64_t slot = map->slots[probe->at];

		if ((uint32_t)slot == 0)
			return 0;
		probe->at = (probe->at + 1) & map->mask;
		if ((uint32_t)(slot >> 32) == probe->tag)
			return (uint32_t)slot;
	}
}

/* Makes room for one more id; false when out of memory. */
bool allo_map_grow(struct allo_map *map);

/* Adds an id that the map does not hold yet; false when out of memory. */
static inline bool allo_map_put(struct allo_map *map, uint64_t hash, uint32_t id)
{
	uint32_t tag = (uint32_t)(hash >> 32), at;

	/* At most two thirds full: beyond that the runs of taken slots get long. */
	if ((uint64_t)map->used * 3 >= (uint64_t)map->mask * 2 && !allo_map_grow(map))
		return false;
	for (at = tag & map->mask; (uint32_t)map->slots[at] != 0;)
		at = (at + 1) & map->mask;
	map->slots[at] = (uint64_t)tag << 32 | id;
	map->used++;
	return true;
}

/* The same, but records in `err` that memory ran out. */
static inline bool allo_map_add(struct allo_map *map, uint64_t hash, uint32_t id,
				struct allo_error *err)
{
	return allo_or_fail_memory(allo_map_put(map, hash, id), err);
}

/* Removes all ids.  Keeps the memory, unless little of it was used. */
void allo_map_clear(struct allo_map *map);

void allo_map_done(struct allo_map *map);

#endif
