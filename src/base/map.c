/* map.c - growing and clearing a map. */
#include "base/map.h"

#include "base/assert.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_FIRST = 64, SLOTS_MANY = 1 << 16 };

/* The hash that a slot keeps has 32 bits.  Where size_t has no more, memory ends earlier. */
static const uint64_t slots_most = (uint64_t)1 << 32;

/* Open addressing with linear steps: eight slots share a cache line.  A slot holds the half of the
 * hash that places it, so growing does not need the owner's hashes. */
bool allo_map_grow(struct allo_map *map)
{
	size_t old_count = map->slots ? (size_t)map->mask + 1 : 0;
	size_t count = old_count ? old_count * 2 : SLOTS_FIRST;
	uint32_t placed = 0;
	uint64_t *slots;

	ALLO_ASSERT(map->used <= map->mask); /* a free slot ends every search */
	if (count > slots_most)
		return false;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return false;
	for (size_t i = 0; i < old_count; i++) {
		uint64_t slot = map->slots[i];
		size_t at = (size_t)(slot >> 32) & (count - 1);

		if ((uint32_t)slot == 0)
			continue;
		while ((uint32_t)slots[at] != 0)
			at = (at + 1) & (count - 1);
		slots[at] = slot;
		placed++;
	}
	ALLO_ASSERT(placed == map->used);
	free(map->slots);
	map->slots = slots;
	map->mask = (uint32_t)(count - 1);
	return true;
}

void allo_map_clear(struct allo_map *map)
{
	/* Clearing a large table that is nearly empty costs more than allocating a small one. */
	if (map->used < map->mask / 16 && map->mask > SLOTS_MANY)
		allo_map_done(map);
	if (map->slots)
		memset(map->slots, 0, ((size_t)map->mask + 1) * sizeof(*map->slots));
	map->used = 0;
}

void allo_map_done(struct allo_map *map)
{
	free(map->slots);
	*map = (struct allo_map){ 0 };
}
