/*
 * direct_allocator.h - finds allocators that a program calls by their own functions.
 *
 * The runtime records malloc and its relatives.  A program that is linked with mimalloc and calls
 * mi_malloc() would give a recording that is nearly empty.
 */
#ifndef ALLO_RUN_DIRECT_ALLOCATOR_H
#define ALLO_RUN_DIRECT_ALLOCATOR_H

/* The name of such an allocator in a program; NULL if none is known.  The symbols of the program
 * are searched or, if it is stripped, its texts. */
const char *allo_direct_allocator(int fd);

#endif
