/*
 * event_ahead.h - a thread that reads events ahead of the replay.
 *
 * Reading is about half of the work of a replay.  The thread fills a ring of batches, and the
 * replaying thread takes them in order.
 */
#ifndef ALLO_REPLAY_EVENT_AHEAD_H
#define ALLO_REPLAY_EVENT_AHEAD_H

#include "replay/events/event_stream.h"

struct allo_event_ahead;

/* Reads the next events like allo_events_next(), and counts silent ones. */
typedef bool allo_events_read(struct allo_events *events, struct allo_event_span *span,
			      size_t *silent, struct allo_error *err);

/* From now on `events` and its recording belong to the thread, until it is stopped or has returned
 * the end.  NULL if the thread cannot be started. */
struct allo_event_ahead *allo_event_ahead_start(struct allo_events *events, allo_events_read *read);

bool allo_event_ahead_next(struct allo_event_ahead *ahead, struct allo_event_span *span,
			   size_t *silent, struct allo_error *err);

void allo_event_ahead_stop(struct allo_event_ahead *ahead);

#endif
