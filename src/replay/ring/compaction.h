/*
 * compaction.h - summing up the older events of a bounded recording, for compact_ring.c.
 */
#ifndef ALLO_REPLAY_COMPACTION_H
#define ALLO_REPLAY_COMPACTION_H

#include "replay/heap.h"
#include "replay/ring/compact_ring.h"
#include "replay/ring/earlier.h"

struct allo_compaction {
	const char *path;
	int fd;
	struct allo_recording recording;
	struct allo_events events;
	struct allo_heap heap;
	struct allo_earlier next;
	ALLO_VEC(uint32_t) streams; /* by place: that allocated the block */
	ALLO_VEC(uint64_t) freed;   /* offsets of pages */
	uint64_t until_ns;
	struct allo_ring_state *state;
};

/* After a replay of the events before `until_ns`: fills `next`, with times in ticks, and `freed`.
 */
bool allo_compaction_sum_up(struct allo_compaction *compactor, struct allo_error *err);

#endif
