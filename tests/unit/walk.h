/*
 * walk.h - stacks as libgcc's unwinder sees them, and functions that create stacks of all shapes.
 */
#ifndef ALLO_TESTS_WALK_H
#define ALLO_TESTS_WALK_H

#include "check.h"

#include "capture/stacks/stack_cache.h"

#include <alloca.h>
#include <unwind.h>

#define NOINLINE __attribute__((noinline))

/* Keeps the call before it from becoming a tail call. */
#define BARRIER() __asm__ volatile("" ::: "memory")

/* Around a call: keeps the compiler from merging it with another one. */
#define KEEP_APART() __asm__ volatile("nop" ::: "memory")

/* Keeps the memory behind a pointer. */
#define USE(pointer) __asm__ volatile("" ::"r"(pointer) : "memory")

enum { WALK_MAX = 200000 };

/* The innermost frame first. */
struct walk {
	uint64_t first; /* the first frame of interest; the test's frames are before it */
	size_t count;
	uint64_t pcs[WALK_MAX];
};

static inline _Unwind_Reason_Code walk_add(struct _Unwind_Context *frame, void *context)
{
	struct walk *walk = context;
	uint64_t pc = _Unwind_GetIP(frame);

	if (pc == 0 || walk->count == WALK_MAX)
		return _URC_END_OF_STACK;
	if (walk->count > 0 || pc == walk->first)
		walk->pcs[walk->count++] = pc;
	return _URC_NO_REASON;
}

/* The stack from the frame that continues at `first`. */
static inline const struct walk *walk_from(uint64_t first)
{
	static struct walk walk;

	walk.first = first;
	walk.count = 0;
	_Unwind_Backtrace(walk_add, &walk);
	assert_true(walk.count > 0 && walk.count < WALK_MAX);
	return &walk;
}

/* The registers of the caller of the current function. */
#define CALLER()                                                                                   \
	((struct allo_registers){ ((const uint64_t *)__builtin_frame_address(0))[1],               \
				  (uint64_t)__builtin_dwarf_cfa(),                                 \
				  ((const uint64_t *)__builtin_frame_address(0))[0] })

/* Called in place of an allocation. */
extern void (*look)(void);

/* Calls down and returns at random, through frames of all kinds, and looks at the stack `looks`
 * times. */
void go_about(uint64_t random, unsigned looks);

#endif
