/*
 * event_cursor.h - the events of one thread's stream in a raw recording, decoded in batches.
 */
#ifndef ALLO_REPLAY_EVENT_CURSOR_H
#define ALLO_REPLAY_EVENT_CURSOR_H

#include "replay/event_stream.h"

struct allo_event_state;

/* Where reading a thread's stream has come to. */
struct allo_event_cursor {
	struct allo_recording *recording; /* its `gaps` tells what was found out on the way */
	struct allo_tick_scale scale;
	const struct allo_piece *pieces; /* still to come */
	size_t piece_count;
	size_t stream;   /* index */
	uint32_t number; /* the stream's own */
	uint64_t next;   /* ns of the next event, or of where the stream begins */
	bool is_open, is_over;

	struct allo_piece_bytes piece;
	const uint8_t *start, *at, *end; /* of the block at hand */
	uint64_t sequence;               /* of the next block; UINT64_MAX: none can follow */
	struct allo_event_state *state;
	uint64_t ns;          /* of state->ticks */
	uint64_t resized;     /* the block that a realloc has begun with, */
	uint64_t resizing_ns; /* and when */
	uint8_t low;          /* bits of the next pointer */
	uint32_t labels;      /* of what comes next, */
	uint32_t told_labels; /* and as the last event that told them says */
	bool is_timed, is_resizing;
	bool is_lost; /* what came before is not known: only a fresh block makes sense again */

	struct allo_event *batch; /* ALLO_EVENTS_AT_ONCE of them */
	size_t first, count;      /* those not yet handed out */
};

/* Decodes the next batch, or finds that the stream is over.  Memory is taken with the first one. */
bool allo_event_cursor_fill(struct allo_event_cursor *cursor, struct allo_error *err);

/* Of a stream that goes on: finds what is still to come. */
bool allo_event_cursor_resume(struct allo_event_cursor *cursor, const struct allo_stream *stream,
			      struct allo_error *err);

/* Gives back all that it has, and the memory that it lies in. */
void allo_event_cursor_free(struct allo_event_cursor *cursor);

#endif
