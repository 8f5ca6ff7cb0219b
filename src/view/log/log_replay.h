/*
 * log_replay.h - counts the changes of a log one by one, as a replay of the events would.
 *
 * This is for requests that sums cannot answer: by thread, for some threads, and for sampled
 * recordings, whose estimates depend on the order of additions.
 */
#ifndef ALLO_VIEW_LOG_REPLAY_H
#define ALLO_VIEW_LOG_REPLAY_H

#include "view/log/change_log_segment.h"

/* Fills `heap`, which is all zeros; `end_ns` is the end of the window. */
bool allo_log_replay(const struct allo_change_log *log, const struct allo_heap_options *options,
		     uint64_t end_ns, struct allo_heap *heap, uint64_t *event_count,
		     struct allo_error *err);

#endif
