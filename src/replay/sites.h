/*
 * sites.h - allocation sites: their keys, and counters kept per site.
 *
 * A site is a stack.  Where the recording has labels or threads are told apart, it is a stack
 * together with them; such sites get numbers, which replace the stacks of events, so that a heap
 * (heap.h) counts per site without knowing about labels.
 */
#ifndef ALLO_REPLAY_SITES_H
#define ALLO_REPLAY_SITES_H

#include "base/map.h"
#include "replay/events/stream_labels.h"
#include "replay/weights.h"

/* Of sums of a bounded recording. */
enum { ALLO_UNKNOWN_STREAM = ALLO_STREAMS_MAX };

struct allo_site_key {
	uint32_t stack;
	uint32_t stream; /* 0 if threads are not told apart; or ALLO_UNKNOWN_STREAM */
	uint32_t labels; /* number of a set of labels */
	uint32_t name;   /* number of a text: the name of an event of the program */
};

/* Keys and their numbers.  All zeros is empty, ready for use. */
struct allo_site_keys {
	ALLO_VEC(struct allo_site_key) at; /* by number; [0] is no site */

	/* Private from here on. */
	struct allo_map map;
};

void allo_site_keys_done(struct allo_site_keys *keys);

/* The number of a site, or 0 when memory is short. */
uint32_t allo_site_keys_add(struct allo_site_keys *keys, const struct allo_site_key *key,
			    struct allo_error *err);

/* Whether the recording has the stack, the thread and the labels of a site. */
bool allo_site_key_is_known(const struct allo_recording *recording,
			    const struct allo_site_key *key);

/* Sites that are found without a search; a power of two. */
enum { ALLO_SITES_RECENT = 1 << 14 };

/* Replaces stacks of events by site numbers.  All zeros is empty, ready for use. */
struct allo_site_ids {
	bool by_thread; /* set it before the first event */
	struct allo_site_keys keys;
	uint64_t missing; /* allocations whose stack is not in the recording */

	/* If not NULL, a site is a stack that has allocated; most nodes of a recording have not.
	 * The site by stack; 0: none yet; stack 0 is site 0.  There are no keys until
	 * allo_site_ids_sort(). */
	uint32_t *by_stack;
	uint32_t count; /* of sites, with 0 */

	/* Private from here on. */
	struct allo_stream_labels labels;
	uint32_t recent[ALLO_SITES_RECENT]; /* sites by a hash of their keys; 0: none */
	struct allo_event events[ALLO_EVENTS_AT_ONCE];
};

/* Makes stacks that have allocated the sites.  Call it before the first event. */
bool allo_site_ids_take_stacks(struct allo_site_ids *ids, size_t stack_count,
			       struct allo_error *err);

/* The site of a stack, which gets one if it has none. */
static inline uint32_t allo_site_of_stack(struct allo_site_ids *ids, uint32_t stack)
{
	uint32_t *site = &ids->by_stack[stack];

	if (*site == 0 && stack != 0)
		*site = ids->count++;
	return *site;
}

/* Call it after the last event, if sites are stacks: makes their keys, in the order of the stacks.
 * `numbers` gets the new number of each site, to be freed by the caller. */
bool allo_site_ids_sort(struct allo_site_ids *ids, size_t stack_count, uint32_t **numbers,
			struct allo_error *err);

void allo_site_ids_done(struct allo_site_ids *ids);

/* Points the span to copies of its events with site numbers in place of stacks.  The recording has
 * `stack_count` stacks. */
bool allo_site_ids_replace(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count, struct allo_error *err);

/* Events that the program reports with allo_event(). */

struct allo_own_sum {
	uint64_t events, units; /* at most UINT64_MAX */
};

/* Their sums by stack, labels and name.  All zeros is empty, ready for use. */
struct allo_own_events {
	bool by_thread; /* set it before the first event */
	struct allo_site_keys keys;
	ALLO_VEC(struct allo_own_sum) sums; /* by number of the key */

	/* Private from here on. */
	struct allo_stream_labels labels;
};

void allo_own_events_done(struct allo_own_events *own);

/* Takes events in time order and ignores kinds other than ALLO_EVENT_OWN and ALLO_EVENT_LABELS. */
bool allo_own_events_take(struct allo_own_events *own, const struct allo_event *event,
			  struct allo_error *err);

/* Adds to the sum of a site. */
bool allo_own_events_add(struct allo_own_events *own, const struct allo_site_key *key,
			 struct allo_own_sum more, struct allo_error *err);

/* Drops all sums; threads keep their labels. */
void allo_own_events_restart(struct allo_own_events *own);

/*
 * Estimates for sites of a sampled recording.
 *
 * Each sum has a variance: that of a sum of w * x over independent blocks is estimated without bias
 * by the sum of w * (w - 1) * x * x over the recorded ones.
 */
struct allo_weighed {
	allo_parts blocks, bytes;
	double blocks_variance, bytes_variance;
};

/* The counterpart of struct allo_site (heap.h), which counts the recorded blocks. */
struct allo_weighed_site {
	struct allo_weighed alloc, live, max;
	struct allo_weighed kept; /* live at the peak with the number of_peak: see peak.h */
	uint32_t of_peak;
	allo_parts lifetime_ns;
	double lifetime_variance;
};

/* Counts a new block, or takes off a block that ends.  `peaks` is the number of the last peak. */
void allo_weighed_site_add(struct allo_weighed_site *site, uint64_t size,
			   const struct allo_weight *weight, uint32_t peaks);
void allo_weighed_site_take(struct allo_weighed_site *site, uint64_t size,
			    const struct allo_weight *weight, uint32_t peaks);

/* Adds the lifetime of a block. */
void allo_weighed_site_end(struct allo_weighed_site *site, uint64_t ns,
			   const struct allo_weight *weight);

/* The blocks that were live at the last peak. */
struct allo_weighed allo_weighed_site_peak(const struct allo_weighed_site *site, uint32_t peaks);

/* Resets all but the live blocks. */
void allo_weighed_site_restart(struct allo_weighed_site *site);

#endif
