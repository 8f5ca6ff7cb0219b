/*
 * event_cursor.h - decodes the stream of one thread of a raw recording, in batches.
 */
#ifndef ALLO_REPLAY_EVENT_CURSOR_H
#define ALLO_REPLAY_EVENT_CURSOR_H

#include "replay/events/event_stream.h"

struct allo_event_state;
struct allo_decoder_state;
struct allo_stream_start;

struct allo_event_cursor {
	struct allo_recording *recording; /* decoding counts damage in its `gaps` */
	struct allo_tick_scale scale;
	const struct allo_piece *pieces; /* not yet read */
	size_t piece_count;
	size_t stream;   /* stream number of its events */
	uint32_t number; /* of the stream in the file */
	uint64_t next;   /* ns of the next event, or of the start of the stream */
	bool is_open, is_over;

	struct allo_piece_bytes piece;
	const uint8_t *start, *at, *end; /* of the current page */
	uint64_t sequence;               /* of the next page; UINT64_MAX if none can follow */
	struct allo_event_state *state;
	uint64_t ns;          /* of state->ticks */
	uint64_t resized;     /* old block of a realloc that has started */
	uint64_t resizing_ns; /* start of that realloc */
	uint8_t low;          /* low bits of the next pointer */
	uint32_t labels;      /* current label set */
	uint32_t sent_labels; /* of the last ALLO_EVENT_LABELS */
	bool is_timed, is_resizing;
	bool is_lost; /* a page is missing: decoding continues at the next fresh page */

	struct allo_event *batch; /* ALLO_EVENTS_AT_ONCE of them */
	size_t first, count;      /* those not yet returned */
	bool borrows_batch;       /* the batch belongs to the recording, and is larger */

	/* Of a bounded recording (ring/earlier.h). */
	const struct allo_stream_start *begin; /* of its exact events; NULL: the start */
	uint64_t covered;                      /* events left out before that, of this page */
	uint64_t page_events;                  /* of this page, before the batch */
	struct allo_decoder_state *page_state; /* if not NULL: kept up to date */
};

/* Decodes the next batch, or sets is_over at the end.  The first call allocates the buffers. */
bool allo_event_cursor_fill(struct allo_event_cursor *cursor, struct allo_error *err);

/* Continues a stream that has grown. */
bool allo_event_cursor_resume(struct allo_event_cursor *cursor, const struct allo_stream *stream,
			      struct allo_error *err);

/* Sets the place of its next event, with the state at the start of that page: cursor->page_state
 * is not NULL. */
void allo_event_cursor_place(const struct allo_event_cursor *cursor,
			     struct allo_stream_start *start);

void allo_event_cursor_free(struct allo_event_cursor *cursor);

#endif
