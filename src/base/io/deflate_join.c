/*
 * deflate_join.c - finds the last block of a deflate stream and clears its mark.
 *
 * Nothing in a stream points to its last block, so this walks over every symbol before it.  It does
 * not decode: only the number of bits of each symbol matters.  Names and sections are those of RFC
 * 1951.
 */
#include "base/io/deflate_join.h"

#include "base/assert.h"

#include <stdint.h>
#include <string.h>

enum {
	CODE_MAX = 15,   /* bits of the longest Huffman code */
	TABLE_BITS = 11, /* codes up to this length need one table lookup */
	LITERALS = 288,  /* literal and length symbols, with the two that never occur */
	DISTANCES = 32,
	LENGTH_SYMBOLS = 19, /* of the code for code lengths */
	END_OF_BLOCK = 256,
};

/* A step over a symbol: its number of bits, and flags for the data that follows it. */
enum { STEP_BITS = 0xff, THEN_DISTANCE = 0x100, THEN_END = 0x200, NO_SYMBOL = 0x400 };

/* A Huffman code.  Codes of one length are consecutive numbers, in the order of their symbols. */
struct code {
	uint16_t first[CODE_MAX + 1]; /* by length: the first number */
	uint16_t count[CODE_MAX + 1];
	uint16_t offset[CODE_MAX + 1]; /* by length: index of the first one in `symbols` */
	uint16_t symbols[LITERALS];
	const uint16_t *steps; /* by symbol, without the bits of its code; NULL: no table */
	uint16_t table[1 << TABLE_BITS]; /* step by the next bits; 0: the code is longer */
};

struct walk {
	const unsigned char *data;
	uint64_t bits; /* in the stream */
	uint64_t at;   /* bits walked */
};

/* At least the next 56 bits; zeros after the end. */
static inline uint64_t look(const struct walk *walk)
{
	uint64_t byte = walk->at / 8, bytes = walk->bits / 8, next = 0;

	if (byte + 8 <= bytes)
		memcpy(&next, walk->data + byte, 8);
	else if (byte < bytes)
		memcpy(&next, walk->data + byte, bytes - byte);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	next = __builtin_bswap64(next);
#endif
	return next >> walk->at % 8;
}

static uint32_t take(struct walk *walk, unsigned count)
{
	uint32_t value = (uint32_t)(look(walk) & ((1u << count) - 1));

	walk->at += count;
	return value;
}

static uint32_t reversed(uint32_t number, unsigned length)
{
	uint32_t result = 0;

	for (; length > 0; length--, number >>= 1)
		result = result << 1 | (number & 1);
	return result;
}

/* A Huffman code is stored with its first bit lowest. */
static void fill_table(struct code *code, unsigned length, uint32_t number, unsigned symbol)
{
	for (uint32_t i = reversed(number, length); i < 1 << TABLE_BITS; i += 1u << length)
		code->table[i] = (uint16_t)(code->steps[symbol] + length);
}

/* Section 3.2.2: codes from their lengths.  False when there are too many of a length. */
static bool make_code(struct code *code, const uint8_t *lengths, unsigned count,
		      const uint16_t *steps)
{
	uint16_t next[CODE_MAX + 1];
	unsigned first = 0, offset = 0;

	code->steps = steps;
	memset(code->count, 0, sizeof(code->count));
	memset(code->table, 0, sizeof(code->table));
	for (unsigned i = 0; i < count; i++)
		code->count[lengths[i]]++;
	for (unsigned length = 1; length <= CODE_MAX; length++) {
		code->first[length] = next[length] = (uint16_t)first;
		code->offset[length] = (uint16_t)offset;
		first = (first + code->count[length]) << 1;
		offset += code->count[length];
		if (first > 2u << length)
			return false;
	}
	for (unsigned i = 0; i < count; i++) {
		unsigned length = lengths[i];

		if (length == 0)
			continue;
		code->symbols[code->offset[length] + next[length] - code->first[length]] =
			(uint16_t)i;
		if (steps && length <= TABLE_BITS)
			fill_table(code, length, next[length], i);
		next[length]++;
	}
	return true;
}

/* The symbol and length of the code that `bits` start with, found bit by bit; -1 when there is no
 * such code. */
static int find_symbol(const struct code *code, uint64_t bits, unsigned *length)
{
	unsigned number = 0;

	for (*length = 1; *length <= CODE_MAX; ++*length, bits >>= 1) {
		unsigned above;

		number = number << 1 | (unsigned)(bits & 1);
		above = number - code->first[*length];
		if (above < code->count[*length])
			return code->symbols[code->offset[*length] + above];
	}
	return -1;
}

static int take_symbol(struct walk *walk, const struct code *code)
{
	unsigned length;
	int symbol = find_symbol(code, look(walk), &length);

	walk->at += symbol < 0 ? 0 : length;
	return symbol;
}

static unsigned long_step(const struct code *code, uint64_t bits)
{
	unsigned length;
	int symbol = find_symbol(code, bits, &length);

	return symbol < 0 ? NO_SYMBOL : code->steps[symbol] + length;
}

/* The step over the symbol that `bits` start with. */
static inline unsigned step_of(const struct code *code, uint64_t bits)
{
	unsigned step = code->table[bits & ((1 << TABLE_BITS) - 1)];

	return step ? step : long_step(code, bits);
}

/* Section 3.2.5: the extra bits of lengths and distances. */
static uint16_t literal_step(unsigned symbol)
{
	if (symbol < END_OF_BLOCK)
		return 0;
	if (symbol == END_OF_BLOCK)
		return THEN_END;
	if (symbol > 285)
		return NO_SYMBOL;
	if (symbol < 265 || symbol == 285)
		return THEN_DISTANCE;
	return (uint16_t)(THEN_DISTANCE | (symbol - 261) / 4);
}

