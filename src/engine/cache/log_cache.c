/*
 * log_cache.c - the file of a change log: a struct head, and the bytes of
 * view/log/change_log_stored.h.  A head alone says that the log is too large.
 */
#include "engine/cache/log_cache.h"

#include "base/assert.h"
#include "base/defer.h"
#include "replay/heap_cache.h"
#include "view/log/change_log_stored.h"

#include <stdlib.h>
#include <xxhash.h>
#include <zstd.h>

#define MAGIC "ALLOlog1"

enum {
	FILE_MOST = 128 << 20, /* bytes of one file */
	LEVEL = 1,             /* a quarter of a second for 20 million events */
};

struct head {
	struct allo_heap_cache_key key;
	uint64_t hash; /* XXH64 of the bytes behind it */
};

void allo_cached_log_done(struct allo_cached_log *cached)
{
	allo_change_log_done(&cached->log);
	allo_vec_done(&cached->bytes);
}

/* Storing. */

static bool add(allo_cache_bytes *bytes, const void *more, size_t count, size_t size)
{
	return count == 0 || (count <= (FILE_MOST - bytes->len) / size &&
			      allo_vec_append(bytes, (const char *)more, count * size));
}

/* The columns of a segment as a frame. */
static bool add_frame(allo_cache_bytes *frames, const struct allo_log_segment *segment, int level)
{
	size_t bound = ZSTD_compressBound(segment->memory_bytes), made;

	if (!segment->memory)
		return add(frames, segment->packed.data, segment->packed.len, 1);
	if (!allo_vec_reserve(frames, bound))
		return false;
	made = ZSTD_compress(frames->at + frames->len, bound, segment->memory,
			     segment->memory_bytes, level);
	if (ZSTD_isError(made))
		return false;
	frames->len += made;
	return true;
}

static bool add_segments(allo_cache_bytes *bytes, allo_cache_bytes *frames,
			 const struct allo_change_log *log, int level)
{
	for (size_t i = 0; i < log->segments.len; i++) {
		const struct allo_log_segment *segment = &log->segments.at[i];
		struct allo_stored_segment stored;
		size_t before = frames->len;

		memset(&stored, 0, sizeof(stored));
		stored.shape = segment->shape;
#define GET(name) stored.name = segment->name;
		ALLO_STORED_SEGMENT(GET)
#undef GET
		if (!add_frame(frames, segment, level))
			return false;
		stored.packed_bytes = frames->len - before;
		if (!add(bytes, &stored, 1, sizeof(stored)))
			return false;
	}
	for (size_t i = 0; i < log->segments.len; i++) {
		const struct allo_log_segment *segment = &log->segments.at[i];

		if (!add(bytes, segment->sums, segment->shape.sums, sizeof(*segment->sums)))
			return false;
	}
	return true;
}

static bool add_states(allo_cache_bytes *bytes, const struct allo_change_log *log)
{
	bool ok = true;

	for (size_t i = 0; i < log->states.len && ok; i++) {
		const struct allo_log_state *state = &log->states.at[i];
		struct allo_stored_state stored = { state->segment, state->site_count };

		ok = add(bytes, &stored, 1, sizeof(stored));
	}
	for (size_t i = 0; i < log->states.len && ok; i++)
		ok = add(bytes, log->states.at[i].bytes, log->states.at[i].site_count,
			 sizeof(*log->states.at[i].bytes));
	for (size_t i = 0; i < log->states.len && ok; i++)
		ok = add(bytes, log->states.at[i].blocks, log->states.at[i].site_count,
			 sizeof(*log->states.at[i].blocks));
	return ok;
}

static struct allo_stored_log head_of(const struct allo_change_log *log)
{
	struct allo_stored_log head = {
		.segments = log->segments.len,
		.states = log->states.len,
		.asides = log->asides.len,
		.large_sizes = log->large_sizes.len,
		.keys = log->keys.at.len,
		.marks = log->marks.list.len,
		.sites = log->sites.len,
		.keeps_first = log->keeps_first,
		.has_retired = log->has_retired,
		.is_walked = log->is_walked,
		.event_count = log->event_count,
		.last_ns = log->last_ns,
		.end_ns = log->end_ns,
	};

	for (size_t i = 0; i < log->segments.len; i++)
		head.sums += log->segments.at[i].shape.sums;
	for (size_t i = 0; i < log->states.len; i++)
		head.state_sites += log->states.at[i].site_count;
	return head;
}

