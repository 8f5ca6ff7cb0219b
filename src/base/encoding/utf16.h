/*
 * utf16.h - decodes a stream of UTF-16 to UTF-8, as Windows programs write text.
 */
#ifndef ALLO_BASE_UTF16_H
#define ALLO_BASE_UTF16_H

#include "base/text.h"

/* A decoder.  All zeros with `is_big_endian` set as needed is ready for use. */
struct allo_utf16 {
	bool is_big_endian;

	/* Private from here on. */
	bool has_byte; /* half of a unit has been read: */
	unsigned char byte;
	uint16_t high;   /* the first unit of a surrogate pair; 0: none */
	char waiting[6]; /* decoded bytes that had no room */
	unsigned waiting_count;
};

/* Whether a text begins with the mark of UTF-16, U+FEFF in either byte order. */
bool allo_utf16_has_mark(struct allo_text head, bool *is_big_endian);

/* Decodes from the front of *text, which advances, into `out`; returns the number of bytes made.
 * The mark makes none.  Half a surrogate pair becomes U+FFFD. */
size_t allo_utf16_decode(struct allo_utf16 *decoder, struct allo_text *text, char *out,
			 size_t room);

#endif
