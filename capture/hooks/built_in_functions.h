/*
 * built_in_functions.h - the functions of allocators that programs contain, as a table.
 *
 * Allocators are built with a prefix for all of their names (_rjem_malloc), or take the place of
 * libc's functions.
 */
#ifndef ALLO_CAPTURE_BUILT_IN_FUNCTIONS_H
#define ALLO_CAPTURE_BUILT_IN_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

enum allo_built_in_kind {
	ALLO_BUILT_IN_ALLOC,  /* returns a block */
	ALLO_BUILT_IN_NEW,    /* the same; may throw, and may call another function of the table */
	ALLO_BUILT_IN_TEXT,   /* returns a copy of a text */
	ALLO_BUILT_IN_STORE,  /* stores the address of a block, and returns 0 */
	ALLO_BUILT_IN_RESIZE, /* returns a resized block */
	ALLO_BUILT_IN_GROW, /* resizes a block in place by at least `size`, and at most `count` more
			     */
	ALLO_BUILT_IN_FREE, /* frees a block */
	ALLO_BUILT_IN_KINDS
};

enum { ALLO_NO_ARGUMENT = 7 };

struct allo_built_in_function {
	const char *name;   /* without the prefix */
	const char *prefix; /* the only one; NULL: any of allo_built_in_prefixes */
	enum allo_built_in_kind kind;
	uint8_t pointer;     /* number of the argument with the block, or with its place */
	uint8_t size, count; /* their product is the size */
};

extern const struct allo_built_in_function allo_built_in_functions[];
extern const size_t allo_built_in_function_count;

/* The first is "": libc's names.  NULL ends. */
extern const char *const allo_built_in_prefixes[];

/* The row of a symbol, and its prefix from the list; NULL if it is none of them. */
const struct allo_built_in_function *allo_built_in_function_find(const char *symbol,
								 const char **prefix);

#endif
