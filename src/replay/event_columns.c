/* event_columns.c - see event_columns.h. */
#include "replay/event_columns.h"

#include "base/defer.h"
#include "wire/events.h"
#include "wire/layout.h"

#include <stdlib.h>
#include <zstd.h>

enum {
	/* The byte of an event in the column of kinds: of an alloc the three lowest bits of its
	 * first byte, of a free 0; */
	KIND_ALLOC = 1,
	KIND_STACK = 2, /* as predicted */
	KIND_SIZE = 4,
	KIND_WIDE = 8,      /* the code of its pointer has more than 32 bits */
	KIND_ESCAPE = 0x80, /* and one of enum allo_escape, or of these: */
	KIND_LONE_TIME = 1,
	KIND_RESIZE = 3, /* may be wide, too */

	/* Bits of a pointer's code in the first byte. */
	ALLOC_BITS = 4,
	FREE_BITS = 6,

	PLANES = 4,
	/* An event of one byte takes one of kinds and four of pointers; no escape takes more. */
	COLUMNS_PER_BYTE = 1 + PLANES,
};

/* Taking apart. */

void allo_columns_done(struct allo_columns *columns)
{
	for (int c = 0; c < ALLO_COLUMNS; c++)
		allo_vec_done(&columns->column[c]);
}

/* Where the columns have come to while they are filled. */
struct ends {
	uint8_t *at[ALLO_COLUMNS];
};

