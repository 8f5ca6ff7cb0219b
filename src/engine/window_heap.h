/*
 * window_heap.h - the heap of a part of a recording without a replay, from its change log.
 */
#ifndef ALLO_ENGINE_WINDOW_HEAP_H
#define ALLO_ENGINE_WINDOW_HEAP_H

#include "replay/heap.h"
#include "replay/recording_profile.h"

/* Fills `heap`, which is all zeros, and `replay` refers to it.  False, without any effect, if a
 * replay is to be preferred: for whole recordings, without the cache, if the log is not cached and
 * the window ends early, or if the log is not exact (view/log/change_log.h). */
bool allo_window_heap(struct allo_heap *heap, struct allo_recording *recording,
		      struct allo_replay *replay);

#endif
