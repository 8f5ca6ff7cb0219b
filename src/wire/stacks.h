/*
 * stacks.h - the bytes of the stream of stacks, and of the stream of facts.
 *
 * Stacks are nodes of a tree, numbered from 1 in the order in which they are written; a stack is
 * known by its innermost node, and 0 is the stack that is not known.  A node is
 *
 *     varint   its number - its parent's number (the parent of an outermost frame is 0)
 *     varint   zigzag(pc - pc of the node written before)
 *
 * where pc is the return address, or an address within the innermost instruction's function for
 * frames that a signal interrupted.  A first varint of 0 is an escape: a byte that says what (enum
 * allo_stack_escape).
 *
 * A fact is a byte that says what (enum allo_fact), a varint with the length of the rest, and the
 * rest; a reader skips facts that it does not know.
 */
#ifndef ALLO_WIRE_STACKS_H
#define ALLO_WIRE_STACKS_H

#include "wire/varint.h"

enum allo_stack_escape {
	ALLO_STACK_GENERATION = 1, /* varint: modules are those of this generation from here on */
	ALLO_STACK_GUESSED = 2,    /* the next node was found by frame pointer alone */
	ALLO_STACK_CUT = 3,        /* what is outside of the next node is not known */
	ALLO_STACK_EXACT_PC = 4,   /* the next node's pc is no return address */
};

enum allo_fact {
	/* varints generation, load bias, start, end; varint length and bytes of the build-id (0:
	 * none); the rest is the path.  A module is there from its generation on. */
	ALLO_FACT_MODULE = 1,
	/* varints generation, start: the module that starts there is gone from this generation on
	 */
	ALLO_FACT_MODULE_GONE = 2,
	/* varint: its number, from 1; the rest is the text */
	ALLO_FACT_TEXT = 3,
	/* varints: number of a set of labels, from 1; the set that it adds a label to, which has a
	 * smaller number (0: none); texts of key and value.  Of two with the same key the one that
	 * was added last counts. */
	ALLO_FACT_LABELS = 4,
};

#endif
