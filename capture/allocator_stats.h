/*
 * allocator_stats.h - which allocator this process has, and what it says of itself.
 */
#ifndef ALLO_CAPTURE_ALLOCATOR_STATS_H
#define ALLO_CAPTURE_ALLOCATOR_STATS_H

#include <allo.h>

/* Its name, its version, and its figures; those of glibc only if `may_walk`, as they take a walk
 * through all free blocks.  Returns why some are missing; "" if none are.
 *
 * To be called by a thread that libc knows: an allocator may keep something for each. */
const char *allo_allocator_read(bool may_walk, struct allo_allocator_memory *memory);

/* Whether malloc is libc's own, which has no figures that do not take a walk, and may be asked for
 * its name by anybody. */
bool allo_allocator_is_libc(void);

/* Whether malloc is somebody else's, although it should be ours. */
bool allo_allocator_is_interposed(void);

#endif
