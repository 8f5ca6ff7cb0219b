/*
 * stack_cache.h - caches a thread's last stack and proves which of its frames are still valid.
 *
 * Unwinding is a function of three registers and of the words it reads: per frame the return
 * address, and the saved frame pointer where a caller's address depends on it.  If the registers at
 * one frame are the same as last time, and all words read outward of that frame are unchanged, then
 * all frames outward of it are unchanged too.  Reading the words again costs a tenth of unwinding:
 * the addresses are known, so no load waits for another.
 *
 * Reusing frames without this proof is wrong for up to half of all stacks: a function that is
 * called from two places at the same depth looks the same from inside.
 *
 * In a deep recursion even that would be too much: work for each allocation that grows with the
 * depth.  Frames are pushed by calls, and a processor executes only so many calls per tick of its
 * counter.  So beyond the first ALLO_STACK_SHORT frames, only those are verified that can have been
 * pushed since the last capture.
 *
 * The search for a known frame goes from the innermost frame outward, and reads the frames outward
 * of it only once it is found.  So it never touches a stack that was unmapped.
 */
#ifndef ALLO_CAPTURE_STACK_CACHE_H
#define ALLO_CAPTURE_STACK_CACHE_H

#include "capture/stacks/unwind.h"

#include <stddef.h>

/* The part of a frame that verification reads. */
struct allo_cached_frame {
	uint64_t sp, pc;
#if !defined(__x86_64__)
	uint64_t slot; /* address that pc was read from */
#endif
};

/* The rest of a frame. */
struct allo_cached_frame_rest {
	uint64_t hash; /* of the stack from the outermost frame to this one */
	uint32_t rule; /* that leads to the caller */
	uint32_t id;   /* of that stack; 0: not known yet */
};

/* A saved frame pointer that a caller's address depends on; verified like a return address. */
struct allo_frame_check {
	uint64_t address, value;
	uint32_t frame;
};

/* A frame that was just unwound; the innermost comes first. */
struct allo_new_frame {
	struct allo_registers registers;
	uint32_t rule;
};

enum {
	ALLO_STACK_MAX = 1 << 20,  /* frames; deeper stacks are cut */
	ALLO_STACK_SHORT = 1 << 10 /* frames; up to this depth, all of them are verified */
};

struct allo_stack_cache {
	uint32_t count; /* frames; the outermost is 0 */
	uint32_t check_count;
	uint32_t joint;       /* number of outermost frames that the last capture reused */
	bool is_cut;          /* the outermost frame has callers that were not found */
	bool has_signal;      /* contains a frame that a signal interrupted: not to be reused */
	bool has_counter;     /* the processor's counter is a clock */
	uint32_t valid_count; /* number of outermost frames that were valid at `valid_at` */
	uint64_t valid_at;    /* ticks; set only in stacks deeper than ALLO_STACK_SHORT */
	uint64_t spent;       /* ticks, by verifying such stacks */
	uint64_t seed;        /* of the hashes */
	struct allo_cached_frame *frames;
	struct allo_cached_frame_rest *rest;
	bool *needs_fp; /* a caller's address depends on the frame pointer in this frame, */
	uint64_t *fps;  /* which is this */
	struct allo_frame_check *checks; /* by frame, the outermost first */
	struct allo_new_frame *fresh;
	size_t capacity; /* of each array */
	struct allo_stack_bounds bounds;
};

/* Allocates the arrays; false if there is no memory.  `has_counter`: allo_counter() is steady. */
bool allo_stack_cache_init(struct allo_stack_cache *cache, bool has_counter);

/* Drops the stack; later hashes start from `seed`. */
void allo_stack_cache_clear(struct allo_stack_cache *cache, uint64_t seed);

/* Unwinds from a frame, which becomes the innermost one in `cache`.  False if its stack cannot be
 * read. */
bool allo_stack_cache_capture(struct allo_stack_cache *cache,
			      const struct allo_registers *registers);

/* Notes the time again, if the stack is deep, when the runtime is done with it: time that the
 * program does not have cannot change the stack. */
void allo_stack_cache_note_deep(struct allo_stack_cache *cache);

static inline void allo_stack_cache_note(struct allo_stack_cache *cache)
{
	if (__builtin_expect(cache->count > ALLO_STACK_SHORT, 0))
		allo_stack_cache_note_deep(cache);
}

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

/* Checks four frames per branch: the loads do not depend on each other. */
static inline uint32_t allo_stack_cache_changed_plain(const struct allo_stack_cache *cache,
						      uint32_t joint, uint32_t from)
{
	const struct allo_cached_frame *first = cache->frames + from, *at = cache->frames + joint;

	for (const struct allo_cached_frame *last = first + 4; at >= last; at -= 4) {
		if (allo_frame_change(at - 1) | allo_frame_change(at - 2) |
		    allo_frame_change(at - 3) | allo_frame_change(at - 4))
			break;
	}
	for (; at > first; at--) {
		if (allo_frame_change(at - 1))
			return (uint32_t)(at - cache->frames);
	}
	return 0;
}

/* The same with checks of frame pointers. */
uint32_t allo_stack_cache_changed_checks(const struct allo_stack_cache *cache, uint32_t joint,
					 uint32_t from);

/* Of a stack with `joint` + 1 frames, of which the outermost `valid_count` were valid at a time:
 * the first that may have changed since. */
uint32_t allo_stack_first_doubtful(uint32_t joint, uint32_t valid_count, uint64_t valid_at);

/* The same in a deep stack, without the frames that cannot have changed. */
uint32_t allo_stack_cache_changed_deep(struct allo_stack_cache *cache, uint32_t joint);

/* Verifies the frames outward of frame `joint`.  0: all are unchanged.  Otherwise the number of the
 * outermost frames up to and including the innermost changed one. */
static inline uint32_t allo_stack_cache_changed(struct allo_stack_cache *cache, uint32_t joint)
{
	if (__builtin_expect(joint > ALLO_STACK_SHORT, 0))
		return allo_stack_cache_changed_deep(cache, joint);
	return __builtin_expect(cache->check_count == 0, 1)
		       ? allo_stack_cache_changed_plain(cache, joint, 0)
		       : allo_stack_cache_changed_checks(cache, joint, 0);
}

/* The hash of an empty stack. */
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
