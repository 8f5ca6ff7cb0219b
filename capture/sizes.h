/*
 * sizes.h - the sizes of live blocks, by address.
 *
 * free() does not know the size of its block.  This table has two bytes for every 8 bytes of memory
 * that holds blocks, at an index computed from the address.  Only the owner of a block reads and
 * writes its entry, so no lock is needed.  Blocks from before the recording are not in it.
 */
#ifndef ALLO_CAPTURE_SIZES_H
#define ALLO_CAPTURE_SIZES_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ALLO_HEAPS = 64, /* malloc's is number 0; the others are custom heaps */
	ALLO_REGION_BITS = 21,
	ALLO_ADDRESS_BITS = 47,
	ALLO_SIZE_SAMPLED = 0x8000,
	ALLO_SIZE_LARGE =
		0x7fff, /* the size is in the next four entries, which belong to the block too */
};

/* The entry of a block. */
struct allo_size {
	uint64_t size;
	bool is_known;
	bool is_sampled; /* the block is in the recording */
};

/* The entries of 2 MiB of address space. */
struct allo_region {
	struct allo_region *next;                           /* in the list of all regions */
	uint16_t sampled[1 << (ALLO_REGION_BITS - 12)];     /* sampled live blocks per page */
	uint16_t places[(1 << (ALLO_REGION_BITS - 3)) + 4]; /* a large size takes five */
};

/* Tables of regions by heap, then by address, in memory that is empty in a child after fork(). */
ALLO_HIDDEN extern struct allo_region **allo_regions[ALLO_HEAPS];

/* Forgets all blocks.  False if out of memory. */
bool allo_sizes_begin(void);

/* The entry of a block: size + 1, and the flag ALLO_SIZE_SAMPLED; 0 if the block is unknown. */
static inline uint16_t *allo_region_place(struct allo_region *region, uint64_t address)
{
	return &region->places[address >> 3 & ((1 << (ALLO_REGION_BITS - 3)) - 1)];
}

/* The region of an address; NULL before its first block. */
static inline struct allo_region *allo_region_find(uint32_t heap, uint64_t address)
{
	struct allo_region **regions = __atomic_load_n(&allo_regions[heap], __ATOMIC_ACQUIRE);

	if (__builtin_expect(!regions || address >> ALLO_ADDRESS_BITS, 0))
		return NULL;
	return __atomic_load_n(&regions[address >> ALLO_REGION_BITS], __ATOMIC_ACQUIRE);
}

/* The fast path for small blocks of malloc in recordings without sampling; false for others. */
static inline bool allo_size_put_short(uint64_t address, uint64_t size)
{
	struct allo_region *region = allo_region_find(0, address);

	if (__builtin_expect(!region || size >= ALLO_SIZE_LARGE - 1, 0))
		return false;
	*allo_region_place(region, address) = (uint16_t)(size + 1);
	return true;
}

static inline bool allo_size_take_short(uint64_t address, uint64_t *size)
{
	struct allo_region *region = allo_region_find(0, address);
	uint16_t *place;

	if (__builtin_expect(!region, 0))
		return false;
	place = allo_region_place(region, address);
	if (__builtin_expect((uint16_t)(*place - 1) >= ALLO_SIZE_LARGE - 1, 0))
		return false;
	*size = (uint64_t)*place - 1;
	*place = 0;
	return true;
}

/* Stores the size of a block.  If out of memory, the block counts as older than the recording. */
void allo_size_put(uint32_t heap, uint64_t address, uint64_t size, bool is_sampled);

/* Removes a block and returns its entry. */
struct allo_size allo_size_take(uint32_t heap, uint64_t address);

/* The number of sampled live blocks in the page of an address. */
static inline uint16_t *allo_region_page(struct allo_region *region, uint64_t address)
{
	return &region->sampled[address >> 12 & ((1 << (ALLO_REGION_BITS - 12)) - 1)];
}

/* Whether the page of a block holds a sampled block: false for nearly all unsampled blocks. */
static inline bool allo_size_may_be_sampled(uint32_t heap, uint64_t address)
{
	struct allo_region *region = allo_region_find(heap, address);

	return region && __atomic_load_n(allo_region_page(region, address), __ATOMIC_RELAXED) != 0;
}

#endif
