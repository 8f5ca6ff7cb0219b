/*
 * reach.h - how far a stack can be read.
 *
 * Unwinding follows addresses that it finds on the stack.  A wrong one must not take the program
 * down, so nothing is read that is not known to be readable: from the stack pointer up to an end
 * that was asked of the kernel, page by page, and remembered.
 */
#ifndef ALLO_CAPTURE_REACH_H
#define ALLO_CAPTURE_REACH_H

#include <stdbool.h>
#include <stdint.h>

enum { ALLO_REACH_STACKS = 4 }; /* a thread may switch between stacks of its own */

/* Addresses from `start` up to `end` can be read. */
struct allo_reach_range {
	uint64_t start, end;
};

/* All zeros is ready for use. */
struct allo_reach {
	struct allo_reach_range now;
	struct allo_reach_range known[ALLO_REACH_STACKS];
	unsigned next; /* to be replaced */
};

/* The stack that `sp` lies in becomes the current one; false when it cannot be read. */
bool allo_reach_switch(struct allo_reach *reach, uint64_t sp);

/* Whether the current stack can be read up to `end`, which is beyond what is known. */
bool allo_reach_extend(struct allo_reach *reach, uint64_t end);

static inline bool allo_reach_begin(struct allo_reach *reach, uint64_t sp)
{
	return __builtin_expect(sp >= reach->now.start && sp < reach->now.end, 1) ||
	       allo_reach_switch(reach, sp);
}

static inline bool allo_reach_to(struct allo_reach *reach, uint64_t end)
{
	return __builtin_expect(end <= reach->now.end, 1) || allo_reach_extend(reach, end);
}

#endif
