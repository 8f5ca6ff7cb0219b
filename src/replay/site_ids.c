/* site_ids.c - see site_ids.h. */
#include "replay/site_ids.h"

#include "base/hash.h"

void allo_site_ids_done(struct allo_site_ids *ids)
{
	allo_vec_done(&ids->keys);
	allo_map_done(&ids->map);
}

/* The number of a site, or 0 when memory is short. */
static uint32_t find_or_add(struct allo_site_ids *ids, struct allo_site_key key,
			    struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(key.stack, key.stream, allo_hash_seed());
	struct allo_probe probe = allo_map_probe(&ids->map, hash);
	uint32_t id;

	while ((id = allo_map_next(&ids->map, &probe)) != 0) {
		if (ids->keys.at[id].stack == key.stack && ids->keys.at[id].stream == key.stream)
			return id;
	}
	id = (uint32_t)ids->keys.len;
	if (!allo_vec_append(&ids->keys, &key, 1) || !allo_map_put(&ids->map, hash, id)) {
		allo_fail_memory(err);
		return 0;
	}
	return id;
}

bool allo_site_ids_replace(struct allo_site_ids *ids, struct allo_event_span *span,
			   size_t stack_count, struct allo_error *err)
{
	struct allo_site_key last = { 0 };
	uint32_t last_id = 0;

	if (ids->keys.len == 0 && !allo_vec_cover(&ids->keys, 1))
		return allo_fail_memory(err);
	for (size_t i = 0; i < span->count; i++) {
		struct allo_event event = span->events[i];

		if (event.kind == ALLO_EVENT_ALLOC || event.kind == ALLO_EVENT_RESIZE) {
			bool is_there = event.stack < stack_count;
			struct allo_site_key key = { is_there ? event.stack : 0, event.stream };

			ids->missing += !is_there;
			/* A program does the same thing often. */
			if (last_id == 0 || key.stack != last.stack || key.stream != last.stream) {
				last = key;
				last_id = find_or_add(ids, key, err);
				if (last_id == 0)
					return false;
			}
			event.stack = last_id;
		}
		ids->events[i] = event;
	}
	span->events = ids->events;
	return true;
}
