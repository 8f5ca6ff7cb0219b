/*
 * stack_intern.h - numbers for stacks.
 *
 * A stack is known by the hash of its return addresses.  Looking one up takes no lock; a new one is
 * added under a lock and written to the stream of stacks.  64 bits: among a million stacks the
 * chance that two are taken for one is 3 in 10^8.
 */
#ifndef ALLO_CAPTURE_STACK_INTERN_H
#define ALLO_CAPTURE_STACK_INTERN_H

#include "capture/stack_cache.h"

enum {
	ALLO_INTERN_SLOTS = 1 << 14,
	ALLO_CACHED_ID_BITS = 24,
	ALLO_CACHED_ID_MAX = (1 << ALLO_CACHED_ID_BITS) - 1,
};

/* A thread's own look-up before the common one: 40 bits of the hash, 24 of the number.  There are
 * two places for each: of some thousand stacks, many would take turns in one. */
struct allo_intern_cache {
	uint64_t slots[ALLO_INTERN_SLOTS / 2][2];
};

static inline uint64_t *allo_intern_cache_bucket(struct allo_intern_cache *ids, uint64_t hash)
{
	return ids->slots[hash % (ALLO_INTERN_SLOTS / 2)];
}

/* The number, or 0.  Which of the two places it is in cannot be foreseen, so there is no branch for
 * it. */
static inline uint32_t allo_intern_cache_find(struct allo_intern_cache *ids, uint64_t hash)
{
	const uint64_t *places = allo_intern_cache_bucket(ids, hash);
	uint64_t first = places[0], second = places[1];
	uint64_t is_other = 0 - (uint64_t)((first ^ hash) >> ALLO_CACHED_ID_BITS != 0);
	uint64_t found = first ^ ((first ^ second) & is_other);

	return (found ^ hash) >> ALLO_CACHED_ID_BITS ? 0 : found & ALLO_CACHED_ID_MAX;
}

/* The streams that the process has as a whole; false when there can be none. */
bool allo_stacks_begin(void);

/* Gives back what they have when recording is over.  Nobody may be inside of a hook, or else
 * (`is_left`) it stays for him. */
void allo_stacks_end(bool is_left);

/* The number of the stack in a cache; 0 when it cannot be had.  `is_nested`: in a signal handler
 * that may have interrupted whoever has the lock. */
uint32_t allo_stack_intern(struct allo_intern_cache *ids, struct allo_stack_cache *cache,
			   bool is_nested);

/* The number of the stack with this hash, or 0. */
uint32_t allo_stack_find(uint64_t hash);

/* The lock of the stacks and of the facts; false when a signal handler (`is_nested`) has
 * interrupted whoever has it. */
bool allo_stacks_lock(bool is_nested);
void allo_stacks_unlock(void);

/* The stream of facts. */
struct allo_wire_slot *allo_stacks_metadata(void);

/* Modules have gone: says so in the recording, and addresses mean something else from now on. */
void allo_stacks_modules_gone(bool is_nested);

#endif
