/* sites.c - numbers of sites, sums of the program's own events, estimates per site. */
#include "replay/sites.h"

#include "base/assert.h"
#include "base/hash.h"
#include "replay/peak.h"

#include <stdlib.h>

/* Events between prefetching the site of a stack and using it. */
enum { STACKS_AHEAD = 16 };

/* Keys. */

void allo_site_keys_done(struct allo_site_keys *keys)
{
	allo_vec_done(&keys->at);
	allo_map_done(&keys->map);
}

static bool are_equal(const struct allo_site_key *a, const struct allo_site_key *b)
{
	return a->stack == b->stack && a->stream == b->stream && a->labels == b->labels &&
	       a->name == b->name;
}

uint32_t allo_site_keys_add(struct allo_site_keys *keys, const struct allo_site_key *key,
			    struct allo_error *err)
{
	uint64_t hash = allo_hash_pair((uint64_t)key->stack << 32 | key->stream,
				       (uint64_t)key->labels << 32 | key->name, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&keys->map, hash);
	uint32_t id;

	while ((id = allo_map_next(&keys->map, &probe)) != 0) {
		if (are_equal(&keys->at.at[id], key))
			return id;
	}
	if (keys->at.len == 0 && !allo_vec_cover(&keys->at, 1)) {
		allo_fail_memory(err);
		return 0;
	}
	id = (uint32_t)keys->at.len;
	ALLO_ASSERT(id > 0);
	if (!allo_vec_append(&keys->at, key, 1) || !allo_map_put(&keys->map, hash, id)) {
		allo_fail_memory(err);
		return 0;
	}
	return id;
}

bool allo_site_key_is_known(const struct allo_recording *recording, const struct allo_site_key *key)
{
	bool has_stream = key->stream < recording->streams.len ||
			  (recording->earlier && key->stream == ALLO_UNKNOWN_STREAM);

	return key->stack < recording->nodes.len && has_stream &&
	       (key->labels == 0 || key->labels < recording->label_sets.len);
}

void allo_site_ids_done(struct allo_site_ids *ids)
{
	allo_site_keys_done(&ids->keys);
	allo_stream_labels_done(&ids->labels);
	free(ids->by_stack);
	ids->by_stack = NULL;
}

/* Stacks as sites. */

bool allo_site_ids_take_stacks(struct allo_site_ids *ids, size_t stack_count,
			       struct allo_error *err)
{
	ids->count = 1;
	ids->by_stack = calloc(stack_count, sizeof(*ids->by_stack));
	return ids->by_stack || allo_fail_memory(err);
}

static inline void fetch_site(const struct allo_site_ids *ids, const struct allo_event_span *span,
			      size_t i, size_t stack_count)
{
	uint32_t stack = i < span->count ? span->events[i].stack : 0;

	__builtin_prefetch(&ids->by_stack[stack < stack_count ? stack : 0]);
}

static void replace_stacks(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count)
{
	for (size_t i = 0; i < span->count; i++) {
		struct allo_event event = span->events[i];

		fetch_site(ids, span, i + STACKS_AHEAD, stack_count);
		if (event.kind == ALLO_EVENT_ALLOC || event.kind == ALLO_EVENT_RESIZE) {
			bool is_there = event.stack < stack_count;

			ids->missing += !is_there;
			event.stack = is_there ? allo_site_of_stack(ids, event.stack) : 0;
		}
		ids->events[i] = event;
	}
	span->events = ids->events;
}

bool allo_site_ids_sort(struct allo_site_ids *ids, size_t stack_count, uint32_t **numbers,
			struct allo_error *err)
{
	uint32_t next = 1;

	*numbers = calloc(ids->count, sizeof(**numbers));
	if (!*numbers || !allo_vec_cover(&ids->keys.at, ids->count))
		return allo_fail_memory(err);
	for (size_t stack = 1; stack < stack_count; stack++) {
		if (ids->by_stack[stack] == 0)
			continue;
		ids->keys.at.at[next].stack = (uint32_t)stack;
		(*numbers)[ids->by_stack[stack]] = next++;
	}
	ALLO_ASSERT(next == ids->count);
	free(ids->by_stack);
	ids->by_stack = NULL;
	return true;
}

/* Sites by their keys. */

static struct allo_site_key key_of(const struct allo_site_ids *ids, const struct allo_event *event,
				   bool is_there)
{
	return (struct allo_site_key){ .stack = is_there ? event->stack : 0,
				       .stream = ids->by_thread ? event->stream : 0,
				       .labels = allo_stream_labels_of(&ids->labels,
								       event->stream) };
}

