/*
 * stack_bounds.h - how far a stack can be read.
 *
 * Unwinding follows addresses that it finds on the stack.  A wrong one must not take the program
 * down, so nothing is read that is not known to be readable: from the stack pointer up to an end
 * that was asked of the kernel, page by page, and remembered.
 */
#ifndef ALLO_CAPTURE_STACK_BOUNDS_H
#define ALLO_CAPTURE_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

enum { ALLO_BOUNDS_STACKS = 4 }; /* a thread may switch between stacks of its own */

/* Addresses from `start` up to `end` can be read. */
struct allo_stack_range {
	uint64_t start, end;
};

/* All zeros is ready for use. */
struct allo_stack_bounds {
	struct allo_stack_range now;
	struct allo_stack_range known[ALLO_BOUNDS_STACKS];
	unsigned next; /* to be replaced */
};

/* The stack that `sp` lies in becomes the current one; false when it cannot be read. */
bool allo_stack_bounds_switch(struct allo_stack_bounds *bounds, uint64_t sp);

/* Whether the current stack can be read up to `end`, which is beyond what is known. */
bool allo_stack_bounds_extend(struct allo_stack_bounds *bounds, uint64_t end);

static inline bool allo_stack_bounds_begin(struct allo_stack_bounds *bounds, uint64_t sp)
{
	return __builtin_expect(sp >= bounds->now.start && sp < bounds->now.end, 1) ||
	       allo_stack_bounds_switch(bounds, sp);
}

static inline bool allo_stack_bounds_cover(struct allo_stack_bounds *bounds, uint64_t end)
{
	return __builtin_expect(end <= bounds->now.end, 1) || allo_stack_bounds_extend(bounds, end);
}

#endif
