/*
 * offset.h - an offset into an input, in bytes and in lines.
 *
 * Counting lines is left out of the fast path: an offset advances over whole chunks, and over the
 * rest of one only when a message needs the line number.
 */
#ifndef ALLO_BASE_OFFSET_H
#define ALLO_BASE_OFFSET_H

#include "base/error.h"
#include "base/text.h"

/* All zeros is the start. */
struct allo_offset {
	uint64_t offset;     /* bytes before it */
	uint64_t lines;      /* newlines before it */
	uint64_t line_start; /* offset of the first byte of its line */
};

/* Advances over `text`. */
void allo_offset_advance(struct allo_offset *at, struct allo_text text);

/* Advances by a distance: an offset that started at all zeros. */
void allo_offset_add(struct allo_offset *at, struct allo_offset distance);

/* Line, and byte in the line, both counted from 1. */
struct allo_pos allo_offset_pos(struct allo_offset at, const char *file);

#endif
