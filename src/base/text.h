/*
 * text.h - a string slice: pointer and length; it does not own the bytes.
 *
 * Not NUL-terminated, and not necessarily valid UTF-8: the bytes are as in the file.
 */
#ifndef ALLO_BASE_TEXT_H
#define ALLO_BASE_TEXT_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct allo_text {
	const char *data;
	size_t len;
};

/* A string literal as a text, in expressions and in static tables. */
#define ALLO_TEXT(literal) ((struct allo_text)ALLO_TEXT_INIT(literal))
#define ALLO_TEXT_INIT(literal)                                                                    \
	{                                                                                          \
		(literal), sizeof(literal) - 1                                                     \
	}

/* Arguments for "%.*s": cut to 80 bytes for messages, and whole for results. */
#define ALLO_TEXT_ARG(text)   ((text).len > 80 ? 80 : (int)(text).len), (text).data
#define ALLO_TEXT_WHOLE(text) ((text).len > INT_MAX ? INT_MAX : (int)(text).len), (text).data

static inline struct allo_text allo_text_of(const char *string)
{
	return (struct allo_text){ string, strlen(string) };
}

static inline bool allo_text_equal(struct allo_text a, struct allo_text b)
{
	return a.len == b.len && (a.len == 0 || memcmp(a.data, b.data, a.len) == 0);
}

static inline bool allo_text_starts(struct allo_text text, struct allo_text prefix)
{
	return text.len >= prefix.len &&
	       (prefix.len == 0 || memcmp(text.data, prefix.data, prefix.len) == 0);
}

static inline bool allo_text_ends(struct allo_text text, struct allo_text suffix)
{
	return text.len >= suffix.len &&
	       (suffix.len == 0 ||
		memcmp(text.data + text.len - suffix.len, suffix.data, suffix.len) == 0);
}

/* The text without its first `count` bytes.  An empty one may have no data: NULL + 0 is undefined.
 */
static inline struct allo_text allo_text_from(struct allo_text text, size_t count)
{
	return count == 0 ? text : (struct allo_text){ text.data + count, text.len - count };
}

static inline bool allo_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool allo_is_space(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Compares bytes like memcmp(), the same in every locale. */
int allo_text_compare(struct allo_text a, struct allo_text b);

/* Removes `prefix` from the front of *text; false, and *text unchanged, when it does not start so.
 */
bool allo_text_skip(struct allo_text *text, struct allo_text prefix);

/* Splits at the first or last `separator`, which is in neither part; false when there is none. */
bool allo_text_cut(struct allo_text text, char separator, struct allo_text *before,
		   struct allo_text *after);
bool allo_text_cut_last(struct allo_text text, char separator, struct allo_text *before,
			struct allo_text *after);

/* Removes the next piece up to a `separator` from *rest; false when *rest is empty. */
bool allo_text_next(struct allo_text *rest, char separator, struct allo_text *piece);

/* The text without white space at both ends. */
struct allo_text allo_text_trim(struct allo_text text);

/* Offset of the first or last occurrence of `needle`, or (size_t)-1. */
size_t allo_text_find(struct allo_text text, struct allo_text needle);
size_t allo_text_find_last(struct allo_text text, struct allo_text needle);

/* Parses the whole text as a number: digits only, at most 2^64 - 1; no "0x" before hex. */
bool allo_text_u64(struct allo_text text, uint64_t *value);
bool allo_text_hex(struct allo_text text, uint64_t *value);

/* Parses and removes leading digits of *text. */
bool allo_text_take_u64(struct allo_text *text, uint64_t *value);
bool allo_text_take_hex(struct allo_text *text, uint64_t *value);

#endif
