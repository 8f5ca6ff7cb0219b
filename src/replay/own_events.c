/* own_events.c - see own_events.h. */
#include "replay/own_events.h"

void allo_own_events_done(struct allo_own_events *own)
{
	allo_site_keys_done(&own->keys);
	allo_vec_done(&own->sums);
	allo_stream_labels_done(&own->labels);
}

static void add_up(uint64_t *sum, uint64_t more)
{
	if (__builtin_add_overflow(*sum, more, sum))
		*sum = UINT64_MAX;
}

bool allo_own_events_add(struct allo_own_events *own, const struct allo_site_key *key,
			 struct allo_own_sum more, struct allo_error *err)
{
	uint32_t id = allo_site_keys_add(&own->keys, key, err);

	if (id == 0)
		return false;
	if (!allo_vec_cover(&own->sums, (size_t)id + 1))
		return allo_fail_memory(err);
	add_up(&own->sums.at[id].events, more.events);
	add_up(&own->sums.at[id].units, more.units);
	return true;
}

bool allo_own_events_take(struct allo_own_events *own, const struct allo_event *event,
			  struct allo_error *err)
{
	struct allo_site_key key;

	if (event->kind == ALLO_EVENT_LABELS)
		return allo_stream_labels_take(&own->labels, event, err);
	if (event->kind != ALLO_EVENT_OWN)
		return true;
	key = (struct allo_site_key){ .stack = event->stack,
				      .stream = own->by_thread ? event->stream : 0,
				      .labels = allo_stream_labels_of(&own->labels, event->stream),
				      .name = (uint32_t)event->note };
	return allo_own_events_add(own, &key, (struct allo_own_sum){ 1, event->size }, err);
}

void allo_own_events_restart(struct allo_own_events *own)
{
	allo_site_keys_done(&own->keys);
	own->keys = (struct allo_site_keys){ 0 };
	own->sums.len = 0;
}

bool allo_own_events_are_any(const struct allo_own_events *own)
{
	return own->sums.len > 0;
}
