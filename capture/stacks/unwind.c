/* unwind.c - the rare kinds of unwind rules. */
#include "capture/stacks/unwind.h"

#include <signal.h>

static bool is_on_stack(const struct allo_registers *r, uint64_t address,
			struct allo_stack_bounds *bounds)
{
	return address >= r->sp && (address & 7) == 0 && address + 16 > address &&
	       allo_stack_bounds_cover(bounds, address + 16);
}

/* Makes the stack of a frame pointer the current one. */
static bool is_on_other(uint64_t fp, struct allo_stack_bounds *bounds)
{
	return (fp & 7) == 0 && fp + 16 > fp && allo_page_is_readable(fp & ~(uint64_t)4095) &&
	       allo_stack_bounds_begin(bounds, fp) && allo_stack_bounds_cover(bounds, fp + 16);
}

/* Restores the interrupted registers, which the kernel saved on the handler's stack. */
static enum allo_unwind_step step_over_signal(struct allo_registers *r,
					      struct allo_stack_bounds *bounds)
{
#if defined(__x86_64__)
	const ucontext_t *context = (const ucontext_t *)r->sp;
#else
	const ucontext_t *context = (const ucontext_t *)(r->sp + sizeof(siginfo_t));
#endif
	uint64_t end = (uint64_t)(&context->uc_mcontext + 1);

	if (!allo_stack_bounds_cover(bounds, end))
		return ALLO_STEP_CUT;
#if defined(__x86_64__)
	r->fp = (uint64_t)context->uc_mcontext.gregs[REG_RBP];
	r->sp = (uint64_t)context->uc_mcontext.gregs[REG_RSP];
	r->pc = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#else
	r->fp = context->uc_mcontext.regs[29];
	r->sp = context->uc_mcontext.sp;
	r->pc = context->uc_mcontext.pc;
#endif
	/* The handler may have run on an alternate stack. */
	return allo_stack_bounds_begin(bounds, r->sp) ? ALLO_STEP_ON : ALLO_STEP_CUT;
}

static enum allo_unwind_step step_by_fp(struct allo_registers *r, uint32_t rule,
					struct allo_stack_bounds *bounds)
{
	uint64_t cfa = r->fp + allo_rule_cfa(rule);
	int64_t fp = allo_rule_fp(rule);

	/* A valid frame saves nothing below its stack pointer. */
	if (cfa <= r->sp || cfa + (uint64_t)fp < r->sp || !is_on_stack(r, cfa - 16, bounds))
		return ALLO_STEP_CUT;
	r->pc = allo_return_address(allo_ra_slot(cfa, fp));
	if (fp)
		r->fp = allo_word_at(cfa + (uint64_t)fp);
	r->sp = cfa;
	return ALLO_STEP_ON;
}

static enum allo_unwind_step step_by_drap(struct allo_registers *r, uint32_t rule,
					  struct allo_stack_bounds *bounds)
{
	uint64_t slot = r->fp + (uint64_t)allo_rule_fp(rule), cfa;

	if (slot > r->fp || !is_on_stack(r, slot, bounds) || !is_on_stack(r, r->fp, bounds))
		return ALLO_STEP_CUT;
	cfa = allo_word_at(slot);
	if (cfa <= r->fp || !is_on_stack(r, cfa - 16, bounds))
		return ALLO_STEP_CUT;
	r->fp = allo_word_at(r->fp);
	r->pc = allo_return_address(allo_ra_slot(cfa, 0));
	r->sp = cfa;
	return ALLO_STEP_ON;
}

/* Code without a table (a JIT, assembly): correct if it keeps a frame pointer. */
static enum allo_unwind_step step_by_guess(struct allo_registers *r, uint32_t rule,
					   struct allo_stack_bounds *bounds)
{
	uint64_t fp = r->fp;

	/* A process starts with a frame pointer of 0, in loader code without a table, and so does
	 * each goroutine. */
	if (fp == 0)
		return ALLO_STEP_END;
	if (!is_on_stack(r, fp, bounds) && !(rule == ALLO_RULE_GO && is_on_other(fp, bounds)))
		return ALLO_STEP_CUT;
	r->pc = allo_return_address(fp + 8);
	r->fp = allo_word_at(fp);
	r->sp = fp + 16;
	return ALLO_STEP_ON;
}

enum allo_unwind_step allo_unwind_step_rare(struct allo_registers *r, uint32_t rule,
					    struct allo_stack_bounds *bounds)
{
	enum allo_unwind_step step;

	switch (allo_rule_kind(rule)) {
	case ALLO_RULE_FP:
		step = step_by_fp(r, rule, bounds);
		break;
	case ALLO_RULE_DRAP:
		step = step_by_drap(r, rule, bounds);
		break;
	case ALLO_RULE_SIGNAL:
		step = step_over_signal(r, bounds);
		break;
	case ALLO_RULE_NONE:
		step = step_by_guess(r, rule, bounds);
		break;
	default:
		return allo_rule_is_cut(rule) ? ALLO_STEP_CUT : ALLO_STEP_END;
	}
	return step == ALLO_STEP_ON && r->pc < 4096 ? ALLO_STEP_END : step;
}
