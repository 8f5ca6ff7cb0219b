/*
 * utf8.h - UTF-8: validation, terminal columns, encoding.
 *
 * Profiles keep names as the bytes of the input.  A writer whose format demands valid UTF-8
 * replaces invalid bytes by U+FFFD.
 */
#ifndef ALLO_BASE_UTF8_H
#define ALLO_BASE_UTF8_H

#include "base/text.h"

/* Length in bytes of the first character of a non-empty text, 0 when it is not valid UTF-8. */
size_t allo_utf8_character(struct allo_text text);

/* Length of the longest valid prefix. */
size_t allo_utf8_valid_prefix(struct allo_text text);

static inline bool allo_utf8_is_valid(struct allo_text text)
{
	return allo_utf8_valid_prefix(text) == text.len;
}

/* Whether the first character of a non-empty text is one that a terminal would execute: a control
 * character (U+0000 to U+001F, U+007F to U+009F), or one that changes the direction of the text
 * around it (U+061C, U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069), so that a name looks like
 * another. */
bool allo_utf8_is_control(struct allo_text text);

/* Width on a terminal: characters of East Asia and emoji take two columns, combining marks none. */
size_t allo_utf8_columns(struct allo_text text);

/* The longest prefix of whole characters that is at most `columns` columns wide. */
struct allo_text allo_utf8_first_columns(struct allo_text text, size_t columns);

/* Encodes a code point; returns its length (1 to 4). */
size_t allo_utf8_encode(uint32_t code_point, char out[4]);

#define ALLO_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

#endif
