/* abandoned_hook.c - walks the stack, across signal frames. */
#include "capture/hooks/abandoned_hook.h"
#include "capture/process.h"
#include "capture/stacks/modules.h"

/* Addresses of the runtime; empty if it is part of the program. */
struct range {
	uint64_t start, end;
};

static struct range find_runtime(void)
{
	struct allo_code_module own;

	if (allo_process_is_embedded() || !allo_module_find((uint64_t)find_runtime, &own))
		return (struct range){ 0, 0 };
	return (struct range){ own.start, own.end };
}

static bool is_in(const struct range *range, uint64_t pc)
{
	return pc - range->start < range->end - range->start;
}

/* Goes to the caller.  `is_exact`: a signal interrupted the frame, so its pc is not a return
 * address. */
static enum allo_unwind_step step_out(struct allo_registers *r, struct allo_stack_bounds *bounds,
				      bool *is_exact)
{
	uint32_t rule = *is_exact ? allo_rule_find(r->pc, true) : allo_rule_at(r->pc);

	*is_exact = allo_rule_kind(rule) == ALLO_RULE_SIGNAL;
	/* A frame found by frame pointer alone may be a wrong one. */
	return allo_rule_kind(rule) == ALLO_RULE_NONE ? ALLO_STEP_CUT
						      : allo_unwind_step(r, rule, bounds);
}

bool allo_hook_is_abandoned(struct allo_hook_frame entered)
{
	struct allo_registers r = allo_hook_caller(entered);
	struct range runtime = find_runtime();
	struct allo_stack_bounds bounds = { 0 };
	enum allo_unwind_step step;
	bool is_exact = false;

	if (runtime.end == 0 || !allo_stack_bounds_begin(&bounds, r.sp))
		return false;
	/* The frame of the second hook.  Its caller may be in the first one, if the functions in
	 * between have left by tail calls. */
	step = step_out(&r, &bounds, &is_exact);
	while (step == ALLO_STEP_ON && !is_in(&runtime, r.pc))
		step = step_out(&r, &bounds, &is_exact);
	return step == ALLO_STEP_END;
}
