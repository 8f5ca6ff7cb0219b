/*
 * varint.h - variable-length numbers: seven bits per byte, the lowest bits first.
 */
#ifndef ALLO_WIRE_VARINT_H
#define ALLO_WIRE_VARINT_H

#include <stdbool.h>
#include <stdint.h>

enum { ALLO_VARINT_MAX = 10 }; /* bytes */

static inline uint8_t *allo_varint_put(uint8_t *at, uint64_t value)
{
	while (__builtin_expect(value >= 0x80, 0)) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}

/* Reads a number from [*at, end); false if it is incomplete or has more than 64 bits. */
static inline bool allo_varint_take(const uint8_t **at, const uint8_t *end, uint64_t *value)
{
	uint64_t sum = 0;

	for (unsigned shift = 0; *at < end && shift < 64; shift += 7) {
		uint8_t byte = *(*at)++;

		if (shift == 63 && byte > 1)
			return false;
		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = sum;
			return true;
		}
	}
	return false;
}

/* Maps small differences of either sign to small numbers: 0, -1, 1, -2, ... */
static inline uint64_t allo_zigzag(uint64_t difference)
{
	return difference << 1 ^ (uint64_t)((int64_t)difference >> 63);
}

static inline uint64_t allo_unzigzag(uint64_t value)
{
	return value >> 1 ^ (0 - (value & 1));
}

#endif
