/*
 * event_ahead.h - events that another thread reads while the last ones are replayed.
 *
 * Reading comes to about half of a replay.  The other thread reads into blocks, some of which may
 * be waiting; the thread that replays takes them in their order.
 */
#ifndef ALLO_REPLAY_EVENT_AHEAD_H
#define ALLO_REPLAY_EVENT_AHEAD_H

#include "replay/event_stream.h"

struct allo_event_ahead;

/* How the next events are read, as by allo_events_next(), and how many of them are silent. */
typedef bool allo_events_read(struct allo_events *events, struct allo_event_span *span,
			      size_t *silent, struct allo_error *err);

/* From now on `events` and its recording belong to the other thread, until it is stopped or has
 * told of the end.  NULL when there can be none. */
struct allo_event_ahead *allo_event_ahead_start(struct allo_events *events, allo_events_read *read);

bool allo_event_ahead_next(struct allo_event_ahead *ahead, struct allo_event_span *span,
			   size_t *silent, struct allo_error *err);

void allo_event_ahead_stop(struct allo_event_ahead *ahead);

#endif