/* Copies a number; false where it does not end in the block. */
static inline bool copy_number(const uint8_t **from, const uint8_t *end, uint8_t **to)
{
	for (int i = 0; i < ALLO_VARINT_MAX && *from < end; i++) {
		uint8_t byte = *(*from)++;

		*(*to)++ = byte;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* Takes a number that is written in as few bytes as it can be. */
static inline bool take_shortest(const uint8_t **at, const uint8_t *end, uint64_t *number)
{
	const uint8_t *start = *at;

	return allo_varint_take(at, end, number) && (*at - start == 1 || (*at)[-1] != 0);
}

/* Whether the code is wide, as a bit for the kind. */
static inline uint8_t put_code(struct ends *ends, uint64_t code)
{
	for (int i = 0; i < PLANES; i++)
		*ends->at[ALLO_COLUMN_POINTERS_0 + i]++ = (uint8_t)(code >> 8 * i);
	if (code >> 32 == 0)
		return 0;
	ends->at[ALLO_COLUMN_WIDE] = allo_varint_put(ends->at[ALLO_COLUMN_WIDE], code >> 32);
	return KIND_WIDE;
}

/* The code of a pointer whose first byte has `bits` of it, the lowest being `low`; false where it
 * does not end, or not as our runtime writes it. */
static inline bool take_code(const uint8_t **at, const uint8_t *end, unsigned bits, uint64_t low,
			     bool has_more, uint64_t *code)
{
	uint64_t more = 0;

	if (has_more && (!take_shortest(at, end, &more) || more == 0 || more >> (64 - bits) != 0))
		return false;
	*code = more << bits | low;
	return true;
}

/* A time by itself, or the code of a block that realloc begins with. */
static bool split_number(uint64_t number, const uint8_t **at, const uint8_t *end, struct ends *ends,
			 bool is_timed)
{
	uint8_t wide;

	if ((number & 1) == 0) {
		*ends->at[ALLO_COLUMN_KINDS]++ = KIND_ESCAPE | KIND_LONE_TIME;
		ends->at[ALLO_COLUMN_TIMES] = allo_varint_put(ends->at[ALLO_COLUMN_TIMES],
							      number >> 1);
		return true;
	}
	wide = put_code(ends, number >> 1);
	*ends->at[ALLO_COLUMN_KINDS]++ = KIND_ESCAPE | KIND_RESIZE | wide;
	return !is_timed || copy_number(at, end, &ends->at[ALLO_COLUMN_TIMES]);
}

static bool split_escape(const uint8_t **at, const uint8_t *end, struct ends *ends, bool *is_timed)
{
	uint64_t what;

	if (!take_shortest(at, end, &what))
		return false;
	if (what >= ALLO_ESCAPES)
		return split_number(what - ALLO_ESCAPES, at, end, ends, *is_timed);
	*ends->at[ALLO_COLUMN_KINDS]++ = (uint8_t)(KIND_ESCAPE | what);
	switch (what) {
	case ALLO_ESCAPE_TIMED:
	case ALLO_ESCAPE_UNTIMED:
		*is_timed = what == ALLO_ESCAPE_TIMED;
		return true;
	case ALLO_ESCAPE_LOW:
		if (*at == end)
			return false;
		*ends->at[ALLO_COLUMN_KINDS]++ = *(*at)++;
		return true;
	case ALLO_ESCAPE_FAILED:
	case ALLO_ESCAPE_GONE:
		return !*is_timed || copy_number(at, end, &ends->at[ALLO_COLUMN_TIMES]);
	default:
		return false;
	}
}

static inline bool split_event(uint8_t head, const uint8_t **at, const uint8_t *end,
			       struct ends *ends)
{
	bool is_alloc = head & 1, has_more = head >> 7;
	uint8_t kind = is_alloc ? head & (KIND_ALLOC | KIND_STACK | KIND_SIZE) : 0;
	uint64_t code;

	if (is_alloc ? !take_code(at, end, ALLOC_BITS, head >> 3 & 15, has_more, &code)
		     : !take_code(at, end, FREE_BITS, head >> 1 & 63, has_more, &code))
		return false;
	*ends->at[ALLO_COLUMN_KINDS]++ = kind | put_code(ends, code);
	return (!is_alloc || kind & KIND_STACK ||
		copy_number(at, end, &ends->at[ALLO_COLUMN_STACKS])) &&
	       (!is_alloc || kind & KIND_SIZE ||
		copy_number(at, end, &ends->at[ALLO_COLUMN_SIZES]));
}

static bool split_block(const uint8_t *at, const uint8_t *end, struct ends *ends, bool *is_timed)
{
	while (at < end) {
		uint8_t head = *at++;

		if (head == 0) {
			if (!split_escape(&at, end, ends, is_timed))
				return false;
		} else if (!split_event(head, &at, end, ends) ||
			   (*is_timed && !copy_number(&at, end, &ends->at[ALLO_COLUMN_TIMES]))) {
			return false;
		}
	}
	return true;
}

static bool split_blocks(struct allo_text blocks, struct ends *ends, bool *is_timed)
{
	while (blocks.len > 0) {
		struct allo_wire_slot slot;
		const uint8_t *at;

		if (blocks.len < sizeof(slot))
			return false;
		memcpy(&slot, blocks.data, sizeof(slot));
		memcpy(ends->at[ALLO_COLUMN_BLOCKS], &slot, sizeof(slot));
		ends->at[ALLO_COLUMN_BLOCKS] += sizeof(slot);
		blocks = allo_text_from(blocks, sizeof(slot));
		if (slot.used > blocks.len)
			return false;
		if (slot.is_fresh || slot.sequence == 0)
			*is_timed = false;
		at = (const uint8_t *)blocks.data;
		if (!split_block(at, at + slot.used, ends, is_timed))
			return false;
		blocks = allo_text_from(blocks, slot.used);
	}
	return true;
}

bool allo_columns_split(struct allo_columns *columns, struct allo_text blocks, bool *is_timed,
			bool *is_odd, struct allo_error *err)
{
	struct ends ends;

	*is_odd = false;
	columns->was_timed = *is_timed;
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		columns->column[c].len = 0;
		/* No column is longer than what it is made of, but a torn number may be. */
		if (!allo_vec_reserve(&columns->column[c], blocks.len + ALLO_EVENT_MAX))
			return allo_fail_memory(err);
		ends.at[c] = columns->column[c].at;
	}
	*is_odd = !split_blocks(blocks, &ends, is_timed);
	for (int c = 0; c < ALLO_COLUMNS; c++)
		columns->column[c].len = (size_t)(ends.at[c] - columns->column[c].at);
	return !*is_odd;
}

/* Packed: a byte, the columns' lengths, and a zstd frame for each that is not empty. */
enum { LENGTHS_MAX = 1 + 2 * ALLO_COLUMNS * ALLO_VARINT_MAX };

size_t allo_columns_bound(const struct allo_columns *columns)
{
	size_t bound = LENGTHS_MAX;

	for (int c = 0; c < ALLO_COLUMNS; c++)
		bound += ZSTD_compressBound(columns->column[c].len);
	return bound;
}

size_t allo_columns_pack(const struct allo_columns *columns, ZSTD_CCtx *zstd, int level,
			 void *packed, size_t room)
{
	uint8_t lengths[LENGTHS_MAX], *end = lengths, *out = packed;
	size_t used = 0, len;

	*end++ = columns->was_timed;
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		size_t made = 0;

		if (columns->column[c].len > 0)
			made = ZSTD_compressCCtx(zstd, out + LENGTHS_MAX + used,
						 room - LENGTHS_MAX - used, columns->column[c].at,
						 columns->column[c].len, level);
		if (ZSTD_isError(made))
			return 0;
		end = allo_varint_put(allo_varint_put(end, columns->column[c].len), made);
		used += made;
	}
	len = (size_t)(end - lengths);
	memcpy(out, lengths, len);
	memmove(out + len, out + LENGTHS_MAX, used);
	return len + used;
}

