/*
 * rules.h - a cache of unwind rules by return address, shared by all threads.
 *
 * Each entry is one word, read and written atomically, so there is no lock.  A missing rule is
 * looked up in the module's unwind tables, without locks or allocation.
 */
#ifndef ALLO_CAPTURE_RULES_H
#define ALLO_CAPTURE_RULES_H

#include "capture/stacks/rule.h"
#include "capture/visibility.h"

enum allo_unwind {
	ALLO_UNWIND_AUTO,  /* tables, and frame pointers in code without tables */
	ALLO_UNWIND_FP,    /* frame pointers only */
	ALLO_UNWIND_DWARF, /* tables only */
	ALLO_UNWIND_NONE,  /* no stacks */
};

enum { ALLO_RULES_SHIFT = 15, ALLO_RULES = 1 << ALLO_RULES_SHIFT };

/* Upper half: the return address without its index bits; lower half: the rule. */
ALLO_HIDDEN extern uint64_t allo_rules[ALLO_RULES];

/* Set before the first lookup. */
ALLO_HIDDEN extern enum allo_unwind allo_unwind;

/* Finds the rule in the tables.  `is_exact`: pc is an interrupted instruction, not a return
 * address. */
uint32_t allo_rule_find(uint64_t pc, bool is_exact);

/* Indexed by the low bits: a multiplication would add latency to every frame. */
static inline uint32_t allo_rule_at(uint64_t return_address)
{
	uint64_t word = __atomic_load_n(&allo_rules[return_address % ALLO_RULES], __ATOMIC_RELAXED);

	if (__builtin_expect(word >> 32 == (uint32_t)(return_address >> ALLO_RULES_SHIFT) &&
				     (uint32_t)word != 0,
			     1))
		return (uint32_t)word;
	return allo_rule_find(return_address, false);
}

/* Empties the cache after modules were unloaded: others may be loaded in their place. */
void allo_rules_forget(void);

#endif
