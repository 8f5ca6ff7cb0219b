/*
 * packed_events.h - the events of a packed recording, which are in order already.
 */
#ifndef ALLO_REPLAY_PACKED_EVENTS_H
#define ALLO_REPLAY_PACKED_EVENTS_H

#include "replay/event_stream.h"

/* NULL when memory is short. */
struct allo_packed_events *allo_packed_events_new(const struct allo_recording *recording,
						  struct allo_error *err);
void allo_packed_events_free(struct allo_packed_events *events);

/* See allo_events_next(); there is room for ALLO_EVENTS_AT_ONCE. */
bool allo_packed_events_next(struct allo_packed_events *events, struct allo_recording *recording,
			     struct allo_event *room, struct allo_event_span *span, size_t *silent,
			     struct allo_error *err);

#endif
