/* hash.c - see hash.h. */
#include "base/hash.h"

#include <string.h>
#include <sys/auxv.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

uint64_t allo_hash_seed(void)
{
	/* Sixteen bytes that the kernel hands to every process: random without a system call. */
	const void *random_bytes = (const void *)getauxval(AT_RANDOM);
	uint64_t seed = 0;

	if (random_bytes)
		memcpy(&seed, random_bytes, sizeof(seed));
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
