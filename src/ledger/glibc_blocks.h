/*
 * glibc_blocks.h - blocks of glibc's malloc in another process: in use, free or cached.
 *
 * Blocks are adjacent, and each has its size in front, so the whole heap can be walked.  The
 * process runs meanwhile.  A block that is inconsistent with the next one is read again.  A walk
 * that does not arrive at the end that the arena gives is dropped: nothing is guessed.
 */
#ifndef ALLO_LEDGER_GLIBC_BLOCKS_H
#define ALLO_LEDGER_GLIBC_BLOCKS_H

#include "ledger/glibc_arenas.h"

enum allo_block_state {
	ALLO_BLOCK_USED,
	ALLO_BLOCK_FREE,   /* in a free list of the arena */
	ALLO_BLOCK_CACHED, /* in the cache of a thread */
	ALLO_BLOCK_TOP,    /* the unused end of a heap */
	ALLO_BLOCK_OWN,    /* metadata: arenas and heads of heaps */
	ALLO_BLOCK_UNKNOWN,
	ALLO_BLOCK_STATES,
};

struct allo_glibc_sum {
	uint64_t blocks, bytes, resident;
};

struct allo_glibc_blocks {
	struct allo_glibc_sum sums[ALLO_BLOCK_STATES];
	bool knows_caches; /* otherwise cached blocks count as used */
	const char *why;   /* reason if something is unknown; else NULL */
};

/* Walks through all segments.  False when memory is short. */
bool allo_glibc_walk(const struct allo_glibc *glibc, const struct allo_other_memory *memory,
		     struct allo_glibc_blocks *blocks, struct allo_error *err);

/* Searches a mapping for blocks that have their own mapping, up to `most` bytes of them.  The
 * kernel joins adjacent mappings, so they may begin at any page; if `most` is UINT64_MAX (unknown),
 * only the start is searched. */
struct allo_glibc_sum allo_glibc_find_blocks(const struct allo_other_memory *memory,
					     const struct allo_vma *vma, uint64_t most);

#endif
