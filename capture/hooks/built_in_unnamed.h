/*
 * built_in_unnamed.h - finds functions of an allocator in the program that have no name.
 *
 * Chromium's malloc and its relatives call functions through a table of pointers.  Three pairs of
 * such functions are not exported: calloc and realloc that may return NULL, and those for
 * alignments that Rust code calls.  Blocks pass between them and the exported ones.  Without them,
 * a recording would have frees of unknown blocks.
 */
#ifndef ALLO_CAPTURE_BUILT_IN_UNNAMED_H
#define ALLO_CAPTURE_BUILT_IN_UNNAMED_H

#include "capture/hooks/built_in_search.h"

/* Adds such functions to the exported ones that the search has found.  Nothing happens unless these
 * have the form of Chromium's. */
void allo_built_in_find_unnamed(struct allo_built_in_search *search);

#endif
