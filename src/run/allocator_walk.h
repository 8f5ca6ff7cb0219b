/*
 * allocator_walk.h - the statistics of glibc's malloc in another process, read from outside.
 *
 * They have the meaning of malloc_info(), which the process would have to call itself.
 */
#ifndef ALLO_RUN_ALLOCATOR_WALK_H
#define ALLO_RUN_ALLOCATOR_WALK_H

#include "base/error.h"

#include <allo.h>

/* Walks through all pages and blocks of the process, if its malloc is glibc's, and adds the
 * allocator's metrics and their source to the snapshot.  Takes about half a second per GiB; no lock
 * of malloc is taken.  Other allocators need no walk.  False when memory is short. */
bool allo_allocator_walk(uint64_t pid, struct allo_memory_snapshot *snapshot,
			 struct allo_error *err);

#endif
