/*
 * allocator_stats.h - finds the process's allocator and reads its own statistics.
 */
#ifndef ALLO_CAPTURE_ALLOCATOR_STATS_H
#define ALLO_CAPTURE_ALLOCATOR_STATS_H

#include <allo.h>

/* Reads the allocator's name, version and statistics; those of glibc only if `may_walk`, because
 * they take a walk through all free blocks.  Returns the reason for missing numbers, else "".
 *
 * Call it in a thread of the program: allocators keep thread-local state. */
const char *allo_allocator_read(bool may_walk, struct allo_allocator_memory *memory);

/* Whether malloc is libc's own.  It has no statistics without a walk, so any thread may call
 * allo_allocator_read(). */
bool allo_allocator_is_libc(void);

/* Whether another library interposes malloc before this one. */
bool allo_allocator_is_interposed(void);

#endif
