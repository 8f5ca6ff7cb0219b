/*
 * stream_labels.h - the current labels of each thread during a replay.
 */
#ifndef ALLO_REPLAY_STREAM_LABELS_H
#define ALLO_REPLAY_STREAM_LABELS_H

#include "replay/events/event_stream.h"

/* All zeros: no thread has labels. */
struct allo_stream_labels {
	ALLO_VEC(uint32_t) sets; /* by stream; streams beyond the end have none */
};

static inline void allo_stream_labels_done(struct allo_stream_labels *labels)
{
	allo_vec_done(&labels->sets);
}

/* Takes an event ALLO_EVENT_LABELS. */
static inline bool allo_stream_labels_take(struct allo_stream_labels *labels,
					   const struct allo_event *event, struct allo_error *err)
{
	if (!allo_vec_cover(&labels->sets, (size_t)event->stream + 1))
		return allo_fail_memory(err);
	labels->sets.at[event->stream] = (uint32_t)event->note;
	return true;
}

/* The number of a set; 0: none. */
static inline uint32_t allo_stream_labels_of(const struct allo_stream_labels *labels,
					     uint32_t stream)
{
	return stream < labels->sets.len ? labels->sets.at[stream] : 0;
}

#endif
