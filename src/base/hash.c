/* hash.c - see hash.h. */
#include "base/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t allo_hash_seed(void)
{
	/* Looking it up takes a walk over what the kernel hands to the process; every thread that
	 * does so finds the same. */
	static _Atomic uint64_t found;
	uint64_t seed = atomic_load_explicit(&found, memory_order_relaxed);
	const void *random_bytes;

	if (seed != 0)
		return seed;
	/* Sixteen bytes: random without a system call. */
	random_bytes = (const void *)getauxval(AT_RANDOM);
	if (random_bytes)
		memcpy(&seed, random_bytes, sizeof(seed));
	seed |= 1;
	atomic_store_explicit(&found, seed, memory_order_relaxed);
	return seed;
}

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

/* Two lanes of products, each over half of the data: lines of a file are too short for hashes that
 * are made for megabytes to get going. */
struct lanes {
	uint64_t a, b;
};

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

static inline void mix(struct lanes *lanes, const struct allo_hasher *hasher,
		       const uint64_t word[4])
{
	lanes->a = product(lanes->a ^ word[0], hasher->key[2] ^ word[1]);
	lanes->b = product(lanes->b ^ word[2], hasher->key[3] ^ word[3]);
}

struct allo_hash128 allo_hasher_hash(const struct allo_hasher *hasher, const void *data, size_t len)
{
	/* The length must not meet the bytes before it has been through a product: they would make
	 * up for it. */
	struct lanes lanes = { hasher->key[0], product(hasher->key[1] ^ len, hasher->key[2]) };
	const unsigned char *at = data, *end = at + len;
	uint64_t word[4] = { 0 };

	for (; end - at > 32; at += 32) {
		for (unsigned i = 0; i < 4; i++)
			word[i] = eight_bytes(at + 8 * i);
		mix(&lanes, hasher, word);
	}
	if (len >= 32) { /* the last 32 bytes, of which some were there before */
		for (unsigned i = 0; i < 4; i++)
			word[i] = eight_bytes(end - 32 + 8 * i);
	} else if (len >= 16) {
		word[0] = eight_bytes(at);
		word[1] = eight_bytes(at + 8);
		word[2] = eight_bytes(end - 16);
		word[3] = eight_bytes(end - 8);
	} else if (len >= 8) {
		word[0] = word[2] = eight_bytes(at);
		word[1] = word[3] = eight_bytes(end - 8);
	} else if (len >= 4) {
		word[0] = word[2] = four_bytes(at);
		word[1] = word[3] = four_bytes(end - 4);
	} else if (len > 0) { /* each of up to three bytes is one of these */
		word[0] = word[2] = (uint64_t)at[0] << 16 | (uint64_t)at[len / 2] << 8 | end[-1];
	}
	mix(&lanes, hasher, word);
	return (struct allo_hash128){ product(lanes.a ^ hasher->key[3], lanes.b ^ hasher->key[0]),
				      product(lanes.a ^ hasher->key[1], lanes.b ^ hasher->key[2]) };
}
