/*
 * packed_file.h - reading a packed recording: its chunks as pieces.
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

void allo_packed_close(struct allo_recording *recording);

#endif
