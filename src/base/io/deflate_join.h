/*
 * deflate_join.h - joins separately compressed deflate streams into one.
 *
 * libdeflate compresses whole buffers only, so every piece ends with a block that is marked as the
 * last of its stream.  This clears the mark and appends an empty block that ends on a byte
 * boundary; then another piece can follow.
 */
#ifndef ALLO_BASE_DEFLATE_JOIN_H
#define ALLO_BASE_DEFLATE_JOIN_H

#include <stdbool.h>
#include <stddef.h>

enum { ALLO_DEFLATE_JOIN_ROOM = 5 }; /* bytes that allo_deflate_open_end() may add */

/* `piece` is a whole deflate stream of *len bytes with room for ALLO_DEFLATE_JOIN_ROOM more. False,
 * and nothing changed, when it is not such a stream. */
bool allo_deflate_open_end(unsigned char *piece, size_t *len);

#endif
