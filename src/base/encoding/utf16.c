/* utf16.c - joins bytes to units, and units to characters. */
#include "base/encoding/utf16.h"

#include "base/assert.h"

enum { MARK = 0xfeff, REPLACEMENT = 0xfffd };

bool allo_utf16_has_mark(struct allo_text head, bool *is_big_endian)
{
	*is_big_endian = allo_text_starts(head, ALLO_TEXT("\xfe\xff"));
	return *is_big_endian || allo_text_starts(head, ALLO_TEXT("\xff\xfe"));
}

static void put(struct allo_utf16 *decoder, uint32_t bits)
{
	ALLO_ASSERT(decoder->waiting_count < sizeof(decoder->waiting));
	decoder->waiting[decoder->waiting_count++] = (char)bits;
}

static void put_character(struct allo_utf16 *decoder, uint32_t character)
{
	if (character < 0x80) {
		put(decoder, character);
		return;
	}
	if (character < 0x800) {
		put(decoder, 0xc0 | character >> 6);
	} else {
		if (character < 0x10000) {
			put(decoder, 0xe0 | character >> 12);
		} else {
			put(decoder, 0xf0 | character >> 18);
			put(decoder, 0x80 | (character >> 12 & 0x3f));
		}
		put(decoder, 0x80 | (character >> 6 & 0x3f));
	}
	put(decoder, 0x80 | (character & 0x3f));
}

static void take_unit(struct allo_utf16 *decoder, uint16_t unit)
{
	bool is_high = unit >= 0xd800 && unit < 0xdc00, is_low = unit >= 0xdc00 && unit < 0xe000;
	uint16_t high = decoder->high;

	decoder->high = is_high ? unit : 0;
	if (high != 0 && is_low) {
		put_character(decoder, 0x10000 + ((high & 0x3ffu) << 10) + (unit & 0x3ffu));
		return;
	}
	if (high != 0)
		put_character(decoder, REPLACEMENT);
	if (is_low)
		put_character(decoder, REPLACEMENT);
	else if (!is_high && unit != MARK)
		put_character(decoder, unit);
}

static void take_byte(struct allo_utf16 *decoder, unsigned char byte)
{
	uint16_t unit;

	if (!decoder->has_byte) {
		decoder->byte = byte;
		decoder->has_byte = true;
		return;
	}
	decoder->has_byte = false;
	unit = decoder->is_big_endian ? (uint16_t)(decoder->byte << 8 | byte)
				      : (uint16_t)(byte << 8 | decoder->byte);
	take_unit(decoder, unit);
}

size_t allo_utf16_decode(struct allo_utf16 *decoder, struct allo_text *text, char *out, size_t room)
{
	size_t made = 0;

	for (;;) {
		size_t count = decoder->waiting_count < room - made ? decoder->waiting_count
								    : room - made;

		memcpy(out + made, decoder->waiting, count);
		made += count;
		decoder->waiting_count -= (unsigned)count;
		memmove(decoder->waiting, decoder->waiting + count, decoder->waiting_count);
		if (made == room || text->len == 0)
			return made;
		take_byte(decoder, (unsigned char)text->data[0]);
		*text = allo_text_from(*text, 1);
	}
}
