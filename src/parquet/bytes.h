/*
 * bytes.h - a growing buffer of encoded bytes.
 *
 * Failures latch: once memory ran out, nothing more is added, and .is_lost stays set.
 */
#ifndef ALLO_PARQUET_BYTES_H
#define ALLO_PARQUET_BYTES_H

#include "base/vec.h"

#include <string.h>

/* All zeros is empty. */
struct allo_bytes {
	unsigned char *at;
	size_t len, cap;
	bool is_lost;
};

/* Room for `count` more bytes at the end, NULL when out of memory.  Add what was written there to
 * .len. */
static inline unsigned char *allo_bytes_room(struct allo_bytes *bytes, size_t count)
{
	if (bytes->is_lost || !allo_vec_reserve(bytes, count)) {
		bytes->is_lost = true;
		return NULL;
	}
	return bytes->at + bytes->len;
}

static inline void allo_bytes_put(struct allo_bytes *bytes, const void *data, size_t len)
{
	unsigned char *to = allo_bytes_room(bytes, len);

	if (!to || len == 0)
		return;
	memcpy(to, data, len);
	bytes->len += len;
}

static inline void allo_bytes_put_byte(struct allo_bytes *bytes, unsigned char byte)
{
	allo_bytes_put(bytes, &byte, 1);
}

/* Seven bits per byte, the lowest first (ULEB128). */
static inline void allo_bytes_put_varint(struct allo_bytes *bytes, uint64_t number)
{
	unsigned char *to = allo_bytes_room(bytes, 10);

	if (!to)
		return;
	for (; number >= 0x80; number >>= 7)
		*to++ = (unsigned char)(number | 0x80);
	*to++ = (unsigned char)number;
	bytes->len = (size_t)(to - bytes->at);
}

/* A signed number: small ones of either sign are short. */
static inline void allo_bytes_put_zigzag(struct allo_bytes *bytes, int64_t number)
{
	allo_bytes_put_varint(bytes, (uint64_t)number << 1 ^ (uint64_t)(number >> 63));
}

static inline void allo_bytes_done(struct allo_bytes *bytes)
{
	allo_vec_done(bytes);
	bytes->is_lost = false;
}

#endif
