/*
 * hash.h - hashes with a random seed, so that no input can force collisions.
 *
 * No output depends on a hash: the same input gives the same output in every process.
 */
#ifndef ALLO_BASE_HASH_H
#define ALLO_BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* 64 random bits, constant for the life of the process. */
uint64_t allo_hash_seed(void);

uint64_t allo_hash_bytes(const void *data, size_t len, uint64_t seed);

static inline uint64_t allo_hash_pair(uint64_t a, uint64_t b, uint64_t seed)
{
	/* The two halves of a 128-bit product, folded: every bit in reaches every bit out. */
	unsigned __int128 product = (unsigned __int128)(a ^ seed ^ 0x9e3779b97f4a7c15) *
				    (b ^ (seed >> 32 | seed << 32) ^ 0xd6e8feb86659fd93);

	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Long enough that equal hashes mean equal data: a collision is less likely than a memory error. */
struct allo_hash128 {
	uint64_t low, high;
};

/* Keys for hashing many texts with one seed. */
struct allo_hasher {
	uint64_t key[4];
};

void allo_hasher_init(struct allo_hasher *hasher);
struct allo_hash128 allo_hasher_hash(const struct allo_hasher *hasher, const void *data,
				     size_t len);

/* The state after each 32 bytes of a text.  With all states of a text, the hash of any prefix costs
 * only one step. */
struct allo_hash_state {
	uint64_t a, b;
};

enum { ALLO_HASH_BLOCK = 32 };

/* Number of states of a text of this length. */
static inline size_t allo_hash_states(size_t len)
{
	return len / ALLO_HASH_BLOCK + 1;
}

void allo_hasher_walk(const struct allo_hasher *hasher, const void *data, size_t len,
		      struct allo_hash_state *states);

/* The hash of the first `len` bytes, from the states of the whole text. */
struct allo_hash128 allo_hasher_hash_beginning(const struct allo_hasher *hasher,
					       const struct allo_hash_state *states,
					       const void *data, size_t len);

#endif
