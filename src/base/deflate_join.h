/*
 * deflate_join.h - makes separately deflated pieces one stream.
 *
 * libdeflate packs whole buffers only: every piece ends with a block marked as the last of its
 * stream.  With that mark taken off and an empty block put behind it, which ends on a byte, another
 * piece can follow.
 */
#ifndef ALLO_BASE_DEFLATE_JOIN_H
#define ALLO_BASE_DEFLATE_JOIN_H

#include <stdbool.h>
#include <stddef.h>

enum { ALLO_DEFLATE_JOIN_ROOM = 5 }; /* bytes that opening the end may add */

/* `piece` is a whole deflate stream of *len bytes with room for ALLO_DEFLATE_JOIN_ROOM more.  False
 * when it is no such stream; then it has not been changed. */
bool allo_deflate_open_end(unsigned char *piece, size_t *len);

#endif
