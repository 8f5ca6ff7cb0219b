/*
 * direct_allocator.h - finds allocators that a program calls by their own functions.
 *
 * The runtime records the functions of capture/hooks/built_in_functions.h, if the program contains
 * them and has symbols.  Without symbols, a program that calls mi_malloc() would give a recording
 * that is nearly empty.
 */
#ifndef ALLO_RUN_DIRECT_ALLOCATOR_H
#define ALLO_RUN_DIRECT_ALLOCATOR_H

#include <stdbool.h>

struct allo_direct_allocator {
	const char *name; /* "mimalloc"; NULL: none is known */
	bool is_recorded; /* the runtime finds its functions */
	bool is_stripped; /* the runtime would find them if the program had symbols */
};

/* Searches the symbols of a program, or of its debug file, or, if it is stripped, its texts. */
struct allo_direct_allocator allo_direct_allocator_find(int fd);

#endif
