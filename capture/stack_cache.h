/*
 * stack_cache.h - the last stack of a thread, and the proof that most of it is still there.
 *
 * Unwinding is a function of three registers and of the words that it reads on the way: per frame
 * the return address, and the saved frame pointer where a caller's address depends on it.  If the
 * registers at one frame are as they were and all words that were read outward of it are unchanged,
 * then so is everything that was found outward of it.  Reading the words again costs a tenth of
 * finding them: their addresses are known, so that no load waits for the one before.
 *
 * Reusing frames without this proof is wrong in up to half of all stacks: a function that is called
 * from two places at one depth looks the same from inside.
 *
 * The search for a frame that is known goes from the inside out, and frames outward of it are only
 * read once it was found: what lies on a stack that has been given back is never touched.
 */
#ifndef ALLO_CAPTURE_STACK_CACHE_H
#define ALLO_CAPTURE_STACK_CACHE_H

#include "capture/unwind.h"

#include <stddef.h>

/* A frame, as much of it as verifying reads. */
struct allo_cached_frame {
	uint64_t sp, pc;
#if !defined(__x86_64__)
	uint64_t slot; /* where pc was read */
#endif
};

/* The rest of a frame. */
struct allo_cached_frame_rest {
	uint64_t hash; /* of the stack up to here, from the outermost frame */
	uint32_t rule; /* that leads outward */
	uint32_t id;   /* of the stack; 0: not asked for yet */
};

/* A frame whose frame pointer matters was found by reading it from the stack: the word, to be
 * verified like a return address. */
struct allo_frame_check {
	uint64_t address, value;
	uint32_t frame;
};

/* A frame that was just found, the innermost first. */
struct allo_new_frame {
	struct allo_registers registers;
	uint32_t rule;
};

enum { ALLO_STACK_MAX = 1 << 20 }; /* frames; beyond that a stack is cut */

struct allo_stack_cache {
	uint32_t count; /* frames; the outermost is 0 */
	uint32_t check_count;
	uint32_t joint;  /* how many frames the last capture found unchanged */
	bool is_cut;     /* there are more frames outside of the outermost */
	bool has_signal; /* frames that a signal interrupted: not to be reused */
	uint64_t seed;   /* what hashes begin with */
	struct allo_cached_frame *frames;
	struct allo_cached_frame_rest *rest;
	bool *needs_fp; /* whether a caller's address depends on the frame pointer there, */
	uint64_t *fps;  /* which is this */
	struct allo_frame_check *checks; /* by frame, the outermost first */
	struct allo_new_frame *fresh;
	size_t capacity; /* of each of these */
	struct allo_stack_bounds bounds;
};

/* Memory for the arrays; false when there is none. */
bool allo_stack_cache_init(struct allo_stack_cache *cache);

/* Forgets the stack; hashes begin with another seed from now on. */
void allo_stack_cache_clear(struct allo_stack_cache *cache, uint64_t seed);

/* The stack of a frame, afterwards the innermost in `cache`; false when not even that can be read.
 */
bool allo_stack_cache_capture(struct allo_stack_cache *cache,
			      const struct allo_registers *registers);

static inline uint64_t allo_frame_slot(const struct allo_cached_frame *frame)
{
#if defined(__x86_64__)
	return frame->sp - 8;
#else
	return frame->slot;
#endif
}

static inline uint64_t allo_frame_change(const struct allo_cached_frame *frame)
{
	return allo_return_address(allo_frame_slot(frame)) ^ frame->pc;
}

/* Four at a time, and one branch: the loads do not depend on each other. */
static inline uint32_t allo_stack_cache_changed_plain(const struct allo_stack_cache *cache,
						      uint32_t joint)
{
	const struct allo_cached_frame *first = cache->frames, *at = first + joint;

	for (const struct allo_cached_frame *last = first + 4; at >= last; at -= 4) {
		if (allo_frame_change(at - 1) | allo_frame_change(at - 2) |
		    allo_frame_change(at - 3) | allo_frame_change(at - 4))
			break;
	}
	for (; at > first; at--) {
		if (allo_frame_change(at - 1))
			return (uint32_t)(at - first);
	}
	return 0;
}

/* The same where there are checks. */
uint32_t allo_stack_cache_changed_checks(const struct allo_stack_cache *cache, uint32_t joint);

/* The outermost part of the stack that has changed since it was captured: how many frames, seen
 * from the inside of frame `joint`, are no longer what they were.  0: none. */
static inline uint32_t allo_stack_cache_changed(const struct allo_stack_cache *cache,
						uint32_t joint)
{
	return __builtin_expect(cache->check_count == 0, 1)
		       ? allo_stack_cache_changed_plain(cache, joint)
		       : allo_stack_cache_changed_checks(cache, joint);
}

/* What the hash of a stack begins with. */
static inline uint64_t allo_stack_hash_root(uint64_t seed, bool is_cut)
{
	return seed ^ is_cut;
}

static inline uint64_t allo_stack_hash(uint64_t hash, uint64_t pc)
{
	hash = (hash ^ pc) * 0x9fb21c651e98df25;
	return hash ^ hash >> 32;
}

#endif
