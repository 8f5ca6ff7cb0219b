/*
 * suffix_cache.h - caches the ids of stacks by call site, with the words that prove them valid.
 *
 * A program calls down into a library and returns for each allocation: the innermost frames are new
 * each time, and equal to those of the previous call from the same place.  An entry, found by pc
 * and stack pointer at the allocation, holds the words that lead from there to a frame of the stack
 * cache (the joint), and the id of the stack.  If these words are unchanged, and the stack cache
 * from the joint outward is too, then so is the stack: nothing is unwound, hashed or looked up.
 */
#ifndef ALLO_CAPTURE_SUFFIX_CACHE_H
#define ALLO_CAPTURE_SUFFIX_CACHE_H

#include "capture/stacks/stack_cache.h"

enum {
	ALLO_SUFFIX_WORDS = 15, /* four cache lines per entry; enough for database servers */
	ALLO_SUFFIX_BITS = 9,
	ALLO_SUFFIX_TRIAL = 2048,  /* misses between two checks of the hit rate */
	ALLO_SUFFIX_PAUSE = 65536, /* captures without the cache if it hit too rarely */
};

enum {
	ALLO_SUFFIX_FP = 1,       /* the stack depends on the frame pointer at the call site */
	ALLO_SUFFIX_JOINT_FP = 2, /* and on the one in the joint frame */
};

struct allo_suffix {
	uint64_t pc, sp, fp;
	uint64_t joint_hash, joint_sp, joint_fp; /* of the joint in the stack cache */
	uint32_t id;
	uint16_t joint;
	uint8_t count;
	uint8_t needs;
	uint32_t offsets[ALLO_SUFFIX_WORDS]; /* of the words, from the stack pointer */
	uint64_t values[ALLO_SUFFIX_WORDS];
} __attribute__((aligned(64)));

struct allo_suffix_cache {
	uint32_t pause, hits, misses;
	struct allo_suffix slots[1 << ALLO_SUFFIX_BITS];
};

static inline struct allo_suffix *allo_suffix_slot(struct allo_suffix_cache *suffixes, uint64_t pc,
						   uint64_t sp)
{
	uint64_t hash = (pc + (sp << 20) + (sp >> 3)) * 0x9e3779b97f4a7c15;

	return &suffixes->slots[hash >> (64 - ALLO_SUFFIX_BITS)];
}

/* Compares the frame pointers.  If the joint's differs, then the cached frame is a different frame
 * of the same function with the same callers, and its words prove nothing. */
static inline bool allo_suffix_fits(const struct allo_suffix *suffix,
				    const struct allo_stack_cache *cache,
				    const struct allo_registers *r)
{
	return (!(suffix->needs & ALLO_SUFFIX_FP) || suffix->fp == r->fp) &&
	       (!(suffix->needs & ALLO_SUFFIX_JOINT_FP) ||
		cache->fps[suffix->joint] == suffix->joint_fp);
}

/* The id of the stack, or 0 if the entry does not prove it. */
static inline uint32_t allo_suffix_find(const struct allo_suffix *suffix,
					struct allo_stack_cache *cache,
					const struct allo_registers *r)
{
	uint64_t changes = 0;

	if (suffix->pc != r->pc || suffix->sp != r->sp)
		return 0;
	if (__builtin_expect(suffix->joint >= cache->count, 0) ||
	    cache->rest[suffix->joint].hash != suffix->joint_hash ||
	    cache->frames[suffix->joint].sp != suffix->joint_sp ||
	    (suffix->needs && !allo_suffix_fits(suffix, cache, r)))
		return 0;
	for (unsigned i = 0; i < suffix->count; i++)
		changes |= allo_word_at(r->sp + suffix->offsets[i]) ^ suffix->values[i];
	if (__builtin_expect(changes != 0, 0) ||
	    allo_stack_cache_changed(cache, suffix->joint) != 0)
		return 0;
	return suffix->id;
}

/* Fills the entry with the stack that `cache` has just captured. */
void allo_suffix_keep(struct allo_suffix *suffix, const struct allo_stack_cache *cache, uint32_t id,
		      const struct allo_registers *r);

#endif
