/*
 * ring_keeper.h - keeps bounded recordings within their size, in a thread of its own.
 *
 * The thread looks at each recording in time before it fills up, and sums up its older events
 * (replay/ring/compact_ring.h).
 */
#ifndef ALLO_RUN_RING_KEEPER_H
#define ALLO_RUN_RING_KEEPER_H

#include "run/recordings.h"

struct allo_ring_keeper;

/* `keep_ns`: see compact_ring.h.  NULL when memory is short or no thread can be started. */
struct allo_ring_keeper *allo_ring_keeper_start(uint64_t keep_ns);

/* Takes recordings that are new, and lets go of those of ended processes. */
void allo_ring_keeper_look(struct allo_ring_keeper *keeper,
			   const struct allo_recordings *recordings);

/* Waits until the thread has finished its work, and reports recordings that did not fit. */
void allo_ring_keeper_stop(struct allo_ring_keeper *keeper);

#endif
