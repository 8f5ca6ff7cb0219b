/* hash.c - XXH3 for single texts, and a faster keyed hash for short lines. */
#include "base/hash.h"

#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t allo_hash_bytes(const void *data, size_t len, uint64_t seed)
{
	return XXH3_64bits_withSeed(data, len, seed);
}

void allo_hasher_init(struct allo_hasher *hasher)
{
	uint64_t seed = allo_hash_seed();

	for (unsigned i = 0; i < 4; i++)
		hasher->key[i] = allo_hash_pair(seed, i + 1, seed);
}

static inline uint64_t product(uint64_t x, uint64_t y)
{
	unsigned __int128 whole = (unsigned __int128)x * y;

	return (uint64_t)whole ^ (uint64_t)(whole >> 64);
}

static inline uint64_t eight_bytes(const unsigned char *at)
{
	uint64_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

static inline uint32_t four_bytes(const unsigned char *at)
{
	uint32_t word;

	memcpy(&word, at, sizeof(word));
	return word;
}

/* Input of one step: a block of 32 bytes, or a shorter text spread over four words. */
struct words {
	uint64_t a, b, c, d;
};

static inline struct words block_at(const unsigned char *at)
{
	return (struct words){ eight_bytes(at), eight_bytes(at + 8), eight_bytes(at + 16),
			       eight_bytes(at + 24) };
}

/* A text shorter than a block. */
static inline struct words short_block(const unsigned char *at, size_t len)
{
	const unsigned char *end = at + len;
	uint64_t first = 0, last = 0;

	if (len >= 16)
		return (struct words){ eight_bytes(at), eight_bytes(at + 8), eight_bytes(end - 16),
				       eight_bytes(end - 8) };
	if (len >= 8) {
		first = eight_bytes(at);
		last = eight_bytes(end - 8);
	} else if (len >= 4) {
		first = four_bytes(at);
		last = four_bytes(end - 4);
	} else if (len > 0) { /* each of up to three bytes is one of these */
		first = (uint64_t)at[0] << 16 | (uint64_t)at[len / 2] << 8 | end[-1];
	}
	return (struct words){ first, last, first, last };
}

/* Two independent products, each of half a block: this suits short lines, where hashes made for
 * megabytes never reach their speed.  Both products keep all their bits, so texts collide no more
 * often than a random state of this width. */
static inline void mix(struct allo_hash_state *state, const struct allo_hasher *hasher,
		       struct words block)
{
	unsigned __int128 x = (unsigned __int128)(state->a ^ block.a) * (hasher->key[2] ^ block.b);
	unsigned __int128 y = (unsigned __int128)(state->b ^ block.c) * (hasher->key[3] ^ block.d);

	state->a = (uint64_t)x ^ (uint64_t)(y >> 64);
	state->b = (uint64_t)(x >> 64) ^ (uint64_t)y;
}

static inline struct allo_hash_state start(const struct allo_hasher *hasher)
{
	return (struct allo_hash_state){ hasher->key[0], hasher->key[1] };
}

/* Mixes the length and the last block into a state that has all other blocks. */
static inline struct allo_hash128 finish(const struct allo_hasher *hasher,
					 struct allo_hash_state state, const unsigned char *data,
					 size_t len)
{
	/* The length goes through a product first: otherwise the bytes could cancel it. */
	state.b ^= product(hasher->key[1] ^ len, hasher->key[2]);
	if (len >= ALLO_HASH_BLOCK) /* may overlap the block before */
		mix(&state, hasher, block_at(data + len - ALLO_HASH_BLOCK));
	else
		mix(&state, hasher, short_block(data, len));
	return (struct allo_hash128){ product(state.a ^ hasher->key[3], state.b ^ hasher->key[0]),
				      product(state.a ^ hasher->key[1], state.b ^ hasher->key[2]) };
}

struct allo_hash128 allo_hasher_hash(const struct allo_hasher *hasher, const void *data, size_t len)
{
	struct allo_hash_state state = start(hasher);
	const unsigned char *at = data, *end = at + len;

	for (; end - at > ALLO_HASH_BLOCK; at += ALLO_HASH_BLOCK)
		mix(&state, hasher, block_at(at));
	return finish(hasher, state, data, len);
}

void allo_hasher_walk(const struct allo_hasher *hasher, const void *data, size_t len,
		      struct allo_hash_state *states)
{
	struct allo_hash_state state = start(hasher);
	const unsigned char *at = data, *end = at + len;

	*states++ = state;
	for (; end - at >= ALLO_HASH_BLOCK; at += ALLO_HASH_BLOCK) {
		mix(&state, hasher, block_at(at));
		*states++ = state;
	}
}

struct allo_hash128 allo_hasher_hash_beginning(const struct allo_hasher *hasher,
					       const struct allo_hash_state *states,
					       const void *data, size_t len)
{
	return finish(hasher, states[len > 0 ? (len - 1) / ALLO_HASH_BLOCK : 0], data, len);
}
