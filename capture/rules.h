/*
 * rules.h - the rule for a return address, found once and remembered.
 *
 * One table for all threads, of single words: a word is either an old rule or a new one, never half
 * of each, so nobody has to wait.  Rules come from the module's unwind tables; the way there takes
 * no lock and allocates nothing.
 */
#ifndef ALLO_CAPTURE_RULES_H
#define ALLO_CAPTURE_RULES_H

#include "capture/rule.h"
#include "capture/visibility.h"

enum allo_unwind {
	ALLO_UNWIND_AUTO,  /* tables, and frame pointers where there are none */
	ALLO_UNWIND_FP,    /* frame pointers alone */
	ALLO_UNWIND_DWARF, /* tables alone */
	ALLO_UNWIND_NONE,  /* no stacks */
};

enum { ALLO_RULES_SHIFT = 15, ALLO_RULES = 1 << ALLO_RULES_SHIFT };

/* Upper half: the return address without the bits that are the index; lower half: the rule. */
ALLO_HIDDEN extern uint64_t allo_rules[ALLO_RULES];

/* To be set before the first look-up. */
ALLO_HIDDEN extern enum allo_unwind allo_unwind;

/* Looks at the tables.  `is_exact`: pc is where execution stands, not where a call returns to. */
uint32_t allo_rule_find(uint64_t pc, bool is_exact);

/* The low bits as they are: a multiplication would be one more step that every frame waits for. */
static inline uint32_t allo_rule_at(uint64_t return_address)
{
	uint64_t word = __atomic_load_n(&allo_rules[return_address % ALLO_RULES], __ATOMIC_RELAXED);

	if (__builtin_expect(word >> 32 == (uint32_t)(return_address >> ALLO_RULES_SHIFT) &&
				     (uint32_t)word != 0,
			     1))
		return (uint32_t)word;
	return allo_rule_find(return_address, false);
}

/* Forgets everything: modules have gone, and others may take their place. */
void allo_rules_forget(void);

#endif
