/*
 * utf8.h - what may be written where UTF-8 is required.
 *
 * Inputs hold any bytes.  They are kept as they are; a writer whose format demands valid UTF-8
 * replaces what is not by U+FFFD on its way out.
 */
#ifndef ALLO_BASE_UTF8_H
#define ALLO_BASE_UTF8_H

#include "base/text.h"

/* Bytes of the character at the front of a non-empty text, 0 when it is not valid UTF-8. */
size_t allo_utf8_character(struct allo_text text);

/* How many bytes at the front are valid UTF-8. */
size_t allo_utf8_valid_prefix(struct allo_text text);

static inline bool allo_utf8_is_valid(struct allo_text text)
{
	return allo_utf8_valid_prefix(text) == text.len;
}

/* Whether the character at the front of a non-empty text is a control character, which a terminal
 * would obey instead of showing it (U+0000 to U+001F, U+007F to U+009F). */
bool allo_utf8_is_control(struct allo_text text);

/* Columns that the text takes on a terminal, near enough: characters, combining marks not counted.
 */
size_t allo_utf8_columns(struct allo_text text);

/* The longest front part of at most `columns` columns that ends between characters. */
struct allo_text allo_utf8_first_columns(struct allo_text text, size_t columns);

/* Writes a code point; returns its length (1 to 4). */
size_t allo_utf8_encode(uint32_t code_point, char out[4]);

#define ALLO_UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

#endif
