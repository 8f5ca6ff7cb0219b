/*
 * chains.h - the live blocks that realloc has resized: how often each one was.
 *
 * A small hash table by block key (an address, or the name of a block in a packed recording).
 */
#ifndef ALLO_FINDINGS_CHAINS_H
#define ALLO_FINDINGS_CHAINS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct allo_chain {
	uint64_t key;   /* 0: the place is free */
	uint32_t steps; /* reallocs so far */
};

/* All zeros, with `seed` set, is empty and ready for use. */
struct allo_chains {
	uint64_t seed; /* of the hash: files may be hostile */

	/* Private. */
	struct allo_chain *at;
	size_t mask, count;
};

/* The steps of a block, which is removed; 0 if it has none. */
uint32_t allo_chains_take(struct allo_chains *chains, uint64_t key);

/* Sets the steps of a block; false when memory is short. */
bool allo_chains_put(struct allo_chains *chains, uint64_t key, uint32_t steps);

void allo_chains_done(struct allo_chains *chains);

#endif
