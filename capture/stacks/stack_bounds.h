/*
 * stack_bounds.h - the readable range of a thread's stacks.
 *
 * Unwinding follows addresses that it finds on the stack.  A wrong one must not crash the program,
 * so it reads only memory that is known to be readable.  The kernel is asked page by page, and the
 * answer is cached.
 */
#ifndef ALLO_CAPTURE_STACK_BOUNDS_H
#define ALLO_CAPTURE_STACK_BOUNDS_H

#include <stdbool.h>
#include <stdint.h>

enum { ALLO_BOUNDS_STACKS = 4 }; /* cached per thread: it may switch between stacks */

/* The addresses in [start, end) can be read. */
struct allo_stack_range {
	uint64_t start, end;
};

/* All zeros is ready for use. */
struct allo_stack_bounds {
	struct allo_stack_range current;
	struct allo_stack_range known[ALLO_BOUNDS_STACKS];
	unsigned next; /* entry of `known` to replace next */
};

/* Asks the kernel; `page` is the start of a page. */
bool allo_page_is_readable(uint64_t page);

/* Makes the stack around `sp` the current one; false if it cannot be read. */
bool allo_stack_bounds_switch(struct allo_stack_bounds *bounds, uint64_t sp);

/* Extends the current range up to `end`; false if that cannot be read. */
bool allo_stack_bounds_extend(struct allo_stack_bounds *bounds, uint64_t end);

/* Makes the stack around `sp` the current one. */
static inline bool allo_stack_bounds_begin(struct allo_stack_bounds *bounds, uint64_t sp)
{
	return __builtin_expect(sp >= bounds->current.start && sp < bounds->current.end, 1) ||
	       allo_stack_bounds_switch(bounds, sp);
}

/* True if the current stack can be read up to `end`. */
static inline bool allo_stack_bounds_cover(struct allo_stack_bounds *bounds, uint64_t end)
{
	return __builtin_expect(end <= bounds->current.end, 1) ||
	       allo_stack_bounds_extend(bounds, end);
}

#endif
