/*
 * split_timeline.h - the heap over time in groups: by function, thread or label.
 *
 * One pass over the events fills a timeline for each group.  All have their steps at the same
 * times.
 */
#ifndef ALLO_REPLAY_SPLIT_TIMELINE_H
#define ALLO_REPLAY_SPLIT_TIMELINE_H

#include "replay/sites.h"
#include "replay/timeline.h"

struct allo_split_timeline {
	struct allo_timeline *groups; /* the caller's; .most is set */
	size_t count;
	bool by_thread;   /* sites of different threads differ */
	bool keeps_first; /* a block of realloc belongs to the site of its first allocation */
	/* The group of a site: an index of `groups`.  It is called once for each site. */
	bool (*group_of)(void *context, const struct allo_site_key *key, uint32_t *group,
			 struct allo_error *err);
	void *context;
};

/* Makes the timelines of a window.  NULL stands for the whole recording. */
bool allo_split_timeline_of(struct allo_split_timeline *split, struct allo_recording *recording,
			    const struct allo_window *window, struct allo_error *err);

#endif
