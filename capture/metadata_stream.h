/*
 * metadata_stream.h - the stream of facts about the process.
 *
 * Whoever writes one has the lock of the stacks.
 */
#ifndef ALLO_CAPTURE_METADATA_STREAM_H
#define ALLO_CAPTURE_METADATA_STREAM_H

#include "wire/layout.h"
#include "wire/stacks.h"

/* Bytes that the rest of a fact may have: its length is a varint of two bytes. */
enum { ALLO_METADATA_MAX = 8 << 10 };

/* Where the rest of a fact goes; NULL when there is no room. */
uint8_t *allo_metadata_begin(struct allo_wire_slot *tail);

/* It goes up to `end`. */
void allo_metadata_end(struct allo_wire_slot *tail, enum allo_fact fact, const uint8_t *end);

#endif
