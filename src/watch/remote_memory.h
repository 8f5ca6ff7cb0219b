/*
 * remote_memory.h - memory metrics that only the process itself can read: allocator, heap and
 * profiler.
 */
#ifndef ALLO_WATCH_REMOTE_MEMORY_H
#define ALLO_WATCH_REMOTE_MEMORY_H

#include <allo.h>

/* Asks the runtime at this socket, and adds its metrics to a snapshot.  A source without metrics
 * says why. */
void allo_remote_memory_add(const char *socket, struct allo_memory_snapshot *snapshot);

#endif
