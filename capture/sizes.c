/* sizes.c - a two-level table of 16-bit entries; regions are created on first use. */
#include "capture/sizes.h"
#include "base/assert.h"
#include "capture/system.h"

#include <string.h>

enum { REGIONS_SIZE = sizeof(struct allo_region *) << (ALLO_ADDRESS_BITS - ALLO_REGION_BITS) };

struct allo_region **allo_regions[ALLO_HEAPS];

/* The list of all regions, in memory that is empty in a child after fork(). */
static struct {
	struct allo_region *first;
} * all;

/* The table of a heap, which it creates if needed; NULL if out of memory. */
static struct allo_region **regions_of(uint32_t heap)
{
	struct allo_region **none = NULL, **made;

	ALLO_ASSERT(heap < ALLO_HEAPS);
	made = __atomic_load_n(&allo_regions[heap], __ATOMIC_ACQUIRE);
	if (made)
		return made;
	made = allo_map_private(REGIONS_SIZE);
	if (made && !__atomic_compare_exchange_n(&allo_regions[heap], &none, made, false,
						 __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
		allo_unmap(made, REGIONS_SIZE);
		return none;
	}
	return made;
}

bool allo_sizes_begin(void)
{
	if (!all)
		all = allo_map_private(sizeof(*all));
	if (!all || !regions_of(0))
		return false;
	for (struct allo_region *region = all->first; region; region = region->next) {
		memset(region->sampled, 0, sizeof(region->sampled));
		memset(region->places, 0, sizeof(region->places));
	}
	return true;
}

/* Creates a region, unless another thread is faster; NULL if out of memory. */
static struct allo_region *make_region(struct allo_region **place)
{
	struct allo_region *none = NULL, *made = allo_map_private(sizeof(*made));

	if (!made)
		return NULL;
	if (!__atomic_compare_exchange_n(place, &none, made, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		allo_unmap(made, sizeof(*made));
		return none;
	}
	made->next = __atomic_load_n(&all->first, __ATOMIC_RELAXED);
	while (!__atomic_compare_exchange_n(&all->first, &made->next, made, true, __ATOMIC_RELEASE,
					    __ATOMIC_RELAXED)) {
	}
	return made;
}

static struct allo_region *get_region(uint32_t heap, uint64_t address)
{
	struct allo_region *region = allo_region_find(heap, address), **regions;

	if (region || address >> ALLO_ADDRESS_BITS)
		return region;
	regions = regions_of(heap);
	return regions ? make_region(&regions[address >> ALLO_REGION_BITS]) : NULL;
}

void allo_size_put(uint32_t heap, uint64_t address, uint64_t size, bool is_sampled)
{
	struct allo_region *region = get_region(heap, address);
	uint16_t *place;

	if (!region)
		return;
	place = allo_region_place(region, address);
	if (size >= ALLO_SIZE_LARGE - 1) {
		memcpy(place + 1, &size, sizeof(size));
		*place = ALLO_SIZE_LARGE;
	} else {
		*place = (uint16_t)(size + 1);
	}
	if (is_sampled) {
		*place |= ALLO_SIZE_SAMPLED;
		__atomic_fetch_add(allo_region_page(region, address), 1, __ATOMIC_RELAXED);
	}
}

struct allo_size allo_size_take(uint32_t heap, uint64_t address)
{
	struct allo_region *region = allo_region_find(heap, address);
	struct allo_size known = { 0 };
	uint16_t *place, value;

	if (!region)
		return known;
	place = allo_region_place(region, address);
	value = *place;
	if (value == 0)
		return known;
	*place = 0;
	known.is_known = true;
	known.is_sampled = (value & ALLO_SIZE_SAMPLED) != 0;
	if (known.is_sampled)
		__atomic_fetch_sub(allo_region_page(region, address), 1, __ATOMIC_RELAXED);
	if ((value & ALLO_SIZE_LARGE) == ALLO_SIZE_LARGE) {
		memcpy(&known.size, place + 1, sizeof(known.size));
		memset(place + 1, 0, sizeof(known.size));
	} else {
		known.size = (uint64_t)(value & ALLO_SIZE_LARGE) - 1;
		ALLO_ASSERT(known.size < ALLO_SIZE_LARGE - 1);
	}
	return known;
}
