/* hash_seed.c - the seed of all hashes, from the kernel. */
#include "base/hash.h"

#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>

uint64_t allo_hash_seed(void)
{
	/* Cached, since getauxval() searches a list.  Every thread stores the same value. */
	static _Atomic uint64_t found;
	uint64_t seed = atomic_load_explicit(&found, memory_order_relaxed);
	const void *random_bytes;

	if (seed != 0)
		return seed;
	/* 16 random bytes from the kernel, without a system call. */
	random_bytes = (const void *)getauxval(AT_RANDOM);
	if (random_bytes)
		memcpy(&seed, random_bytes, sizeof(seed));
	seed |= 1;
	atomic_store_explicit(&found, seed, memory_order_relaxed);
	return seed;
}