/* The number of a site; 0 when memory is short.  Programs allocate at few sites most of the time.
 */
static inline uint32_t number_of(struct allo_site_ids *ids, const struct allo_site_key *key,
				 struct allo_error *err)
{
	uint32_t hash = (key->stack + key->stream * 31 + key->labels * 1031) * 0x9e3779b1u;
	uint32_t *recent = &ids->recent[hash >> 18];

	_Static_assert(ALLO_SITES_RECENT == 1 << 14, "18 of 32 bits are dropped");
	if (*recent == 0 || !are_equal(&ids->keys.at.at[*recent], key))
		*recent = allo_site_keys_add(&ids->keys, key, err);
	return *recent;
}

bool allo_site_ids_replace(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count, struct allo_error *err)
{
	ALLO_ASSERT(span->count <= ALLO_EVENTS_AT_ONCE);
	if (ids->by_stack) {
		replace_stacks(ids, span, stack_count);
		return true;
	}
	for (size_t i = 0; i < span->count; i++) {
		struct allo_event event = span->events[i];

		if (event.kind == ALLO_EVENT_ALLOC || event.kind == ALLO_EVENT_RESIZE) {
			bool is_there = event.stack < stack_count;
			struct allo_site_key key = key_of(ids, &event, is_there);

			ids->missing += !is_there;
			event.stack = number_of(ids, &key, err);
			if (event.stack == 0)
				return false;
		} else if (event.kind == ALLO_EVENT_LABELS) {
			if (!allo_stream_labels_take(&ids->labels, &event, err))
				return false;
		}
		ids->events[i] = event;
	}
	span->events = ids->events;
	return true;
}

/* Events of the program. */

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
	ALLO_ASSERT(id < own->keys.at.len);
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

/* Estimates. */

static void add(struct allo_weighed *to, uint64_t size, const struct allo_weight *weight)
{
	double spread = allo_weight_spread(weight);

	to->blocks += weight->blocks;
	to->bytes += weight->bytes;
	to->blocks_variance += spread;
	to->bytes_variance += spread * (double)size * (double)size;
}

static void take_off(struct allo_weighed *from, uint64_t size, const struct allo_weight *weight)
{
	double spread = allo_weight_spread(weight);

	ALLO_ASSERT(from->blocks >= weight->blocks && from->bytes >= weight->bytes);
	from->blocks -= weight->blocks;
	from->bytes -= weight->bytes;
	from->blocks_variance -= spread;
	from->bytes_variance -= spread * (double)size * (double)size;
	/* Drop the rounding error. */
	if (from->blocks == 0)
		from->blocks_variance = from->bytes_variance = 0;
}

static void save_peak(struct allo_weighed_site *site, uint32_t peaks)
{
	if (ALLO_PEAK_SAVE(site, peaks))
		site->kept = site->live;
}

void allo_weighed_site_add(struct allo_weighed_site *site, uint64_t size,
			   const struct allo_weight *weight, uint32_t peaks)
{
	save_peak(site, peaks);
	add(&site->alloc, size, weight);
	add(&site->live, size, weight);
	if (site->live.bytes > site->max.bytes ||
	    (site->live.bytes == site->max.bytes && site->live.blocks > site->max.blocks))
		site->max = site->live;
}

void allo_weighed_site_take(struct allo_weighed_site *site, uint64_t size,
			    const struct allo_weight *weight, uint32_t peaks)
{
	save_peak(site, peaks);
	take_off(&site->live, size, weight);
}

void allo_weighed_site_end(struct allo_weighed_site *site, uint64_t ns,
			   const struct allo_weight *weight)
{
	allo_parts most = ~(allo_parts)0, lifetime;

	if (__builtin_mul_overflow(weight->blocks, ns, &lifetime) ||
	    __builtin_add_overflow(site->lifetime_ns, lifetime, &site->lifetime_ns))
		site->lifetime_ns = most;
	site->lifetime_variance += allo_weight_spread(weight) * (double)ns * (double)ns;
}

struct allo_weighed allo_weighed_site_peak(const struct allo_weighed_site *site, uint32_t peaks)
{
	return ALLO_PEAK_IS_SAVED(site, peaks) ? site->kept : site->live;
}

void allo_weighed_site_restart(struct allo_weighed_site *site)
{
	*site = (struct allo_weighed_site){ .live = site->live, .max = site->live };
}
