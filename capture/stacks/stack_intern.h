/*
 * stack_intern.h - interns stacks: equal stacks get the same id.
 *
 * A stack is identified by a 64-bit hash of its return addresses.  Among a million stacks, the
 * chance that two collide is 3 in 10^8.  Looking up an id takes no lock; a new stack is added under
 * a lock and written to the stream of stacks.
 */
#ifndef ALLO_CAPTURE_STACK_INTERN_H
#define ALLO_CAPTURE_STACK_INTERN_H

#include "capture/stacks/stack_cache.h"

enum {
	ALLO_INTERN_SLOTS = 1 << 14,
	ALLO_CACHED_ID_BITS = 24,
	ALLO_CACHED_ID_MAX = (1 << ALLO_CACHED_ID_BITS) - 1,
};

/* A cache per thread in front of the shared table: 40 bits of the hash and 24 bits of the id in a
 * word.  Buckets have two words, because some thousand stacks would evict each other from one. */
struct allo_intern_cache {
	uint64_t slots[ALLO_INTERN_SLOTS / 2][2];
};

static inline uint64_t *allo_intern_cache_bucket(struct allo_intern_cache *ids, uint64_t hash)
{
	return ids->slots[hash % (ALLO_INTERN_SLOTS / 2)];
}

/* The id, or 0.  No branch between the two words: the processor could not predict it. */
static inline uint32_t allo_intern_cache_find(struct allo_intern_cache *ids, uint64_t hash)
{
	const uint64_t *bucket = allo_intern_cache_bucket(ids, hash);
	uint64_t first = bucket[0], second = bucket[1];
	uint64_t is_other = 0 - (uint64_t)((first ^ hash) >> ALLO_CACHED_ID_BITS != 0);
	uint64_t found = first ^ ((first ^ second) & is_other);

	return (found ^ hash) >> ALLO_CACHED_ID_BITS ? 0 : found & ALLO_CACHED_ID_MAX;
}

/* Opens the streams of stacks and of metadata.  False if that fails. */
bool allo_stacks_begin(void);

/* Frees the table and the streams of an ended recording.  No thread may be inside of a hook;
 * `is_left` says that one may still be, and leaks the memory for it. */
void allo_stacks_end(bool is_left);

/* The id of the stack in `cache`, added if it is new; 0 if there is no room.  `is_nested`: called
 * in a signal handler that may have interrupted the owner of the lock. */
uint32_t allo_stack_intern(struct allo_intern_cache *ids, struct allo_stack_cache *cache,
			   bool is_nested);

/* A frame of a stack with frames of an interpreter: of native code or, with a function, of the
 * interpreter. */
struct allo_mixed_frame {
	uint64_t hash; /* of the stack up to this frame; set when it is interned */
	uint64_t pc;
	uint32_t function, line;
	enum allo_rule_kind found_by;
};

/* The same for a stack of such frames, the outermost first, which `key` identifies from now on. The
 * first `hashed` have their hashes.  `is_cut`: the outermost frame has callers. */
uint32_t allo_stack_intern_mixed(struct allo_intern_cache *ids, uint64_t key,
				 struct allo_mixed_frame *frames, uint32_t count, uint32_t hashed,
				 uint64_t seed, bool is_cut);

/* The rule that found frame `at`: that of the frame it called. */
enum allo_rule_kind allo_frame_found_by(const struct allo_stack_cache *cache, uint32_t at);

/* The id of the stack with this hash, or 0. */
uint32_t allo_stack_find(uint64_t hash);

/* The same; keeps an id in the cache. */
uint32_t allo_stack_find_again(struct allo_intern_cache *ids, uint64_t hash);

/* The lock of the table, the stacks and the metadata.  False if a signal handler (`is_nested`)
 * interrupted the owner in this thread. */
bool allo_stacks_lock(bool is_nested);
void allo_stacks_unlock(void);

/* Releases the lock, if this thread has it from a hook that a jump has left. */
void allo_stacks_recover(void);

struct allo_wire_slot;

/* The tails of the two streams; NULL: not open. */
void allo_stacks_tails(struct allo_wire_slot *tails[2]);

/* The tail of the metadata stream. */
struct allo_wire_slot *allo_stacks_metadata(void);

/* Writes which modules were unloaded. */
void allo_stacks_modules_gone(bool is_nested);

#endif
