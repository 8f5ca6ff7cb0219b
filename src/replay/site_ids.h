/*
 * site_ids.h - numbers for sites that are more than a stack: also the labels that were in force
 * there, or the thread.
 *
 * Events whose stacks are replaced by these numbers make a heap (heap.h) that knows what was done
 * under each set of labels, or by each thread.
 */
#ifndef ALLO_REPLAY_SITE_IDS_H
#define ALLO_REPLAY_SITE_IDS_H

#include "base/map.h"
#include "replay/stream_labels.h"

struct allo_site_key {
	uint32_t stack;
	uint32_t stream; /* 0 where threads are not told apart */
	uint32_t labels; /* a set's number */
	uint32_t name;   /* a text's number, of events of the program's own */
};

/* All zeros is empty, and ready for use. */
struct allo_site_keys {
	ALLO_VEC(struct allo_site_key) at; /* by number; [0] is no site */

	/* Private from here on. */
	struct allo_map map;
};

void allo_site_keys_done(struct allo_site_keys *keys);

/* The number of a site, or 0 when memory is short. */
uint32_t allo_site_keys_add(struct allo_site_keys *keys, const struct allo_site_key *key,
			    struct allo_error *err);

/* All zeros is empty, and ready for use. */
struct allo_site_ids {
	bool by_thread; /* to be set before the first event */
	struct allo_site_keys keys;
	uint64_t missing; /* allocations whose stack is not in the recording */

	/* Private from here on. */
	struct allo_stream_labels labels;
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
};

void allo_site_ids_done(struct allo_site_ids *ids);

/* Replaces the stacks of a span's allocations, of which the recording has `stack_count`. */
bool allo_site_ids_replace(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count, struct allo_error *err);

#endif