/* Putting together. */

/* What is left of the columns. */
struct columns {
	const uint8_t *at[ALLO_COLUMNS], *end[ALLO_COLUMNS];
};

static inline bool take_byte(struct columns *columns, enum allo_event_column c, uint8_t *byte)
{
	if (columns->at[c] == columns->end[c])
		return false;
	*byte = *columns->at[c]++;
	return true;
}

/* Moves a number; there is room for ALLO_EVENT_MAX bytes. */
static inline bool move_number(struct columns *columns, enum allo_event_column c, uint8_t **to)
{
	for (int i = 0; i < ALLO_VARINT_MAX && take_byte(columns, c, *to); i++) {
		if (*(*to)++ < 0x80)
			return true;
	}
	return false;
}

static inline bool take_pointer(struct columns *columns, uint8_t kind, uint64_t *code)
{
	uint64_t wide;

	*code = 0;
	for (int i = 0; i < PLANES; i++) {
		uint8_t byte;

		if (!take_byte(columns, ALLO_COLUMN_POINTERS_0 + i, &byte))
			return false;
		*code |= (uint64_t)byte << 8 * i;
	}
	if (!(kind & KIND_WIDE))
		return true;
	if (!allo_varint_take(&columns->at[ALLO_COLUMN_WIDE], columns->end[ALLO_COLUMN_WIDE],
			      &wide))
		return false;
	*code |= wide << 32;
	return true;
}

static bool join_escape(struct columns *columns, uint8_t kind, uint8_t **to, bool *is_timed)
{
	uint8_t what = kind & 7;
	uint64_t number;

	*(*to)++ = 0;
	switch (what) {
	case KIND_LONE_TIME:
		if (!allo_varint_take(&columns->at[ALLO_COLUMN_TIMES],
				      columns->end[ALLO_COLUMN_TIMES], &number))
			return false;
		*to = allo_varint_put(*to, ALLO_ESCAPES + (number << 1));
		return true;
	case KIND_RESIZE:
		if (!take_pointer(columns, kind, &number))
			return false;
		*to = allo_varint_put(*to, ALLO_ESCAPES + (number << 1 | 1));
		return !*is_timed || move_number(columns, ALLO_COLUMN_TIMES, to);
	case ALLO_ESCAPE_TIMED:
	case ALLO_ESCAPE_UNTIMED:
		*is_timed = what == ALLO_ESCAPE_TIMED;
		*(*to)++ = what;
		return true;
	case ALLO_ESCAPE_LOW:
		*(*to)++ = what;
		return take_byte(columns, ALLO_COLUMN_KINDS, (*to)++);
	case ALLO_ESCAPE_FAILED:
	case ALLO_ESCAPE_GONE:
		*(*to)++ = what;
		return !*is_timed || move_number(columns, ALLO_COLUMN_TIMES, to);
	default:
		return false;
	}
}

