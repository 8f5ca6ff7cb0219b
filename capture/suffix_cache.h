/*
 * suffix_cache.h - stacks that come again from one place.
 *
 * A program goes down into a library and back for each allocation: the innermost frames are new
 * each time, and the same as the time before last.  For a place (pc and stack pointer at the
 * allocation) this keeps the words that led from it to a frame of the cache, and the number of the
 * stack.  If the words are unchanged, and the cache from that frame outward is, so is the stack:
 * nothing is unwound, hashed or looked up.
 */
#ifndef ALLO_CAPTURE_SUFFIX_CACHE_H
#define ALLO_CAPTURE_SUFFIX_CACHE_H

#include "capture/stack_cache.h"

enum {
	ALLO_SUFFIX_WORDS = 15, /* four cache lines in all; databases go down that far */
	ALLO_SUFFIX_BITS = 9,
	ALLO_SUFFIX_TRIAL = 2048,  /* misses between two looks at how often it hits */
	ALLO_SUFFIX_PAUSE = 65536, /* captures without it, when that was too seldom */
};

enum {
	ALLO_SUFFIX_FP = 1,       /* the frame pointer matters at the allocation */
	ALLO_SUFFIX_JOINT_FP = 2, /* and in the frame that the words lead to */
};

struct allo_suffix {
	uint64_t pc, sp, fp;
	uint64_t joint_hash, joint_sp, joint_fp; /* of the cache's frame that the words lead to */
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

/* Frame pointers as they were.  Where the joint's is another one in the cache, that is a frame of
 * the same function with the same callers, but not the same frame: its words prove nothing. */
static inline bool allo_suffix_fits(const struct allo_suffix *suffix,
				    const struct allo_stack_cache *cache,
				    const struct allo_registers *r)
{
	return (!(suffix->needs & ALLO_SUFFIX_FP) || suffix->fp == r->fp) &&
	       (!(suffix->needs & ALLO_SUFFIX_JOINT_FP) ||
		cache->fps[suffix->joint] == suffix->joint_fp);
}

/* The number of the stack, or 0. */
static inline uint32_t allo_suffix_find(const struct allo_suffix *suffix,
					const struct allo_stack_cache *cache,
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

/* Keeps what the cache has just captured. */
void allo_suffix_keep(struct allo_suffix *suffix, const struct allo_stack_cache *cache, uint32_t id,
		      const struct allo_registers *r);

#endif
