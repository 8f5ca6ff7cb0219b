/*
 * packed_file.h - reading a packed recording: its chunks.
 */
#ifndef ALLO_REPLAY_PACKED_FILE_H
#define ALLO_REPLAY_PACKED_FILE_H

#include "replay/recording.h"

bool allo_is_packed(struct allo_text head);

/* Finds head and chunks: by the trailer, or one by one where there is none. */
bool allo_packed_open(struct allo_recording *recording, struct allo_error *err);

/* See allo_recording_load(); there is room for what the piece unpacks to. */
bool allo_packed_load(struct allo_recording *recording, const struct allo_piece *piece,
		      struct allo_piece_bytes *bytes, struct allo_error *err);

struct allo_column_reader;

/* Loads a chunk of events; false where it is damaged, and at failure. */
bool allo_packed_load_events(struct allo_recording *recording, const struct allo_event_chunk *chunk,
			     struct allo_piece_bytes *bytes, struct allo_column_reader *reader,
			     struct allo_error *err);

/* Loads a chunk of names, into bytes->bytes; false where it is damaged, and at failure. */
bool allo_packed_load_names(struct allo_recording *recording, const struct allo_name_chunk *chunk,
			    struct allo_piece_bytes *bytes, struct allo_error *err);

struct allo_chunk;

/* A chunk's head; whether it is there and sound. */
bool allo_packed_read_chunk(const struct allo_recording *recording, uint64_t offset,
			    struct allo_chunk *chunk, struct allo_error *err);

void allo_packed_close(struct allo_recording *recording);

#endif