static uint16_t distance_step(unsigned symbol)
{
	if (symbol > 29)
		return NO_SYMBOL;
	return (uint16_t)(symbol < 4 ? 0 : symbol / 2 - 1);
}

struct codes {
	struct code literals, distances, lengths;
	uint16_t literal_steps[LITERALS], distance_steps[DISTANCES];
};

static void codes_init(struct codes *codes)
{
	for (unsigned i = 0; i < LITERALS; i++)
		codes->literal_steps[i] = literal_step(i);
	for (unsigned i = 0; i < DISTANCES; i++)
		codes->distance_steps[i] = distance_step(i);
}

static bool make_codes(struct codes *codes, const uint8_t *lengths, unsigned literals,
		       unsigned distances)
{
	return make_code(&codes->literals, lengths, literals, codes->literal_steps) &&
	       make_code(&codes->distances, lengths + literals, distances, codes->distance_steps);
}

/* Section 3.2.6. */
static bool make_fixed_codes(struct codes *codes)
{
	uint8_t lengths[LITERALS + DISTANCES];

	for (unsigned i = 0; i < LITERALS; i++)
		lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
	memset(lengths + LITERALS, 5, DISTANCES);
	return make_codes(codes, lengths, LITERALS, DISTANCES);
}

/* Section 3.2.7: the code lengths of a dynamic block, which are compressed themselves. */
static bool read_dynamic_codes(struct walk *walk, struct codes *codes)
{
	static const uint8_t order[LENGTH_SYMBOLS] = { 16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
						       11, 4,  12, 3, 13, 2, 14, 1, 15 };
	uint8_t lengths[LITERALS + DISTANCES + 138] = { 0 }; /* a run may end 138 beyond */
	unsigned literals = take(walk, 5) + 257, distances = take(walk, 5) + 1;
	unsigned packed = take(walk, 4) + 4, have = 0;

	for (unsigned i = 0; i < packed; i++)
		lengths[order[i]] = (uint8_t)take(walk, 3);
	if (!make_code(&codes->lengths, lengths, LENGTH_SYMBOLS, NULL))
		return false;
	while (have < literals + distances) {
		int symbol = take_symbol(walk, &codes->lengths);
		unsigned run = 1;
		uint8_t length = (uint8_t)symbol;

		if (symbol < 0 || walk->at > walk->bits || (symbol == 16 && have == 0))
			return false;
		if (symbol >= 16) {
			length = symbol == 16 ? lengths[have - 1] : 0;
			run = symbol == 16   ? 3 + take(walk, 2)
			      : symbol == 17 ? 3 + take(walk, 3)
					     : 11 + take(walk, 7);
		}
		ALLO_ASSERT(have + run <= sizeof(lengths));
		memset(lengths + have, length, run);
		have += run;
	}
	return make_codes(codes, lengths, literals, distances);
}

static bool skip_stored_block(struct walk *walk)
{
	uint32_t len;

	walk->at = (walk->at + 7) / 8 * 8;
	len = take(walk, 16);
	walk->at += 16 + len * (uint64_t)8; /* the length's complement, and the bytes */
	return walk->at <= walk->bits;
}

static bool skip_symbols(struct walk *walk, const struct codes *codes)
{
	while (walk->at <= walk->bits) {
		uint64_t bits = look(walk);
		unsigned step = 0, gone = 0;

		/* A length and a distance have up to 48 bits, and `bits` has 56.  Most symbols are
		 * literals, and several of them fit. */
		while (gone + 48 <= 56 && !(step & ~STEP_BITS)) {
			step = step_of(&codes->literals, bits >> gone);
			gone += step & STEP_BITS;
		}
		if (step & THEN_DISTANCE) {
			step = step_of(&codes->distances, bits >> gone);
			gone += step & STEP_BITS;
		}
		walk->at += gone;
		if (step & NO_SYMBOL)
			return false;
		if (step & THEN_END)
			return walk->at <= walk->bits;
	}
	return false;
}

/* Walks over one block and its header. */
static bool skip_block(struct walk *walk, struct codes *codes, bool *is_last)
{
	*is_last = take(walk, 1);
	switch (take(walk, 2)) {
	case 0:
		return skip_stored_block(walk);
	case 1:
		return make_fixed_codes(codes) && skip_symbols(walk, codes);
	case 2:
		return read_dynamic_codes(walk, codes) && skip_symbols(walk, codes);
	default:
		return false;
	}
}

bool allo_deflate_open_end(unsigned char *piece, size_t *len)
{
	static const unsigned char empty_block[] = { 0x00, 0x00, 0xff, 0xff };
	struct walk walk = { .data = piece, .bits = (uint64_t)*len * 8 };
	struct codes codes;
	uint64_t last_start;
	bool is_last;

	codes_init(&codes);
	do {
		last_start = walk.at;
		if (!skip_block(&walk, &codes, &is_last))
			return false;
	} while (!is_last);
	if ((walk.at + 7) / 8 != *len)
		return false;

	piece[last_start / 8] &= (unsigned char)~(1u << last_start % 8);
	/* An empty stored block: three zero bits, zeros up to a byte boundary, its length and the
	 * complement.  The last byte is padded with zeros; three of them serve as the header. */
	if (walk.bits - walk.at < 3)
		piece[(*len)++] = 0;
	memcpy(piece + *len, empty_block, sizeof(empty_block));
	*len += sizeof(empty_block);
	return true;
}
