/*
 * place.h - how far into an input something is, in bytes and in lines.
 *
 * Nothing counts lines while all goes well: a place is advanced over whole blocks, and over the
 * rest only when a message is due.
 */
#ifndef ALLO_BASE_PLACE_H
#define ALLO_BASE_PLACE_H

#include "base/error.h"
#include "base/text.h"

/* All zeros is the start. */
struct allo_place {
	uint64_t offset;     /* bytes before it */
	uint64_t lines;      /* newlines before it */
	uint64_t line_start; /* offset of the first byte of its line */
};

/* Moves over `text`. */
void allo_place_advance(struct allo_place *place, struct allo_text text);

/* Moves on by a way that began at an all-zero place. */
void allo_place_add(struct allo_place *place, struct allo_place way);

/* Line and byte of the line, counted from 1. */
struct allo_pos allo_place_pos(struct allo_place place, const char *file);

#endif
