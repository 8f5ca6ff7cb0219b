/*
 * range_coder.h - an adaptive binary range coder.
 *
 * Each bit has a chance, which adapts to the bits before it: a likely bit takes little space.  Bits
 * that are almost certain are not coded but counted: a run of them is one varint in a second
 * output, so that such a bit costs one comparison.
 *
 * Reading and writing share all functions.  `reads` selects one of them and is a constant after
 * inlining.  The writer passes the value to write; both get the value as the result.
 */
#ifndef ALLO_REPLAY_RANGE_CODER_H
#define ALLO_REPLAY_RANGE_CODER_H

#include "base/assert.h"
#include "wire/varint.h"

#include <stddef.h>
#include <string.h>

/* The chance that a bit is set, in units of 1 / 65536. */
typedef uint16_t allo_chance;

enum {
	ALLO_CHANCE_EVEN = 1 << 15,
	ALLO_CHANCE_LEAST = 64,                   /* of either value */
	ALLO_CHANCE_SURE = 65536 - 9 * 64,        /* above it, bits are only counted */
	ALLO_CHANCE_SURPRISED = 65536 - 4096,     /* new chance after a sure bit was wrong */
	ALLO_CHANCE_RATE = 5,                     /* each bit moves it by 1/32 of the distance */
	ALLO_RANGE_EVEN_MAX = 1 << 24,            /* most values of allo_range_even() */
	ALLO_RANGE_END_MAX = 8 + ALLO_VARINT_MAX, /* bytes of the end */
};

#define ALLO_RANGE_INLINE static inline __attribute__((always_inline))

/* The output is a number between 0 and 1.  It lies within a range that each bit makes smaller.
 * Digits that can no longer change are written. */
struct allo_range_coder {
	uint64_t value; /* writer: start of the range; reader: distance of the number from it */
	uint64_t range;
	uint64_t run; /* sure bits since the last wrong one; reader: until the next one */

	uint8_t *out, *runs_out; /* the caller makes room */
	/* Beyond their ends, digits are 0 and sure bits are set. */
	const uint8_t *in, *in_end, *runs_in, *runs_end;
};

static inline uint32_t allo_range_digits(struct allo_range_coder *coder)
{
	uint32_t digits = 0;
	size_t left = (size_t)(coder->in_end - coder->in);

	memcpy(&digits, coder->in, left < 4 ? left : 4);
	coder->in += left < 4 ? left : 4;
	return __builtin_bswap32(digits);
}

static inline void allo_range_next_run(struct allo_range_coder *coder)
{
	if (!allo_varint_take(&coder->runs_in, coder->runs_end, &coder->run))
		coder->run = UINT64_MAX;
}

/* Call it when `in`, `runs_in` and their ends are set. */
static inline void allo_range_begin_reading(struct allo_range_coder *coder)
{
	coder->range = UINT64_MAX;
	coder->value = (uint64_t)allo_range_digits(coder) << 32;
	coder->value |= allo_range_digits(coder);
	allo_range_next_run(coder);
}

static inline void allo_range_begin_writing(struct allo_range_coder *coder)
{
	coder->value = coder->run = 0;
	coder->range = UINT64_MAX;
}

static inline void allo_range_put_digits(struct allo_range_coder *coder)
{
	uint32_t digits = __builtin_bswap32((uint32_t)(coder->value >> 32));

	memcpy(coder->out, &digits, sizeof(digits));
	coder->out += sizeof(digits);
	coder->value <<= 32;
}

static inline void allo_range_end_writing(struct allo_range_coder *coder)
{
	allo_range_put_digits(coder);
	allo_range_put_digits(coder);
	coder->runs_out = allo_varint_put(coder->runs_out, coder->run);
}

/* Writes or reads a digit when the range has become small, and enlarges the range. */
ALLO_RANGE_INLINE void allo_range_settle(struct allo_range_coder *coder, bool reads)
{
	if (__builtin_expect(coder->range >> 32 != 0, 1))
		return;
	if (reads)
		coder->value = coder->value << 32 | allo_range_digits(coder);
	else
		allo_range_put_digits(coder);
	coder->range <<= 32;
}

/* Cuts off the first part of the range. */
ALLO_RANGE_INLINE void allo_range_skip(struct allo_range_coder *coder, bool reads, uint64_t part)
{
	if (reads) {
		coder->value -= part;
	} else if (__builtin_expect(__builtin_add_overflow(coder->value, part, &coder->value), 0)) {
		uint8_t *at = coder->out;

		while (++*--at == 0)
			;
	}
}

ALLO_RANGE_INLINE bool allo_range_sure_bit(struct allo_range_coder *coder, bool reads,
					   allo_chance *chance, bool bit)
{
	if (reads)
		bit = coder->run > 0;
	if (__builtin_expect(bit, 1)) {
		coder->run += reads ? UINT64_MAX : 1;
		return true;
	}
	if (reads) {
		allo_range_next_run(coder);
	} else {
		coder->runs_out = allo_varint_put(coder->runs_out, coder->run);
		coder->run = 0;
	}
	*chance = ALLO_CHANCE_SURPRISED;
	return false;
}

ALLO_RANGE_INLINE bool allo_range_bit(struct allo_range_coder *coder, bool reads,
				      allo_chance *chance, bool bit)
{
	uint64_t part;

	if (*chance > ALLO_CHANCE_SURE)
		return allo_range_sure_bit(coder, reads, chance, bit);
	part = (coder->range >> 16) * *chance;
	if (reads)
		bit = coder->value < part;
	if (bit) {
		coder->range = part;
		*chance = (allo_chance)(*chance + ((65535 - ALLO_CHANCE_LEAST - *chance) >>
						   ALLO_CHANCE_RATE));
	} else {
		allo_range_skip(coder, reads, part);
		coder->range -= part;
		*chance = (allo_chance)(*chance -
					((*chance - ALLO_CHANCE_LEAST) >> ALLO_CHANCE_RATE));
	}
	allo_range_settle(coder, reads);
	return bit;
}

/* Codes a number below `count`, which is 1 to ALLO_RANGE_EVEN_MAX, with equal chances. */
ALLO_RANGE_INLINE uint32_t allo_range_even(struct allo_range_coder *coder, bool reads,
					   uint32_t count, uint32_t number)
{
	uint64_t part = coder->range / count;

	ALLO_ASSERT(count > 0 && count <= ALLO_RANGE_EVEN_MAX && (reads || number < count));
	if (reads) {
		uint64_t found = coder->value / part;

		number = found < count ? (uint32_t)found : count - 1;
	}
	allo_range_skip(coder, reads, part * number);
	coder->range = part;
	allo_range_settle(coder, reads);
	return number;
}

#endif
