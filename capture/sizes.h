/*
 * sizes.h - the sizes of live blocks, by their addresses.
 *
 * free() is not told how large a block is.  For every 8 bytes of memory that blocks lie in there
 * are two bytes here, at a place that the address leads to: the block's owner alone reads and
 * writes them, so that no lock is needed.  Blocks from before the recording are not here.
 */
#ifndef ALLO_CAPTURE_SIZES_H
#define ALLO_CAPTURE_SIZES_H

#include "capture/visibility.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	ALLO_HEAPS = 64, /* the program's own, and malloc's, which is the first */
	ALLO_REGION_BITS = 21,
	ALLO_ADDRESS_BITS = 47,
	ALLO_SIZE_SAMPLED = 0x8000,
	ALLO_SIZE_LARGE = 0x7fff, /* it is in the next four places, which are the block's as well */
};

/* What is known of a block. */
struct allo_size {
	uint64_t size;
	bool is_known;
	bool is_sampled; /* it is in the recording */
};

struct allo_region {
	struct allo_region *next;                           /* of all */
	uint16_t sampled[1 << (ALLO_REGION_BITS - 12)];     /* live blocks that are, by page */
	uint16_t places[(1 << (ALLO_REGION_BITS - 3)) + 4]; /* a large size takes five */
};

/* By heap and address; in memory that a child made by fork finds empty. */
ALLO_HIDDEN extern struct allo_region **allo_regions[ALLO_HEAPS];

/* Nothing is known.  False when there is no memory. */
bool allo_sizes_begin(void);

/* Where the size of a block is kept: the size + 1, and whether it is sampled. */
static inline uint16_t *allo_region_place(struct allo_region *region, uint64_t address)
{
	return &region->places[address >> 3 & ((1 << (ALLO_REGION_BITS - 3)) - 1)];
}

/* The region of an address; NULL when there is none yet. */
static inline struct allo_region *allo_region_find(uint32_t heap, uint64_t address)
{
	struct allo_region **regions = __atomic_load_n(&allo_regions[heap], __ATOMIC_ACQUIRE);

	if (__builtin_expect(!regions || address >> ALLO_ADDRESS_BITS, 0))
		return NULL;
	return __atomic_load_n(&regions[address >> ALLO_REGION_BITS], __ATOMIC_ACQUIRE);
}

/* The short way of nearly all blocks of malloc's where none are sampled; false for others. */
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

/* Keeps a block's size; where there is no memory for it, the block is as one from before. */
void allo_size_put(uint32_t heap, uint64_t address, uint64_t size, bool is_sampled);

/* Takes it out. */
struct allo_size allo_size_take(uint32_t heap, uint64_t address);

static inline uint16_t *allo_region_page(struct allo_region *region, uint64_t address)
{
	return &region->sampled[address >> 12 & ((1 << (ALLO_REGION_BITS - 12)) - 1)];
}

/* False for nearly all blocks that were not sampled. */
static inline bool allo_size_may_be_sampled(uint32_t heap, uint64_t address)
{
	struct allo_region *region = allo_region_find(heap, address);

	return region && __atomic_load_n(allo_region_page(region, address), __ATOMIC_RELAXED) != 0;
}

#endif
