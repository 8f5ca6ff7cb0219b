/*
 * rule.h - an unwind rule in 32 bits: how to get from a frame to its caller.
 *
 * It can express nearly every row of every .eh_frame: the caller's stack pointer (the CFA) is a
 * multiple of 8 above the stack or frame pointer, and the caller's frame pointer, if saved, is a
 * multiple of 8 below the CFA.
 */
#ifndef ALLO_CAPTURE_RULE_H
#define ALLO_CAPTURE_RULE_H

#include <stdbool.h>
#include <stdint.h>

enum allo_rule_kind {
	ALLO_RULE_EMPTY,    /* not known yet */
	ALLO_RULE_SP,       /* CFA = stack pointer + offset */
	ALLO_RULE_STANDARD, /* CFA = frame pointer + 16, frame pointer saved at CFA - 16.  A
			       separate kind, so that the processor predicts a branch instead of
			       waiting for the rule's offsets */
	ALLO_RULE_FP,       /* CFA = frame pointer + offset */
	ALLO_RULE_DRAP,     /* CFA at frame pointer + offset: a function that realigns its stack */
	ALLO_RULE_SIGNAL,   /* registers are in the context that the kernel put on the stack */
	ALLO_RULE_END,      /* the outermost frame; with an offset: the table is not understood */
	ALLO_RULE_NONE,     /* no table: only the frame pointer can help; with an offset: it may
			       lead to another stack */
};

enum {
	ALLO_RULE_CFA_MAX = 0x7fff * 8,
	ALLO_RULE_FP_MIN = -0x2000 * 8,
};

static inline uint32_t allo_rule(enum allo_rule_kind kind, int64_t cfa, int64_t fp)
{
	return (uint32_t)kind << 29 | ((uint32_t)(cfa >> 3) & 0x7fff) << 14 |
	       ((uint32_t)(fp >> 3) & 0x3fff);
}

static inline enum allo_rule_kind allo_rule_kind(uint32_t rule)
{
	return (enum allo_rule_kind)(rule >> 29);
}

static inline uint64_t allo_rule_cfa(uint32_t rule)
{
	return (uint64_t)(rule >> 14 & 0x7fff) << 3;
}

/* Offset of the saved frame pointer from the CFA, negative; 0 if it is not saved.  With
 * ALLO_RULE_DRAP, the offset of the saved CFA from the frame pointer. */
static inline int64_t allo_rule_fp(uint32_t rule)
{
	return (int64_t)((int32_t)(rule << 18) >> 18) * 8;
}

/* There is a table, but the caller cannot be found with it. */
#define ALLO_RULE_CUT allo_rule(ALLO_RULE_END, 8, 0)

/* Code of Go, which keeps frame pointers, and calls C on another stack. */
#define ALLO_RULE_GO allo_rule(ALLO_RULE_NONE, 8, 0)

static inline bool allo_rule_is_cut(uint32_t rule)
{
	return allo_rule_kind(rule) == ALLO_RULE_END && allo_rule_cfa(rule) != 0;
}

#endif
