/* sizes.c - see sizes.h. */
#include "capture/sizes.h"
#include "capture/system.h"

#include <string.h>

enum {
	REGIONS_SIZE = sizeof(struct allo_region *) << (ALLO_ADDRESS_BITS - ALLO_REGION_BITS),
	SAMPLED = 0x8000,
	LARGE = 0x7fff, /* the size is in the next four places, which are the block's as well */
};

struct allo_region **allo_regions[ALLO_HEAPS];

/* In memory that a child made by fork finds empty. */
static struct {
	struct allo_region *first;
} * all;

static struct allo_region **regions_of(uint32_t heap)
{
	struct allo_region **none = NULL, **made;

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

static struct allo_region *find_region(uint32_t heap, uint64_t address, bool is_wanted)
{
	struct allo_region **regions = is_wanted ? regions_of(heap) : allo_regions[heap];
	struct allo_region **place, *region;

	if (!regions || address >> ALLO_ADDRESS_BITS)
		return NULL;
	place = &regions[address >> ALLO_REGION_BITS];
	region = __atomic_load_n(place, __ATOMIC_ACQUIRE);
	return region || !is_wanted ? region : make_region(place);
}

static uint16_t *place_of(struct allo_region *region, uint64_t address)
{
	return &region->places[address >> 3 & ((1 << (ALLO_REGION_BITS - 3)) - 1)];
}

void allo_size_put(uint32_t heap, uint64_t address, uint64_t size, bool is_sampled)
{
	struct allo_region *region = find_region(heap, address, true);
	uint16_t *place;

	if (!region)
		return;
	place = place_of(region, address);
	if (size >= LARGE - 1) {
		memcpy(place + 1, &size, sizeof(size));
		*place = LARGE;
	} else {
		*place = (uint16_t)(size + 1);
	}
	if (is_sampled) {
		*place |= SAMPLED;
		__atomic_fetch_add(allo_region_page(region, address), 1, __ATOMIC_RELAXED);
	}
}

struct allo_size allo_size_take(uint32_t heap, uint64_t address)
{
	struct allo_region *region = find_region(heap, address, false);
	struct allo_size known = { 0 };
	uint16_t *place, value;

	if (!region)
		return known;
	place = place_of(region, address);
	value = *place;
	if (value == 0)
		return known;
	*place = 0;
	known.is_known = true;
	known.is_sampled = (value & SAMPLED) != 0;
	if (known.is_sampled)
		__atomic_fetch_sub(allo_region_page(region, address), 1, __ATOMIC_RELAXED);
	if ((value & LARGE) == LARGE) {
		memcpy(&known.size, place + 1, sizeof(known.size));
		memset(place + 1, 0, sizeof(known.size));
	} else {
		known.size = (uint64_t)(value & LARGE) - 1;
	}
	return known;
}
