/*
 * huge.h - memory in huge pages, for much of it at once: it comes by fewer faults, and who meets it
 * at random need not wait for page tables.
 */
#ifndef ALLO_BASE_HUGE_ALLOC_H
#define ALLO_BASE_HUGE_ALLOC_H

#include <stddef.h>

/* Begins at a cache line; NULL when memory is short.  Given back by free(). */
void *allo_huge_alloc(size_t size);

#endif
