/*
 * unwind.h - one step from a frame to its caller's.
 */
#ifndef ALLO_CAPTURE_UNWIND_H
#define ALLO_CAPTURE_UNWIND_H

#include "capture/rules.h"
#include "capture/stack_bounds.h"

#include <ucontext.h>

/* What unwinding needs to know of a frame: where it goes on, its stack pointer there, and its frame
 * pointer. */
struct allo_registers {
	uint64_t pc, sp, fp;
};

enum allo_unwind_step {
	ALLO_STEP_ON,
	ALLO_STEP_END, /* this was the outermost frame */
	ALLO_STEP_CUT, /* there are more, but the way is not known */
};

/* Where a frame has its return address, by the CFA and where the frame pointer is saved. */
static inline uint64_t allo_ra_slot(uint64_t cfa, int64_t fp_offset)
{
#if defined(__x86_64__)
	(void)fp_offset;
	return cfa - 8;
#else
	return cfa + (uint64_t)fp_offset + 8;
#endif
}

static inline uint64_t allo_word_at(uint64_t address)
{
	return *(const uint64_t *)address;
}

/* A return address as it is in memory may be signed (aarch64). */
static inline uint64_t allo_return_address(uint64_t slot)
{
#if defined(__x86_64__)
	return allo_word_at(slot);
#else
	register uint64_t x30 __asm__("x30") = allo_word_at(slot);

	__asm__("hint 7" : "+r"(x30)); /* xpaclri: nothing on processors without signatures */
	return x30;
#endif
}

/* The rarer rules. */
enum allo_unwind_step allo_unwind_step_rare(struct allo_registers *r, uint32_t rule,
					    struct allo_stack_bounds *bounds);

/* Goes to the caller's frame by the rule for r->pc. */
static inline enum allo_unwind_step allo_unwind_step(struct allo_registers *r, uint32_t rule,
						     struct allo_stack_bounds *bounds)
{
	enum allo_rule_kind kind = allo_rule_kind(rule);

	if (__builtin_expect(kind == ALLO_RULE_SP, 1)) {
		uint64_t cfa = r->sp + allo_rule_cfa(rule);
		int64_t fp = allo_rule_fp(rule);

		if (!allo_stack_bounds_cover(bounds, cfa))
			return ALLO_STEP_CUT;
		r->pc = allo_return_address(allo_ra_slot(cfa, fp));
		if (fp)
			r->fp = allo_word_at(cfa + (uint64_t)fp);
		r->sp = cfa;
	} else if (kind == ALLO_RULE_STANDARD) {
		uint64_t fp = r->fp;

		if (fp < r->sp || (fp & 7) || fp + 16 < fp ||
		    !allo_stack_bounds_cover(bounds, fp + 16))
			return ALLO_STEP_CUT;
		r->pc = allo_return_address(fp + 8);
		r->sp = fp + 16;
		r->fp = allo_word_at(fp);
	} else {
		struct allo_registers copy = *r; /* so that *r can be in registers */
		enum allo_unwind_step step = allo_unwind_step_rare(&copy, rule, bounds);

		*r = copy;
		return step;
	}
	/* Nothing runs in the first page; zero is what threads start with. */
	return __builtin_expect(r->pc >= 4096, 1) ? ALLO_STEP_ON : ALLO_STEP_END;
}

#endif
