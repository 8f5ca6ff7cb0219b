/* rules.c - looking up a rule in the unwind tables of the module that contains an address. */
#include "capture/rules.h"
#include "capture/cfi.h"
#include "capture/debug_log.h"
#include "capture/program_headers.h"

uint64_t allo_rules[ALLO_RULES] __attribute__((aligned(64)));
enum allo_unwind allo_unwind;

/* The header of a module's unwind tables, and the segment around it. */
struct tables {
	const uint8_t *header, *start, *end;
};

/* Never inlined: its variables would stay on the program's stack while a rule is made. */
static __attribute__((noinline)) bool find_tables(uint64_t pc, struct tables *tables)
{
	struct dl_find_object module;
	struct allo_program_headers headers;

	/* Lock-free and without allocation; dl_iterate_phdr is neither. */
	if (_dl_find_object((void *)pc, &module) != 0 || !module.dlfo_eh_frame ||
	    !allo_program_headers_find(&module, &headers))
		return false;
	tables->header = module.dlfo_eh_frame;
	return allo_segment_find(&headers, tables->header, &tables->start, &tables->end);
}

static uint32_t rule_by_table(uint64_t pc)
{
#if defined(__x86_64__)
	const struct allo_cfi_arch *arch = &allo_cfi_x86_64;
#else
	const struct allo_cfi_arch *arch = &allo_cfi_aarch64;
#endif
	struct tables tables;

	if (!find_tables(pc, &tables))
		return allo_rule(ALLO_RULE_NONE, 0, 0);
	return allo_cfi_rule(arch, tables.header, tables.start, tables.end, pc);
}

/* For the debug log. */
static const char *describe(uint32_t rule)
{
	switch (allo_rule_kind(rule)) {
	case ALLO_RULE_SP:
		return "CFI, from the stack pointer";
	case ALLO_RULE_STANDARD:
		return allo_unwind == ALLO_UNWIND_FP ? "frame pointer, as the settings say"
						     : "CFI, a standard frame";
	case ALLO_RULE_FP:
		return "CFI, from the frame pointer";
	case ALLO_RULE_DRAP:
		return "CFI, a realigned stack";
	case ALLO_RULE_SIGNAL:
		return "CFI, a signal frame";
	case ALLO_RULE_NONE:
		return "frame pointer, because there is no table";
	default:
		return allo_rule_is_cut(rule) ? "none, the stack is cut here"
					      : "CFI, the outermost frame";
	}
}

__attribute__((cold)) uint32_t allo_rule_find(uint64_t pc, bool is_exact)
{
	uint32_t rule;

	if (allo_unwind == ALLO_UNWIND_FP) {
		rule = allo_rule(ALLO_RULE_STANDARD, 16, -16);
	} else {
		/* The instruction after a call may belong to the next row or the next function. */
		rule = rule_by_table(is_exact ? pc : pc - 1);
		/* A stack built by hand, as by makecontext, starts with the address of a function
		 * that was not called. */
		if (allo_rule_kind(rule) == ALLO_RULE_NONE && !is_exact &&
		    allo_rule_kind(rule_by_table(pc)) != ALLO_RULE_NONE)
			rule = allo_rule(ALLO_RULE_END, 0, 0);
		if (allo_rule_kind(rule) == ALLO_RULE_NONE && allo_unwind == ALLO_UNWIND_DWARF)
			rule = ALLO_RULE_CUT;
	}
	ALLO_DEBUG(ALLO_DEBUG_UNWIND, "unwind %#lx: %s", (unsigned long)pc, describe(rule));
	if (!is_exact)
		__atomic_store_n(&allo_rules[pc % ALLO_RULES],
				 (pc >> ALLO_RULES_SHIFT) << 32 | rule, __ATOMIC_RELAXED);
	return rule;
}

void allo_rules_forget(void)
{
	for (unsigned i = 0; i < ALLO_RULES; i++)
		__atomic_store_n(&allo_rules[i], 0, __ATOMIC_RELAXED);
}
