/*
 * stacks.h - the encoding of the stream of stacks and of the stream of facts.
 *
 * Stacks are nodes of a tree.  Nodes have ids from 1 in the order in which they are written; the id
 * of a stack is that of its innermost node, and 0 is the unknown stack.  A node is
 *
 *     varint   its id - its parent's id (the parent of an outermost frame is 0)
 *     varint   zigzag(pc - pc of the previous node)
 *
 * where pc is the return address or, for a frame that a signal interrupted, an address within the
 * function.  A first varint of 0 is an escape: a byte of enum allo_stack_escape follows.  A frame
 * of an interpreter has two varints in place of the pc: the number of its function, and the line.
 *
 * A fact is a byte of enum allo_fact, a varint with the length of the rest, and the rest.  Readers
 * skip unknown facts.
 */
#ifndef ALLO_WIRE_STACKS_H
#define ALLO_WIRE_STACKS_H

#include "wire/varint.h"

enum allo_stack_escape {
	ALLO_STACK_GENERATION = 1, /* varint: later nodes use the modules of this generation */
	ALLO_STACK_GUESSED = 2,    /* the next node was found by frame pointer only */
	ALLO_STACK_CUT = 3,        /* the callers of the next node are unknown */
	ALLO_STACK_EXACT_PC = 4,   /* the next node's pc is not a return address */
	ALLO_STACK_FUNCTION = 5,   /* the next node is a function and a line, 0 if unknown */
};

/* The language of an interpreter's function. */
enum allo_language {
	ALLO_LANGUAGE_PYTHON = 1,
};

/* What a recording has of an interpreter's functions. */
enum allo_interpreter_state {
	ALLO_INTERPRETER_SEEN = 1,      /* they are in the stacks */
	ALLO_INTERPRETER_UNKNOWN = 2,   /* nothing: the layout of this version is not known */
	ALLO_INTERPRETER_DIFFERENT = 3, /* nothing: its own table differs from the known layout */
};

enum allo_fact {
	/* varints generation, load bias, start, end; varint length and bytes of the build-id (0:
	 * none); the rest is the path.  The module exists from its generation on. */
	ALLO_FACT_MODULE = 1,
	/* varints generation, start: the module at this address is unloaded from here on */
	ALLO_FACT_MODULE_GONE = 2,
	/* varint id, from 1; the rest is the text */
	ALLO_FACT_TEXT = 3,
	/* varints: id of a label set, from 1; the set that it extends, which has a smaller id (0:
	 * none); texts of key and value.  If two labels have the same key, the last one wins. */
	ALLO_FACT_LABELS = 4,
	/* varints: number of a function, from 1; enum allo_language; its first line, 0 if unknown;
	 * varint length and bytes of its file; the rest is its name */
	ALLO_FACT_FUNCTION = 5,
	/* varints: enum allo_language, enum allo_interpreter_state, 1 if its objects are recorded,
	 * an address in its module; the rest is the version of the interpreter */
	ALLO_FACT_INTERPRETER = 6,
	/* varint enum allo_allocator_state; varint length and bytes of the allocator's name; the
	 * rest is the path of its module.  The last one of a module counts. */
	ALLO_FACT_ALLOCATOR = 7,
	/* varints: ticks since the start of the recording; the sampling interval from then on.  In
	   order. */
	ALLO_FACT_RATE = 8,
};

#endif
