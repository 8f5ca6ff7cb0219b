/*
 * code_rule.h - an unwind rule read from the instructions of a function.
 *
 * musl is built without unwind tables and without frame pointers, and its functions allocate for
 * the program.  The instructions from the start of the function tell how far the stack pointer has
 * moved.  Functions that are not exported have no known start: they begin behind the end of
 * another one.
 */
#ifndef ALLO_CAPTURE_CODE_RULE_H
#define ALLO_CAPTURE_CODE_RULE_H

#include "capture/stacks/rule.h"

#include <stddef.h>

/* A function is at the start of `code`, or several are, of which the first has `first_size` bytes.
 * The rule for the return address `code + at`; ALLO_RULE_NONE if the code cannot be followed.
 * x86-64 only. */
uint32_t allo_code_rule(const uint8_t *code, size_t at, size_t first_size);

/* The same for an address in the C library. */
uint32_t allo_code_rule_of_libc(uint64_t pc);

#endif
