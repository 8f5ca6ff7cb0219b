/*
 * packed_trailer.h - the trailer of a packed recording: its summary and the index of its chunks.
 *
 *     varint   count of the numbers that follow
 *     varints  the summary and the gaps in the order of packed_trailer.c; readers skip numbers that
 *              they do not know
 *     entries  the offset of a chunk, 8 bytes, and its struct allo_chunk
 */
#ifndef ALLO_REPLAY_PACKED_TRAILER_H
#define ALLO_REPLAY_PACKED_TRAILER_H

#include "base/text.h"
#include "base/vec.h"
#include "replay/recording/recording.h"
#include "replay/summary.h"
#include "wire/packed.h"

typedef ALLO_VEC(char) allo_trailer;

/* False when memory is short. */
bool allo_trailer_add_summary(allo_trailer *trailer, const struct allo_summary *summary,
			      const struct allo_gaps *gaps);
bool allo_trailer_add_chunk(allo_trailer *trailer, uint64_t offset, const struct allo_chunk *chunk);

/* Take a part off the front of *trailer; false if it is damaged or at its end. */
bool allo_trailer_take_summary(struct allo_text *trailer, struct allo_summary *summary,
			       struct allo_gaps *gaps);
bool allo_trailer_take_chunk(struct allo_text *trailer, uint64_t *offset, struct allo_chunk *chunk);

#endif
