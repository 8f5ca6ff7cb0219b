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
	hasher->seed = allo_hash_seed();
	_Static_assert(sizeof(hasher->secret) == XXH3_SECRET_DEFAULT_SIZE,
		       "as large as XXH3's own");
	XXH3_generateSecret_fromSeed(hasher->secret, hasher->seed);
}

struct allo_hash128 allo_hasher_hash(const struct allo_hasher *hasher, const void *data, size_t len)
{
	XXH128_hash_t hash = XXH3_128bits_withSecretandSeed(data, len, hasher->secret,
							    sizeof(hasher->secret), hasher->seed);

	return (struct allo_hash128){ hash.low64, hash.high64 };
}
