/*
 * slots.h - the slots of a raw recording, which may still be written to.
 *
 * A process that runs seals its tails all the time.  What is found is as it was at one moment: the
 * tails' headers are read first, and then all slots that have come since, so that each block is in
 * one or the other.  A tail that is sealed before somebody gets to read it is read where it went.
 */
#ifndef ALLO_REPLAY_SLOTS_H
#define ALLO_REPLAY_SLOTS_H

#include "replay/recording.h"

/* Finds all pieces.  The head has been read. */
bool allo_slots_find(struct allo_recording *recording, struct allo_error *err);

/* Finds what has come since; pieces that were tails are made anew, all others stay. */
bool allo_slots_refresh(struct allo_recording *recording, struct allo_error *err);

/* See allo_recording_load(). */
bool allo_slot_load(struct allo_recording *recording, const struct allo_piece *piece,
		    struct allo_piece_bytes *bytes, struct allo_error *err);

void allo_slots_done(struct allo_recording *recording);

#endif
