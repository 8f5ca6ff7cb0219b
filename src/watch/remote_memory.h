/*
 * told_memory.h - what only a process itself knows of its memory.
 */
#ifndef ALLO_WATCH_REMOTE_MEMORY_H
#define ALLO_WATCH_REMOTE_MEMORY_H

#include <allo.h>

/* Asks the process at the other end of a socket for figures of its allocator, of the blocks that
 * were counted and of the runtime, and adds them to a snapshot; each source says why it has none.
 */
void allo_remote_memory_add(const char *socket, struct allo_memory_snapshot *snapshot);

#endif