bool allo_change_log_store(const struct allo_change_log *log, int level, allo_cache_bytes *bytes)
{
	struct allo_stored_log head = head_of(log);
	allo_cache_bytes frames = { 0 };
	bool ok = add(bytes, &head, 1, sizeof(head)) && add_segments(bytes, &frames, log, level) &&
		  add_states(bytes, log) &&
		  add(bytes, log->asides.at, log->asides.len, sizeof(*log->asides.at)) &&
		  add(bytes, log->large_sizes.at, log->large_sizes.len,
		      sizeof(*log->large_sizes.at)) &&
		  add(bytes, log->keys.at.at, log->keys.at.len, sizeof(*log->keys.at.at)) &&
		  add(bytes, log->marks.list.at, log->marks.list.len,
		      sizeof(*log->marks.list.at)) &&
		  add(bytes, log->sites.at, log->sites.len, sizeof(*log->sites.at)) &&
		  add(bytes, frames.at, frames.len, 1);

	allo_vec_done(&frames);
	return ok;
}

static void store(const struct allo_change_log *log, const struct allo_heap_cache_key *key,
		  const char *path)
{
	struct head head = { .key = *key };
	allo_cache_bytes bytes = { 0 };

	if (add(&bytes, &head, 1, sizeof(head)) && allo_change_log_store(log, LEVEL, &bytes)) {
		head.hash = XXH64(bytes.at + sizeof(head), bytes.len - sizeof(head), 0);
		memcpy(bytes.at, &head, sizeof(head));
		if (allo_cache_write(path, bytes.at, bytes.len))
			allo_heap_cache_trim();
	} else {
		allo_cache_write(path, &head, sizeof(head));
	}
	allo_vec_done(&bytes);
}

/* Loading. */

static bool load(struct allo_cached_log *cached, const struct allo_recording *recording,
		 const struct allo_heap_cache_key *key, const char *path, struct allo_error *err)
{
	struct head head;
	struct allo_text rest;

	allo_cache_read(path, FILE_MOST, &cached->bytes);
	if (cached->bytes.len < sizeof(head))
		return false;
	memcpy(&head, cached->bytes.at, sizeof(head));
	rest = (struct allo_text){ cached->bytes.at + sizeof(head),
				   cached->bytes.len - sizeof(head) };
	return memcmp(&head.key, key, sizeof(*key)) == 0 &&
	       head.hash == XXH64(rest.data, rest.len, 0) &&
	       allo_change_log_read(&cached->log, recording, rest, err);
}

/* Whether an earlier run found that the log is too large: then building it is in vain. */
static bool is_too_large(const allo_cache_bytes *bytes, const struct allo_heap_cache_key *key)
{
	return bytes->len == sizeof(struct head) && memcmp(bytes->at, key, sizeof(*key)) == 0;
}

/* Whether parts of the events are missing: replay counts them up to the end of the window. */
static bool has_gaps(const struct allo_recording *recording)
{
	const struct allo_gaps *gaps = &recording->gaps;

	return gaps->damaged_pages > 0 || gaps->unread_pages > 0;
}

bool allo_cached_log_get(struct allo_cached_log *cached, struct allo_recording *recording,
			 bool keeps_first, bool may_build, struct allo_error *err)
{
	const struct allo_heap_options whole = { .keeps_first = keeps_first };
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	struct allo_heap_cache_key key;

	if (!keeps_first && allo_change_log_load(&cached->log, recording, err))
		return true;
	if (allo_failed(err) || recording->chunk_events < ALLO_CACHED_EVENTS_LEAST ||
	    !allo_heap_cache_key_of(&key, recording, &whole))
		return false;
	memcpy(key.magic, MAGIC, sizeof(key.magic));
	path = allo_heap_cache_path(&key);
	if (!path)
		return false;
	if (load(cached, recording, &key, path, err))
		return true;
	may_build &= !is_too_large(&cached->bytes, &key);
	allo_cached_log_done(cached);
	if (!may_build || allo_failed(err))
		return false;
	cached->log.keeps_first = keeps_first;
	if (!allo_change_log_build(&cached->log, recording, NULL, err) || has_gaps(recording))
		return false;
	store(&cached->log, &key, path);
	return true;
}

void allo_cached_log_store(const struct allo_change_log *log,
			   const struct allo_recording *recording)
{
	const struct allo_heap_options whole = { .keeps_first = log->keeps_first };
	ALLO_DEFER(allo_free_pointer) char *path = NULL;
	struct allo_heap_cache_key key;
	allo_cache_bytes bytes = { 0 };

	if (recording->chunk_events < ALLO_CACHED_EVENTS_LEAST || has_gaps(recording) ||
	    !allo_heap_cache_key_of(&key, recording, &whole))
		return;
	memcpy(key.magic, MAGIC, sizeof(key.magic));
	path = allo_heap_cache_path(&key);
	if (!path)
		return;
	allo_cache_read(path, sizeof(struct head), &bytes);
	if (!is_too_large(&bytes, &key))
		store(log, &key, path);
	allo_vec_done(&bytes);
}
