/*
 * heap_cache.h - what a recording's events amount to, so that they need not be replayed again.
 *
 * A file in the folder "replays" of the cache (base/cache_file.h) for each recording that takes a
 * while.  It is of use for the file that it was made of and no other: by its size, its time, its
 * place on the disk and its head.  Nothing in it is trusted.
 */
#ifndef ALLO_REPLAY_HEAP_CACHE_H
#define ALLO_REPLAY_HEAP_CACHE_H

#include "replay/heap.h"

/* Fills a heap, and the timeline of the options, as allo_heap_replay() would; false when that is
 * not in the cache, or when memory is short (see err). */
bool allo_heap_recall(struct allo_heap *heap, struct allo_recording *recording,
		      const struct allo_heap_options *options, uint64_t *event_count,
		      struct allo_error *err);

/* Keeps a heap that was replayed, if it is worth it.  What cannot be kept is not. */
void allo_heap_remember(const struct allo_heap *heap, const struct allo_recording *recording,
			const struct allo_heap_options *options, uint64_t event_count);

#endif
