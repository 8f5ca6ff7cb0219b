/*
 * huge_alloc.h - large allocations in huge pages: fewer page faults, and fewer TLB misses on random
 * access.
 */
#ifndef ALLO_BASE_HUGE_ALLOC_H
#define ALLO_BASE_HUGE_ALLOC_H

#include <stddef.h>

/* Aligned to a cache line; NULL when out of memory.  Release with free(). */
void *allo_huge_alloc(size_t size);

#endif
