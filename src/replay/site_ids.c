/* site_ids.c - see site_ids.h. */
#include "replay/site_ids.h"

#include "base/hash.h"

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
	if (!allo_vec_append(&keys->at, key, 1) || !allo_map_put(&keys->map, hash, id)) {
		allo_fail_memory(err);
		return 0;
	}
	return id;
}

void allo_site_ids_done(struct allo_site_ids *ids)
{
	allo_site_keys_done(&ids->keys);
	allo_stream_labels_done(&ids->labels);
}

static struct allo_site_key key_of(const struct allo_site_ids *ids, const struct allo_event *event,
				   bool is_there)
{
	return (struct allo_site_key){ .stack = is_there ? event->stack : 0,
				       .stream = ids->by_thread ? event->stream : 0,
				       .labels = allo_stream_labels_of(&ids->labels,
								       event->stream) };
}

bool allo_site_ids_replace(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count, struct allo_error *err)
{
	struct allo_site_key last = { 0 };
	uint32_t last_id = 0;

	for (size_t i = 0; i < span->count; i++) {
		struct allo_event event = span->events[i];

		if (event.kind == ALLO_EVENT_ALLOC || event.kind == ALLO_EVENT_RESIZE) {
			bool is_there = event.stack < stack_count;
			struct allo_site_key key = key_of(ids, &event, is_there);

			ids->missing += !is_there;
			/* A program does the same thing often. */
			if (last_id == 0 || !are_equal(&key, &last)) {
				last = key;
				last_id = allo_site_keys_add(&ids->keys, &key, err);
				if (last_id == 0)
					return false;
			}
			event.stack = last_id;
		} else if (event.kind == ALLO_EVENT_LABELS) {
			if (!allo_stream_labels_take(&ids->labels, &event, err))
				return false;
		}
		ids->events[i] = event;
	}
	span->events = ids->events;
	return true;
}