static inline bool join_event(struct columns *columns, uint8_t kind, uint8_t **to)
{
	bool is_alloc = kind & KIND_ALLOC;
	unsigned bits = is_alloc ? ALLOC_BITS : FREE_BITS;
	uint64_t code, more;

	if (!take_pointer(columns, kind, &code))
		return false;
	more = code >> bits;
	if (is_alloc)
		*(*to)++ = (uint8_t)((kind & 7) | (code & 15) << 3 | (more != 0) << 7);
	else
		*(*to)++ = (uint8_t)((code & 63) << 1 | (more != 0) << 7);
	if (more != 0)
		*to = allo_varint_put(*to, more);
	return (!is_alloc || kind & KIND_STACK || move_number(columns, ALLO_COLUMN_STACKS, to)) &&
	       (!is_alloc || kind & KIND_SIZE || move_number(columns, ALLO_COLUMN_SIZES, to));
}

/* Fills [to, end), behind which there is room for ALLO_EVENT_MAX bytes more. */
static bool join_block(struct columns *columns, uint8_t *to, const uint8_t *end, bool *is_timed)
{
	while (to < end) {
		uint8_t kind;

		if (!take_byte(columns, ALLO_COLUMN_KINDS, &kind))
			return false;
		if (kind & KIND_ESCAPE) {
			if (!join_escape(columns, kind, &to, is_timed))
				return false;
		} else if (!join_event(columns, kind, &to) ||
			   (*is_timed && !move_number(columns, ALLO_COLUMN_TIMES, &to))) {
			return false;
		}
	}
	return to == end;
}

static bool join_blocks(struct columns *columns, bool is_timed, uint8_t *out, size_t len)
{
	while (len > 0) {
		const uint8_t **headers = &columns->at[ALLO_COLUMN_BLOCKS];
		struct allo_wire_slot slot;

		if ((size_t)(columns->end[ALLO_COLUMN_BLOCKS] - *headers) < sizeof(slot) ||
		    len < sizeof(slot))
			return false;
		memcpy(&slot, *headers, sizeof(slot));
		memcpy(out, &slot, sizeof(slot));
		*headers += sizeof(slot);
		out += sizeof(slot);
		len -= sizeof(slot);
		if (slot.is_fresh || slot.sequence == 0)
			is_timed = false;
		if (slot.used > len || !join_block(columns, out, out + slot.used, &is_timed))
			return false;
		out += slot.used;
		len -= slot.used;
	}
	return true;
}

/* Lengths of the columns, unpacked and packed, and what they come to; false where they lie. */
static bool take_lengths(const uint8_t **at, const uint8_t *end, size_t most,
			 size_t unpacked[ALLO_COLUMNS], size_t packed[ALLO_COLUMNS], size_t *sum)
{
	*sum = 0;
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		uint64_t len, packed_len;

		if (!allo_varint_take(at, end, &len) || !allo_varint_take(at, end, &packed_len) ||
		    len > most - *sum || packed_len > (uint64_t)(end - *at))
			return false;
		unpacked[c] = (size_t)len;
		packed[c] = (size_t)packed_len;
		*sum += (size_t)len;
	}
	return true;
}

bool allo_columns_join(ZSTD_DCtx *zstd, struct allo_text packed, uint8_t *out, size_t len,
		       struct allo_error *err)
{
	const uint8_t *at = (const uint8_t *)packed.data, *end = at + packed.len;
	ALLO_DEFER(allo_free_pointer) uint8_t *room = NULL;
	size_t lengths[ALLO_COLUMNS], packed_lengths[ALLO_COLUMNS], sum;
	struct columns columns;
	uint8_t *column;
	bool was_timed;

	if (at == end)
		return false;
	was_timed = *at++ != 0;
	if (!take_lengths(&at, end, len * COLUMNS_PER_BYTE, lengths, packed_lengths, &sum))
		return false;
	room = column = malloc(sum + 1);
	if (!room)
		return allo_fail_memory(err);
	for (int c = 0; c < ALLO_COLUMNS; c++) {
		if (packed_lengths[c] > (size_t)(end - at) ||
		    (lengths[c] > 0 && ZSTD_decompressDCtx(zstd, column, lengths[c], at,
							   packed_lengths[c]) != lengths[c]))
			return false;
		columns.at[c] = column;
		column += lengths[c];
		columns.end[c] = column;
		at += packed_lengths[c];
	}
	return join_blocks(&columns, was_timed, out, len);
}
