/*
 * site_ids.h - numbers for sites that are a stack and the thread that allocates there.
 *
 * Events whose stacks are replaced by these numbers make a heap (heap.h) that knows what each
 * thread has done.
 */
#ifndef ALLO_REPLAY_SITE_IDS_H
#define ALLO_REPLAY_SITE_IDS_H

#include "base/map.h"
#include "replay/event_stream.h"

struct allo_site_key {
	uint32_t stack, stream;
};

/* All zeros is empty, and ready for use. */
struct allo_site_ids {
	ALLO_VEC(struct allo_site_key) keys; /* by number; [0] is no site */
	uint64_t missing;                    /* allocations whose stack is not in the recording */

	/* Private from here on. */
	struct allo_map map;
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
};

void allo_site_ids_done(struct allo_site_ids *ids);

/* Replaces the stacks of a span's allocations, of which the recording has `stack_count`. */
bool allo_site_ids_replace(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count, struct allo_error *err);

#endif
