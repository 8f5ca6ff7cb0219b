/*
 * recording_internal.h - the parts of opening a recording: raw slots, the head, the tables.
 *
 * recording.c and packed/packed_file.c use it.
 */
#ifndef ALLO_REPLAY_RECORDING_INTERNAL_H
#define ALLO_REPLAY_RECORDING_INTERNAL_H

#include "replay/recording/recording.h"

/* Takes the bytes of slot 0, which may be cut. */
bool allo_recording_take_head(struct allo_recording *recording, struct allo_text bytes,
			      struct allo_error *err);

/* Reads the streams of stacks and of facts: nodes, modules, texts, label sets. */
bool allo_recording_read_tables(struct allo_recording *recording, struct allo_error *err);

/* Call it before reading them again. */
void allo_recording_drop_tables(struct allo_recording *recording);

/*
 * Slots of a raw recording, which a running process may still write.
 *
 * The process seals its tails all the time.  The pieces that are found are a consistent snapshot:
 * the headers of the tails are read first and then all slots that have come since, so that each
 * page is in one or the other.  A tail that is sealed before it is loaded is loaded from its new
 * slot.
 */

/* Finds all pieces.  The head has been read. */
bool allo_slots_find(struct allo_recording *recording, struct allo_error *err);

/* Finds new pieces.  Pieces that were tails are found again, all others stay. */
bool allo_slots_refresh(struct allo_recording *recording, struct allo_error *err);

/* See allo_recording_load(). */
bool allo_slot_load(struct allo_recording *recording, const struct allo_piece *piece,
		    struct allo_piece_bytes *bytes, struct allo_error *err);

void allo_slots_done(struct allo_recording *recording);

#endif
