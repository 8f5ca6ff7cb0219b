/*
 * heap_cache.h - replayed heaps of whole recordings, kept in files so that events are replayed
 * once.
 *
 * Each file lies in the folder "replays" of the cache (base/io/cache_file.h) and belongs to one
 * recording, one way of telling sites apart (by thread or not) and one way of charging reallocs.
 * It holds the sites with all metrics, the program's own events, the marks, the birth times of the
 * blocks that are live at the end, and a timeline if one was asked for when it was made.
 *
 * A file is used only if size, times, inode and head of the recording are unchanged.  It is
 * checked like any input.  Recordings of less than a million events, raw recordings, pipes and
 * parts of recordings are not cached.
 */
#ifndef ALLO_REPLAY_HEAP_CACHE_H
#define ALLO_REPLAY_HEAP_CACHE_H

#include "replay/heap.h"

/* A recording and the way of counting.  The name of a file is a hash of it. */
struct allo_heap_cache_key {
	char magic[8], version[16]; /* of the program: another version may count differently */
	uint64_t size, written_ns, changed_ns, inode, device, head_hash;
	uint64_t by_thread, keeps_first;
};

/* False if the cache does not apply: a part of a recording, a pipe or an archive, or a raw
 * recording, whose file may still change without a new modification time. */
bool allo_heap_cache_key_of(struct allo_heap_cache_key *key, const struct allo_recording *recording,
			    const struct allo_heap_options *options);

/* The path of the file for a key, to be freed; NULL if there is no folder for it. */
char *allo_heap_cache_path(const struct allo_heap_cache_key *key);

/* Steps of a cached timeline, which serves all requests for fewer steps: more than any screen has
 * columns, in a third of a megabyte. */
enum { ALLO_CACHED_STEPS = 4096 };

/* Fewer events are replayed in 20 ms. */
enum { ALLO_CACHED_EVENTS_LEAST = 1 << 20 };

/* Removes old files when all files together become too large. */
void allo_heap_cache_trim(void);

/* Fills a heap, and the timeline and marks of the options, as allo_heap_replay() does.  The heap
 * has no table of live blocks; heap->births takes its place.  False if the cache does not have it,
 * or if memory is short (see err). */
bool allo_heap_cache_load(struct allo_heap *heap, struct allo_recording *recording,
			  const struct allo_heap_options *options, uint64_t *event_count,
			  struct allo_error *err);

/* The same from the bytes of a file, whose key and checksum are not checked.  For fuzzers. */
bool allo_heap_cache_fill(struct allo_heap *heap, struct allo_recording *recording,
			  const struct allo_heap_options *options, struct allo_text bytes,
			  uint64_t *event_count, struct allo_error *err);

/* Stores a heap that allo_heap_replay() made with marks.  Failures are ignored. */
void allo_heap_cache_store(const struct allo_heap *heap, const struct allo_recording *recording,
			   const struct allo_heap_options *options, uint64_t event_count);

#endif
