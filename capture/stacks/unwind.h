/*
 * unwind.h - unwinds one frame: from its registers and a rule to the registers of its caller.
 */
#ifndef ALLO_CAPTURE_UNWIND_H
#define ALLO_CAPTURE_UNWIND_H

#include "capture/stacks/rules.h"
#include "capture/stacks/stack_bounds.h"

#include <ucontext.h>

/* The registers of a frame: pc is where it continues, sp and fp its stack and frame pointer there.
 */
struct allo_registers {
	uint64_t pc, sp, fp;
};

enum allo_unwind_step {
	ALLO_STEP_ON,  /* the registers are those of the caller */
	ALLO_STEP_END, /* the frame was the outermost one */
	ALLO_STEP_CUT, /* the caller cannot be found */
};

/* Address of a frame's return address, from the CFA and the offset of the saved frame pointer. */
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

/* Reads a return address and strips its signature (aarch64). */
static inline uint64_t allo_return_address(uint64_t slot)
{
#if defined(__x86_64__)
	return allo_word_at(slot);
#else
	register uint64_t x30 __asm__("x30") = allo_word_at(slot);

	__asm__("hint 7" : "+r"(x30)); /* xpaclri: a no-op without pointer authentication */
	return x30;
#endif
}

/* The rare kinds of rules. */
enum allo_unwind_step allo_unwind_step_rare(struct allo_registers *r, uint32_t rule,
					    struct allo_stack_bounds *bounds);

/* Replaces the registers by those of the caller, using the rule for r->pc. */
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
		struct allo_registers copy = *r; /* keeps *r in registers */
		enum allo_unwind_step step = allo_unwind_step_rare(&copy, rule, bounds);

		*r = copy;
		return step;
	}
	/* No code is in the first page; the outermost frame of a thread returns to 0. */
	return __builtin_expect(r->pc >= 4096, 1) ? ALLO_STEP_ON : ALLO_STEP_END;
}

#endif
