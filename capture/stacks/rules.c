/* rules.c - looking up a rule in the unwind tables of the module that contains an address. */
#include "capture/stacks/rules.h"
#include "capture/debug_log.h"
#include "capture/stacks/cfi.h"
#include "capture/stacks/code_rule.h"
#include "capture/stacks/modules.h"
#include "capture/stacks/program_headers.h"
#include "capture/stacks/stack_bounds.h"
#include "wire/runtime_name.h"

#include <string.h>

uint64_t allo_rules[ALLO_RULES] __attribute__((aligned(64)));
enum allo_unwind allo_unwind;

/* The header of a module's unwind tables, and the segment around it. */
struct tables {
	const uint8_t *header, *start, *end;
};

/* Never inlined: its variables would stay on the program's stack while a rule is made. */
static __attribute__((noinline)) bool find_tables(uint64_t pc, struct tables *tables)
{
	struct allo_code_module module;
	struct allo_program_headers headers;

	if (!allo_module_find(pc, &module) || !module.unwind_header ||
	    !allo_program_headers_find(&module, &headers))
		return false;
	tables->header = module.unwind_header;
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

#if defined(__x86_64__)
static bool can_read(uint64_t at, size_t size)
{
	const uint64_t page = ~(uint64_t)4095;

	return allo_page_is_readable(at & page) && allo_page_is_readable((at + size - 1) & page);
}
#endif

/*
 * Code without a table that does not keep a frame pointer: the trampolines of `python3 -X perf`,
 * which CPython makes from 3.12 on, one for each function.  They return to
 *
 *     add $8, %rsp
 *     ret
 *
 * Instructions at a return address tell the rule as surely as a table does.  But other code may be
 * written there later, and the rule is kept: so only this form counts, which code with frame
 * pointers does not have.
 */
static bool is_trampoline(uint64_t pc)
{
#if defined(__x86_64__)
	static const uint8_t code[] = { 0x48, 0x83, 0xc4, 0x08, 0xc3 };

	return can_read(pc, sizeof(code)) && memcmp((const void *)pc, code, sizeof(code)) == 0;
#else
	(void)pc;
	return false; /* they keep a frame pointer */
#endif
}

/* The outermost frame of a coroutine of Boost.Context: its function would return to
 *
 *     xor %rdi, %rdi
 *     call _exit
 *     hlt
 */
static bool is_end_of_coroutine(uint64_t pc)
{
#if defined(__x86_64__)
	static const uint8_t code[] = { 0x48, 0x31, 0xff, 0xe8 };
	const uint8_t *at = (const uint8_t *)pc;

	return can_read(pc, sizeof(code) + 5) && memcmp(at, code, sizeof(code)) == 0 &&
	       at[sizeof(code) + 4] == 0xf4;
#else
	(void)pc;
	return false;
#endif
}

/* Go's linker leaves a note. */
static bool has_note_of_go(const uint8_t *at, const uint8_t *end)
{
	while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)at;
		uint64_t size = sizeof(*note) + ((note->n_namesz + 3ul) & ~3ul) +
				((note->n_descsz + 3ul) & ~3ul);

		if (size > (uint64_t)(end - at))
			break;
		if (note->n_namesz == 4 && memcmp(note + 1, "Go\0", 4) == 0)
			return true;
		at += size;
	}
	return false;
}

static __attribute__((noinline)) bool is_of_go(uint64_t pc)
{
	struct allo_program_headers headers;
	struct allo_code_module module;

	if (!allo_module_find(pc, &module) || !allo_program_headers_find(&module, &headers))
		return false;
	for (size_t i = 0; i < headers.count; i++) {
		const uint8_t *start = allo_segment_start(&headers, i);

		if (headers.table[i].p_type == PT_NOTE &&
		    has_note_of_go(start, start + headers.table[i].p_memsz))
			return true;
	}
	return false;
}

static uint32_t rule_by_code(uint64_t pc)
{
	if (is_trampoline(pc))
		return allo_rule(ALLO_RULE_SP, 16, 0);
	if (is_end_of_coroutine(pc))
		return allo_rule(ALLO_RULE_END, 0, 0);
	return is_of_go(pc) ? ALLO_RULE_GO : allo_rule(ALLO_RULE_NONE, 0, 0);
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
		if (ALLO_LIBC_OWN == ALLO_LIBC_MUSL && allo_rule_kind(rule) == ALLO_RULE_NONE &&
		    !is_exact)
			rule = allo_code_rule_of_libc(pc);
		if (allo_rule_kind(rule) == ALLO_RULE_NONE && !is_exact)
			rule = rule_by_code(pc);
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
