/*
 * own_events.h - what events of a program's own add up to, by where they happened, under which
 * labels, and what the program calls them.
 */
#ifndef ALLO_REPLAY_OWN_EVENTS_H
#define ALLO_REPLAY_OWN_EVENTS_H

#include "replay/site_ids.h"

struct allo_own_sum {
	uint64_t events, units; /* at most UINT64_MAX */
};

/* All zeros is empty, and ready for use. */
struct allo_own_events {
	bool by_thread; /* to be set before the first event */
	struct allo_site_keys keys;
	ALLO_VEC(struct allo_own_sum) sums; /* by number of the key */

	/* Private from here on. */
	struct allo_stream_labels labels;
};

void allo_own_events_done(struct allo_own_events *own);

/* Takes events in the order of time; those of other kinds than labels and the program's own do
 * nothing. */
bool allo_own_events_take(struct allo_own_events *own, const struct allo_event *event,
			  struct allo_error *err);

/* Adds to the sum of a site. */
bool allo_own_events_add(struct allo_own_events *own, const struct allo_site_key *key,
			 struct allo_own_sum more, struct allo_error *err);

/* Forgets what has happened so far, but not the labels. */
void allo_own_events_restart(struct allo_own_events *own);

/* Whether there were any. */
bool allo_own_events_are_any(const struct allo_own_events *own);

#endif
