/*
 * encodings.h - Parquet's encodings of the values of a page.
 *
 * They are described at https://parquet.apache.org/docs/file-format/data-pages/encodings/.
 */
#ifndef ALLO_PARQUET_ENCODINGS_H
#define ALLO_PARQUET_ENCODINGS_H

#include "parquet/bytes.h"

/* Their numbers in the format. */
enum allo_encoding {
	ALLO_ENCODED_PLAIN = 0,
	ALLO_ENCODED_RUNS = 3, /* RLE: only for definition levels */
	ALLO_ENCODED_DELTA = 5,
	ALLO_ENCODED_DICTIONARY = 8, /* RLE_DICTIONARY: indexes as runs */
};

/* Number of bits of the largest index. */
static inline unsigned allo_bits_of(uint64_t number)
{
	return number ? 64 - (unsigned)__builtin_clzll(number) : 0;
}

/* Runs of equal numbers, and packed bits in between ("RLE / bit-packing hybrid").  The numbers have
 * at most `width` bits. */
void allo_encode_runs(struct allo_bytes *bytes, const uint32_t *numbers, size_t count,
		      unsigned width);

/* A run of one number. */
void allo_encode_run(struct allo_bytes *bytes, uint32_t number, size_t count, unsigned width);

/* The definition levels of a page: whether each value is there, or null.  NULL: all are as the
 * first one. */
void allo_encode_presence(struct allo_bytes *bytes, const uint8_t *is_there, bool first,
			  size_t count);

/* Differences of neighbours, in blocks ("DELTA_BINARY_PACKED").  There must be a number. */
void allo_encode_deltas(struct allo_bytes *bytes, const int64_t *numbers, size_t count);

#endif
