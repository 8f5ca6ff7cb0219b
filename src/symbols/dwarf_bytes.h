/*
 * dwarf_bytes.h - reads numbers and strings of DWARF from the front of a text.
 *
 * Numbers have our byte order.  Each function returns false at the end of the text.
 */
#ifndef ALLO_SYMBOLS_DWARF_BYTES_H
#define ALLO_SYMBOLS_DWARF_BYTES_H

#include "base/text.h"

#include <string.h>

static inline bool allo_dwarf_take(struct allo_text *bytes, void *to, size_t size)
{
	if (bytes->len < size)
		return false;
	memcpy(to, bytes->data, size);
	*bytes = allo_text_from(*bytes, size);
	return true;
}

/* An unsigned number of 1, 2, 4 or 8 bytes. */
static inline bool allo_dwarf_take_number(struct allo_text *bytes, size_t size, uint64_t *number)
{
	uint8_t one = 0;
	uint16_t two = 0;
	uint32_t four = 0;
	bool ok = size == 1   ? allo_dwarf_take(bytes, &one, 1)
		  : size == 2 ? allo_dwarf_take(bytes, &two, 2)
		  : size == 4 ? allo_dwarf_take(bytes, &four, 4)
			      : allo_dwarf_take(bytes, number, 8);

	if (size < 8)
		*number = (uint64_t)one + two + four;
	return ok;
}

/* A number in SLEB128; allo_take_varint() reads ULEB128. */
static inline bool allo_dwarf_take_signed(struct allo_text *bytes, int64_t *number)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		if (!allo_dwarf_take(bytes, &byte, 1) || shift > 63)
			return false;
		value |= (uint64_t)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if (shift < 64 && byte & 0x40)
		value |= UINT64_MAX << shift;
	*number = (int64_t)value;
	return true;
}

/* A string up to its NUL; it stays in the text. */
static inline bool allo_dwarf_take_string(struct allo_text *bytes, const char **string)
{
	const char *end = bytes->len > 0 ? memchr(bytes->data, '\0', bytes->len) : NULL;

	if (!end)
		return false;
	*string = bytes->data;
	*bytes = allo_text_from(*bytes, (size_t)(end - bytes->data) + 1);
	return true;
}

#endif
