/*
 * split_timeline.c - asks for the group of each site once, and adds each event to the timeline of
 * its group.
 */
#include "replay/split_timeline.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/heap.h"

#include <stdlib.h>

struct splitter {
	struct allo_split_timeline *split;
	struct allo_heap heap;          /* counts live blocks by site */
	ALLO_VEC(uint32_t) site_groups; /* by site */
};

static void splitter_done(struct splitter *splitter)
{
	allo_heap_done(&splitter->heap);
	allo_vec_done(&splitter->site_groups);
}

static bool splitter_init(struct splitter *splitter, const struct allo_recording *recording,
			  const struct allo_window *window, struct allo_error *err)
{
	struct allo_split_timeline *split = splitter->split;

	if (!allo_heap_init(&splitter->heap, recording, err))
		return false;
	splitter->heap.blocks.keeps_first = split->keeps_first && !splitter->heap.weighed;
	splitter->heap.ids = calloc(1, sizeof(*splitter->heap.ids));
	if (!splitter->heap.ids)
		return allo_fail_memory(err);
	splitter->heap.ids->by_thread = split->by_thread;
	for (size_t i = 0; i < split->count; i++) {
		split->groups[i].from_ns = window ? window->from_ns : 0;
		split->groups[i].weighing = splitter->heap.blocks.weighing;
	}
	return true;
}

/* Finds the groups of sites that a span has added. */
static bool group_sites(struct splitter *splitter, struct allo_error *err)
{
	const struct allo_split_timeline *split = splitter->split;
	const struct allo_site_keys *keys = &splitter->heap.ids->keys;

	while (splitter->site_groups.len < keys->at.len) {
		uint32_t group = 0;

		if (!split->group_of(split->context, &keys->at.at[splitter->site_groups.len],
				     &group, err) ||
		    !allo_vec_add(&splitter->site_groups, group, err))
			return false;
		ALLO_ASSERT(group < split->count);
	}
	return true;
}

static struct allo_timeline *timeline_of(const struct splitter *splitter, uint32_t site)
{
	ALLO_ASSERT(site < splitter->site_groups.len);
	return &splitter->split->groups[splitter->site_groups.at[site]];
}

static bool add_outcome(const struct splitter *splitter, const struct allo_event *event,
			const struct allo_outcome *outcome, const struct allo_outcome *retired,
			bool is_inside, struct allo_error *err)
{
	if (allo_outcome_ends_block(outcome, event) &&
	    !allo_timeline_end_block(timeline_of(splitter, outcome->stack), event->ns, outcome,
				     is_inside, err))
		return false;
	if (outcome->flags & ALLO_OUTCOME_RETIRED &&
	    !allo_timeline_end_block(timeline_of(splitter, retired->stack), event->ns, retired,
				     is_inside, err))
		return false;
	return !(outcome->flags & ALLO_OUTCOME_CREATED) ||
	       allo_timeline_add_block(timeline_of(splitter, outcome->new_stack), event, is_inside,
				       err);
}

static bool add_span(struct splitter *splitter, const struct allo_recording *recording,
		     struct allo_event_span *span, bool is_inside, struct allo_error *err)
{
	const struct allo_outcome *retired;
	struct allo_outcomes outcomes;

	if (!allo_heap_number_sites(&splitter->heap, span, recording->nodes.len, err) ||
	    !group_sites(splitter, err) ||
	    !allo_heap_apply_with_outcomes(&splitter->heap, span, &outcomes, err))
		return false;
	retired = outcomes.retired;
	for (size_t i = 0; i < span->count; i++) {
		if (!add_outcome(splitter, &span->events[i], &outcomes.at[i], retired, is_inside,
				 err))
			return false;
		retired += (outcomes.at[i].flags & ALLO_OUTCOME_RETIRED) != 0;
	}
	return true;
}

bool allo_split_timeline_of(struct allo_split_timeline *split, struct allo_recording *recording,
			    const struct allo_window *window, struct allo_error *err)
{
	ALLO_DEFER(allo_window_close) struct allo_window_events events = { 0 };
	ALLO_DEFER(splitter_done) struct splitter splitter = { .split = split };
	struct allo_event_span span;
	uint64_t end_ns;
	bool is_inside;

	if (!splitter_init(&splitter, recording, window, err) ||
	    !allo_window_open(&events, recording, window, err))
		return false;
	while (allo_window_next(&events, &span, &is_inside, err)) {
		if (!add_span(&splitter, recording, &span, is_inside, err))
			return false;
	}
	end_ns = allo_window_end(window, recording, splitter.heap.blocks.last_ns);
	for (size_t i = 0; i < split->count && !allo_failed(err); i++)
		allo_timeline_end(&split->groups[i], end_ns, err);
	return !allo_failed(err);
}
