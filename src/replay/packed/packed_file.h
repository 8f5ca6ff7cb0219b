/*
 * packed_file.h - reads the chunks of a packed recording.
 */
#ifndef ALLO_REPLAY_PACKED_FILE_H
#define ALLO_REPLAY_PACKED_FILE_H

#include "replay/events/event_stream.h"

bool allo_is_packed(struct allo_text head);

/* Reads the head and finds all chunks: by the trailer or, without one, by a scan. */
bool allo_packed_open(struct allo_recording *recording, struct allo_error *err);

/* See allo_recording_load().  `bytes` has room for piece->raw_len. */
bool allo_packed_load(struct allo_recording *recording, const struct allo_piece *piece,
		      struct allo_piece_bytes *bytes, struct allo_error *err);

/* Loads a chunk of a kind into bytes->bytes; false if it is damaged, and on failure. */
bool allo_packed_load_plain(struct allo_recording *recording, const struct allo_plain_chunk *chunk,
			    uint32_t kind, struct allo_piece_bytes *bytes, struct allo_error *err);

/* The most bytes that tables of a file may have once they are unpacked. */
uint64_t allo_packed_tables_most(const struct allo_recording *recording);

struct allo_chunk;

/* Reads the header of a chunk.  True if it is valid. */
bool allo_packed_read_chunk(const struct allo_recording *recording, uint64_t offset,
			    struct allo_chunk *chunk, struct allo_error *err);

void allo_packed_close(struct allo_recording *recording);

/* Reads the sums that precede the events (replay/ring/earlier.h). */
bool allo_packed_load_sums(struct allo_recording *recording, struct allo_error *err);

/* The events of a packed recording, which are stored in time order.  NULL when memory is short. */
struct allo_packed_events *allo_packed_events_new(const struct allo_recording *recording,
						  struct allo_error *err);
void allo_packed_events_free(struct allo_packed_events *events);

/* See allo_events_next().  `room` holds ALLO_EVENTS_AT_ONCE events. */
bool allo_packed_events_next(struct allo_packed_events *events, struct allo_recording *recording,
			     struct allo_event *room, struct allo_event_span *span, size_t *silent,
			     struct allo_error *err);

#endif
