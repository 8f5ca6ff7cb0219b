#include "base/utf8.h"

#include "base/assert.h"

static bool is_continuation(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

size_t allo_utf8_character(struct allo_text text)
{
	unsigned char first = (unsigned char)text.data[0];
	unsigned char second = text.len > 1 ? (unsigned char)text.data[1] : 0;
	size_t len;

	if (first < 0x80)
		return 1;
	/* The first two bytes exclude overlong forms, surrogates and code points above U+10FFFF
	 * (RFC 3629, section 4). */
	if (first < 0xc2 || first > 0xf4)
		return 0;
	if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) ||
	    (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f))
		return 0;
	len = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
	if (text.len < len)
		return 0;
	for (size_t i = 1; i < len; i++) {
		if (!is_continuation(text.data[i]))
			return 0;
	}
	return len;
}

size_t allo_utf8_valid_prefix(struct allo_text text)
{
	size_t at = 0;

	while (at < text.len) {
		uint64_t eight;
		size_t len;

		if (text.len - at >= sizeof(eight)) {
			memcpy(&eight, text.data + at, sizeof(eight));
			if ((eight & 0x8080808080808080) == 0) {
				at += sizeof(eight);
				continue;
			}
		}
		len = allo_utf8_character(allo_text_from(text, at));
		if (len == 0)
			break;
		at += len;
	}
	return at;
}

/* The characters of three bytes that change the direction of text. */
static bool is_directional(unsigned char second, unsigned char third)
{
	if (second == 0x80) /* U+200E, U+200F, U+202A to U+202E */
		return third == 0x8e || third == 0x8f || (third >= 0xaa && third <= 0xae);
	return second == 0x81 && third >= 0xa6 && third <= 0xa9; /* U+2066 to U+2069 */
}

bool allo_utf8_is_control(struct allo_text text)
{
	const unsigned char *bytes = (const unsigned char *)text.data;

	if (bytes[0] < 0x80)
		return bytes[0] < 0x20 || bytes[0] == 0x7f;
	if (bytes[0] == 0xc2)
		return text.len > 1 && bytes[1] < 0xa0;
	if (bytes[0] == 0xd8) /* U+061C */
		return text.len > 1 && bytes[1] == 0x9c;
	return bytes[0] == 0xe2 && text.len > 2 && is_directional(bytes[1], bytes[2]);
}

/* Length of the next character; an invalid byte counts as one. */
static size_t step(struct allo_text text)
{
	size_t len = allo_utf8_character(text);

	return len ? len : 1;
}

static uint32_t code_point(struct allo_text text, size_t len)
{
	uint32_t code = (unsigned char)text.data[0];

	if (len > 1)
		code &= 0x7fu >> len;
	for (size_t i = 1; i < len; i++)
		code = code << 6 | ((unsigned char)text.data[i] & 0x3f);
	return code;
}

struct range {
	uint32_t first, last, columns;
};

/* Blocks of wide characters and of marks without a width of their own, in order. */
static const struct range widths[] = {
	{ 0x300, 0x36f, 0 },     { 0x483, 0x489, 0 },     { 0x591, 0x5bd, 0 },
	{ 0x610, 0x61a, 0 },     { 0x64b, 0x65f, 0 },     { 0x1100, 0x115f, 2 },
	{ 0x1ab0, 0x1aff, 0 },   { 0x1dc0, 0x1dff, 0 },   { 0x200b, 0x200f, 0 },
	{ 0x20d0, 0x20ff, 0 },   { 0x2e80, 0x3029, 2 },   { 0x302a, 0x302d, 0 },
	{ 0x302e, 0x303e, 2 },   { 0x3041, 0x3098, 2 },   { 0x3099, 0x309a, 0 },
	{ 0x309b, 0x33ff, 2 },   { 0x3400, 0x4dbf, 2 },   { 0x4e00, 0xa4cf, 2 },
	{ 0xa960, 0xa97f, 2 },   { 0xac00, 0xd7a3, 2 },   { 0xf900, 0xfaff, 2 },
	{ 0xfe00, 0xfe0f, 0 },   { 0xfe10, 0xfe19, 2 },   { 0xfe20, 0xfe2f, 0 },
	{ 0xfe30, 0xfe6f, 2 },   { 0xff01, 0xff60, 2 },   { 0xffe0, 0xffe6, 2 },
	{ 0x1f300, 0x1f64f, 2 }, { 0x1f680, 0x1f6ff, 2 }, { 0x1f900, 0x1f9ff, 2 },
	{ 0x20000, 0x3fffd, 2 }, { 0xe0100, 0xe01ef, 0 },
};

/* Columns of the next character of `len` bytes. */
static size_t columns_of(struct allo_text text, size_t len)
{
	uint32_t code;

	if ((unsigned char)text.data[0] < 0x80 || len == 1)
		return 1;
	code = code_point(text, len);
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths) && widths[i].first <= code; i++) {
		if (code <= widths[i].last)
			return widths[i].columns;
	}
	return 1;
}

size_t allo_utf8_columns(struct allo_text text)
{
	size_t columns = 0, len;

	for (; text.len > 0; text = allo_text_from(text, len)) {
		len = step(text);
		columns += columns_of(text, len);
	}
	return columns;
}

struct allo_text allo_utf8_first_columns(struct allo_text text, size_t columns)
{
	struct allo_text rest = text;

	while (rest.len > 0) {
		size_t len = step(rest), own = columns_of(rest, len);

		if (own > columns)
			break;
		columns -= own;
		rest = allo_text_from(rest, len);
	}
	text.len -= rest.len;
	return text;
}

size_t allo_utf8_encode(uint32_t c, char out[4])
{
	ALLO_ASSERT(c <= 0x10ffff);
	if (c < 0x80) {
		out[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		out[0] = (char)(0xc0 | c >> 6);
		out[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	if (c < 0x10000) {
		out[0] = (char)(0xe0 | c >> 12);
		out[1] = (char)(0x80 | (c >> 6 & 0x3f));
		out[2] = (char)(0x80 | (c & 0x3f));
		return 3;
	}
	out[0] = (char)(0xf0 | c >> 18);
	out[1] = (char)(0x80 | (c >> 12 & 0x3f));
	out[2] = (char)(0x80 | (c >> 6 & 0x3f));
	out[3] = (char)(0x80 | (c & 0x3f));
	return 4;
}
