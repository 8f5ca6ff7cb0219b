/* text.c - comparing, cutting and parsing slices. */
#include "base/text.h"

int allo_text_compare(struct allo_text a, struct allo_text b)
{
	size_t shorter = a.len < b.len ? a.len : b.len;
	int order = shorter > 0 ? memcmp(a.data, b.data, shorter) : 0;

	return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

bool allo_text_skip(struct allo_text *text, struct allo_text prefix)
{
	if (!allo_text_starts(*text, prefix))
		return false;
	*text = allo_text_from(*text, prefix.len);
	return true;
}

static bool cut_at(struct allo_text text, const char *at, struct allo_text *before,
		   struct allo_text *after)
{
	if (!at)
		return false;
	*before = (struct allo_text){ text.data, (size_t)(at - text.data) };
	*after = allo_text_from(text, before->len + 1);
	return true;
}

bool allo_text_cut(struct allo_text text, char separator, struct allo_text *before,
		   struct allo_text *after)
{
	if (text.len == 0)
		return false;
	return cut_at(text, memchr(text.data, separator, text.len), before, after);
}

bool allo_text_cut_last(struct allo_text text, char separator, struct allo_text *before,
			struct allo_text *after)
{
	if (text.len == 0)
		return false;
	return cut_at(text, memrchr(text.data, separator, text.len), before, after);
}

bool allo_text_next(struct allo_text *rest, char separator, struct allo_text *piece)
{
	if (!rest->data)
		return false;
	if (!allo_text_cut(*rest, separator, piece, rest)) {
		*piece = *rest;
		*rest = (struct allo_text){ 0 };
	}
	return true;
}

struct allo_text allo_text_trim(struct allo_text text)
{
	while (text.len > 0 && allo_is_space(text.data[0]))
		text = allo_text_from(text, 1);
	while (text.len > 0 && allo_is_space(text.data[text.len - 1]))
		text.len--;
	return text;
}

size_t allo_text_find(struct allo_text text, struct allo_text needle)
{
	const char *at = NULL;

	if (needle.len <= text.len)
		at = memmem(text.data, text.len, needle.data, needle.len);
	return at ? (size_t)(at - text.data) : (size_t)-1;
}

size_t allo_text_find_last(struct allo_text text, struct allo_text needle)
{
	if (needle.len == 0 || needle.len > text.len)
		return (size_t)-1;
	for (size_t len = text.len - needle.len + 1; len > 0;) {
		const char *at = memrchr(text.data, needle.data[0], len);

		if (!at)
			break;
		if (memcmp(at, needle.data, needle.len) == 0)
			return (size_t)(at - text.data);
		len = (size_t)(at - text.data);
	}
	return (size_t)-1;
}

bool allo_text_take_u64(struct allo_text *text, uint64_t *value)
{
	uint64_t sum = 0;
	size_t used = 0;

	for (; used < text->len && allo_is_digit(text->data[used]); used++) {
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, (uint64_t)(text->data[used] - '0'), &sum))
			return false;
	}
	if (used == 0)
		return false;
	*text = allo_text_from(*text, used);
	*value = sum;
	return true;
}

static int hex_digit(char c)
{
	if (allo_is_digit(c))
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool allo_text_take_hex(struct allo_text *text, uint64_t *value)
{
	uint64_t sum = 0;
	size_t used = 0;

	for (; used < text->len && hex_digit(text->data[used]) >= 0; used++) {
		if (sum >> 60)
			return false;
		sum = sum << 4 | (uint64_t)hex_digit(text->data[used]);
	}
	if (used == 0)
		return false;
	*text = allo_text_from(*text, used);
	*value = sum;
	return true;
}

bool allo_text_u64(struct allo_text text, uint64_t *value)
{
	return allo_text_take_u64(&text, value) && text.len == 0;
}

bool allo_text_hex(struct allo_text text, uint64_t *value)
{
	return allo_text_take_hex(&text, value) && text.len == 0;
}
