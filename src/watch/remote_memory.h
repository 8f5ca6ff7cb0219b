/*
 * remote_memory.h - memory metrics that only the runtime of a process knows: allocator, heap and
 * profiler.
 */
#ifndef ALLO_WATCH_REMOTE_MEMORY_H
#define ALLO_WATCH_REMOTE_MEMORY_H

#include "watch/recorded_process.h"

#include <allo.h>

/* Asks the runtime at this socket, and adds its metrics to a snapshot.  A source without metrics
 * says why. */
void allo_remote_memory_add(const char *socket, struct allo_memory_snapshot *snapshot);

/* Adds the metrics that the recording of a process without a socket shows: those of the profiler.
 */
void allo_remote_memory_add_recording(struct allo_recorded_processes *list,
				      const struct allo_recorded_process *process,
				      struct allo_memory_snapshot *snapshot);

#endif
