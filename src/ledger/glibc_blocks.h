/*
 * glibc_blocks.h - what glibc's malloc has in use and what is free, in another process.
 *
 * Blocks follow one another, each with its size in front, so that the whole heap can be walked
 * through.  The process goes on meanwhile: what was read of a block and of the next one is apart by
 * less than it takes to free one and to use its memory for something else, nearly always, and what
 * does not fit together is read again.  A walk ends where the arena says that it does, or is given
 * up: no guess is ever told.
 */
#ifndef ALLO_LEDGER_GLIBC_BLOCKS_H
#define ALLO_LEDGER_GLIBC_BLOCKS_H

#include "ledger/glibc_arenas.h"

enum allo_block_state {
	ALLO_BLOCK_USED,
	ALLO_BLOCK_FREE,   /* in a list of the arena's */
	ALLO_BLOCK_CACHED, /* in a list of a thread's */
	ALLO_BLOCK_TOP,    /* the end of a heap, which was not used yet or is free again */
	ALLO_BLOCK_OWN,    /* the allocator's own: arenas, and heads of heaps */
	ALLO_BLOCK_UNKNOWN,
	ALLO_BLOCK_STATES,
};

struct allo_block_sum {
	uint64_t blocks, bytes, resident;
};

struct allo_glibc_blocks {
	struct allo_block_sum sums[ALLO_BLOCK_STATES];
	bool knows_caches; /* otherwise what is in them counts as used */
	const char *why;   /* something is unknown; NULL: nothing is */
};

/* Walks through all segments.  False when memory is short. */
bool allo_glibc_walk(const struct allo_glibc *glibc, const struct allo_other_memory *memory,
		     struct allo_glibc_blocks *blocks, struct allo_error *err);

/* Blocks with mappings of their own.  The kernel joins mappings that lie side by side, so that they
 * may be anywhere in one; each begins with a page.  Looks through one for up to `most` bytes of
 * them; where that is UINT64_MAX, as nobody knows how many there are, only at its start. */
struct allo_block_sum allo_glibc_find_blocks(const struct allo_other_memory *memory,
					     const struct allo_vma *vma, uint64_t most);

#endif
