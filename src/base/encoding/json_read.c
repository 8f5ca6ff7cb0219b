/* json_read.c - tokens, strings and numbers of JSON. */
#include "base/encoding/json_read.h"

#include "base/assert.h"
#include "base/utf8.h"

#include <endian.h>

void allo_json_done(struct allo_json *json)
{
	allo_vec_done(&json->string);
}

/* The next byte; -1 at the end and on failure. */
static int front(struct allo_json *json, struct allo_error *err)
{
	struct allo_input *in = json->in;

	if (in->next == in->end && !allo_input_more(in, err))
		return -1;
	return (unsigned char)*in->next;
}

static int front_after_space(struct allo_json *json, struct allo_error *err)
{
	struct allo_input *in = json->in;

	for (;;) {
		while (in->next < in->end && (*in->next == ' ' || *in->next == '\n' ||
					      *in->next == '\r' || *in->next == '\t'))
			in->next++;
		if (in->next < in->end)
			return (unsigned char)*in->next;
		if (front(json, err) < 0)
			return -1;
	}
}

static bool fail(struct allo_json *json, const char *expected, struct allo_error *err)
{
	int c = front(json, err);

	if (allo_failed(err))
		return false;
	if (c < 0) {
		allo_fail(err, ALLO_FORMAT, allo_input_pos(json->in),
			  "expected %s, found the end of the file", expected);
		return allo_hint(err, "the file seems truncated; create or copy it again");
	}
	if (c < 0x20 || c >= 0x7f)
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(json->in),
				 "expected %s, found byte 0x%02x", expected, c);
	return allo_fail(err, ALLO_FORMAT, allo_input_pos(json->in), "expected %s, found '%c'",
			 expected, c);
}

char allo_json_peek(struct allo_json *json, struct allo_error *err)
{
	int c = front_after_space(json, err);

	return c < 0 ? '\0' : (char)c;
}

/* Consumes one expected byte. */
static bool take(struct allo_json *json, char byte, const char *expected, struct allo_error *err)
{
	if (front_after_space(json, err) != (unsigned char)byte)
		return fail(json, expected, err);
	json->in->next++;
	return true;
}

bool allo_json_begin(struct allo_json *json, char bracket, struct allo_error *err)
{
	if (!take(json, bracket, bracket == '{' ? "an object" : "an array", err))
		return false;
	if (++json->depth > ALLO_JSON_DEPTH_MAX)
		return allo_fail(err, ALLO_LIMIT, allo_input_pos(json->in),
				 "nested deeper than %d levels", ALLO_JSON_DEPTH_MAX);
	json->is_first = true;
	return true;
}

/* Leaves the innermost object or array if it ends here. */
static bool leave(struct allo_json *json, char closing, struct allo_error *err)
{
	int c = front_after_space(json, err);
	bool is_open = json->has_open_arrays && closing == ']';

	if (c != closing && !(c < 0 && is_open && json->depth == 1 && !allo_failed(err)))
		return false;
	ALLO_ASSERT(json->depth > 0);
	json->in->next += c == closing;
	json->depth--;
	json->is_first = false;
	return true;
}

/* Between the members of an object or array: true when another one follows. */
static bool next_member(struct allo_json *json, char closing, struct allo_error *err)
{
	if (leave(json, closing, err))
		return false;
	if (!json->is_first && !take(json, ',', closing == '}' ? "',' or '}'" : "',' or ']'", err))
		return false;
	json->is_first = false;
	if (json->has_open_arrays && closing == ']' && leave(json, closing, err))
		return false;
	return !allo_failed(err);
}

static bool add_bytes(struct allo_json *json, const char *data, size_t len, struct allo_error *err)
{
	if (json->string.len + len > ALLO_PIECE_MAX)
		return allo_fail(err, ALLO_LIMIT, allo_input_pos(json->in),
				 "a string is longer than %d MiB", ALLO_PIECE_MAX >> 20);
	return allo_vec_add_all(&json->string, data, len, err);
}

bool allo_json_key(struct allo_json *json, struct allo_text *key, struct allo_error *err)
{
	if (!next_member(json, '}', err))
		return false;
	if (front_after_space(json, err) != '"')
		return fail(json, "a key in quotes", err);
	if (!allo_json_string(json, key, err))
		return false;
	if (key->data != json->string.at) {
		/* Reading on to the colon may move the window, which holds the key. */
		json->string.len = 0;
		if (!add_bytes(json, key->data, key->len, err))
			return false;
		key->data = json->string.at;
	}
	return take(json, ':', "':'", err);
}

bool allo_json_item(struct allo_json *json, struct allo_error *err)
{
	return next_member(json, ']', err);
}

/* The high bit of each byte that is 0.  Bits above the lowest one set may be wrong. */
static inline uint64_t zero_bytes(uint64_t word)
{
	return (word - 0x0101010101010101) & ~word & 0x8080808080808080;
}

/* Number of bytes before a quote, a backslash or a control character; -1 if there is none. */
static long plain_length(struct allo_text text)
{
	size_t i = 0;

	/* Eight bytes at once.  In little endian the lowest bit found is the first byte. */
	for (; i + 8 <= text.len; i += 8) {
		uint64_t word, found;

		memcpy(&word, text.data + i, sizeof(word));
		word = le64toh(word);
		found = zero_bytes(word ^ 0x2222222222222222) |
			zero_bytes(word ^ 0x5c5c5c5c5c5c5c5c) |
			((word - 0x2020202020202020) & ~word & 0x8080808080808080);
		if (found)
			return (long)(i + (size_t)__builtin_ctzll(found) / 8);
	}
	for (; i < text.len; i++) {
		unsigned char c = (unsigned char)text.data[i];

		if (c == '"' || c == '\\' || c < 0x20)
			return (long)i;
	}
	return -1;
}

/* The four hex digits after "\u". */
static bool hex4(struct allo_json *json, uint32_t *value, struct allo_error *err)
{
	struct allo_text digits;
	uint64_t number;

	if (!allo_input_want(json->in, 4, err))
		return false;
	digits = (struct allo_text){ json->in->next, 4 };
	if (allo_input_unread(json->in) < 4 || !allo_text_hex(digits, &number))
		return fail(json, "four hex digits", err);
	json->in->next += 4;
	*value = (uint32_t)number;
	return true;
}

static bool unicode_escape(struct allo_json *json, struct allo_error *err)
{
	uint32_t code = 0, low = 0;
	char utf8[4];

	if (!hex4(json, &code, err))
		return false;
	if (code >= 0xd800 && code < 0xdc00) {
		/* The first half of a surrogate pair; the second one follows as "\uXXXX". */
		if (!allo_input_want(json->in, 2, err))
			return false;
		if (allo_input_unread(json->in) >= 2 && memcmp(json->in->next, "\\u", 2) == 0) {
			json->in->next += 2;
			if (!hex4(json, &low, err))
				return false;
			if (low < 0xdc00 || low > 0xdfff)
				return fail(json, "the second half of a surrogate pair", err);
			code = 0x10000 + ((code - 0xd800) << 10 | (low - 0xdc00));
		}
	}
	if (code >= 0xd800 && code < 0xe000) /* an unpaired surrogate */
		return add_bytes(json, ALLO_UTF8_REPLACEMENT, 3, err);
	return add_bytes(json, utf8, allo_utf8_encode(code, utf8), err);
}

/* Reads an escape, at its backslash. */
static bool escape(struct allo_json *json, struct allo_error *err)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	const char *known;
	int c;

	json->in->next++;
	c = front(json, err);
	if (c == 'u') {
		json->in->next++;
		return unicode_escape(json, err);
	}
	known = c > 0 ? strchr(from, c) : NULL;
	if (!known)
		return fail(json, "an escape", err);
	json->in->next++;
	return add_bytes(json, &to[known - from], 1, err);
}

bool allo_json_string(struct allo_json *json, struct allo_text *value, struct allo_error *err)
{
	struct allo_input *in = json->in;

	if (!take(json, '"', "a string", err))
		return false;
	json->string.len = 0;
	for (;;) {
		struct allo_text window = { in->next, allo_input_unread(in) };
		long plain = plain_length(window);
		bool is_whole = plain >= 0 && in->next[plain] == '"';

		if (is_whole && json->string.len == 0) {
			/* The usual case: no escapes, so no copy. */
			*value = (struct allo_text){ in->next, (size_t)plain };
			in->next += plain + 1;
			return true;
		}
		if (!add_bytes(json, in->next, plain < 0 ? window.len : (size_t)plain, err))
			return false;
		in->next += plain < 0 ? window.len : (size_t)plain;
		if (is_whole)
			break;
		if (plain < 0) {
			if (front(json, err) < 0)
				return fail(json, "the end of a string", err);
		} else if (*in->next == '\\') {
			if (!escape(json, err))
				return false;
		} else {
			return fail(json, "a character of a string", err);
		}
	}
	in->next++;
	*value = (struct allo_text){ json->string.at, json->string.len };
	return true;
}

static bool word(struct allo_json *json, struct allo_text expected, struct allo_error *err)
{
	if (!allo_input_want(json->in, expected.len, err))
		return false;
	if (allo_input_unread(json->in) < expected.len ||
	    memcmp(json->in->next, expected.data, expected.len) != 0)
		return fail(json, "a value", err);
	json->in->next += expected.len;
	return true;
}

bool allo_json_bool(struct allo_json *json, bool *value, struct allo_error *err)
{
	int c = front_after_space(json, err);

	if (c != 't' && c != 'f')
		return fail(json, "true or false", err);
	*value = c == 't';
	return word(json, c == 't' ? ALLO_TEXT("true") : ALLO_TEXT("false"), err);
}

/* Number of digits at offset `at`. */
static size_t digits(struct allo_text text, size_t at)
{
	size_t end = at;

	while (end < text.len && allo_is_digit(text.data[end]))
		end++;
	return end - at;
}

/* Whether the whole text is a number by JSON's grammar. */
static bool is_number(struct allo_text text)
{
	size_t at = text.len > 0 && text.data[0] == '-', count = digits(text, at);

	if (count == 0 || (count > 1 && text.data[at] == '0'))
		return false;
	at += count;
	if (at < text.len && text.data[at] == '.') {
		count = digits(text, at + 1);
		if (count == 0)
			return false;
		at += 1 + count;
	}
	if (at < text.len && (text.data[at] == 'e' || text.data[at] == 'E')) {
		at++;
		if (at < text.len && (text.data[at] == '+' || text.data[at] == '-'))
			at++;
		count = digits(text, at);
		if (count == 0)
			return false;
		at += count;
	}
	return at == text.len;
}

static bool is_number_byte(char c)
{
	return allo_is_digit(c) || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

bool allo_json_number(struct allo_json *json, struct allo_text *value, struct allo_error *err)
{
	enum { LONGEST = 1024 }; /* bytes; valid files have no longer numbers */
	struct allo_input *in = json->in;
	size_t len = 0;
	int c = front_after_space(json, err);

	if (c != '-' && !(c >= '0' && c <= '9'))
		return fail(json, "a number", err);
	if (!allo_input_want(in, LONGEST, err))
		return false;
	while (len < allo_input_unread(in) && len < LONGEST && is_number_byte(in->next[len]))
		len++;
	*value = (struct allo_text){ in->next, len };
	if (len == LONGEST || !is_number(*value))
		return allo_fail(err, ALLO_FORMAT, allo_input_pos(in), "\"%.*s\" is not a number",
				 ALLO_TEXT_ARG(*value));
	in->next += len;
	return true;
}

/* The digits of a number before and after the point, and the point's place after the exponent. */
struct decimal {
	struct allo_text whole, fraction;
	int64_t point; /* number of digits before it */
};

/* The text must be a number. */
static struct decimal decimal_of(struct allo_text text)
{
	struct decimal decimal = { .whole = { text.data, digits(text, 0) } };
	uint64_t exponent = 0;
	bool is_negative = false;

	text = allo_text_from(text, decimal.whole.len);
	if (allo_text_skip(&text, ALLO_TEXT("."))) {
		decimal.fraction = (struct allo_text){ text.data, digits(text, 0) };
		text = allo_text_from(text, decimal.fraction.len);
	}
	if (allo_text_skip(&text, ALLO_TEXT("e")) || allo_text_skip(&text, ALLO_TEXT("E"))) {
		is_negative = allo_text_skip(&text, ALLO_TEXT("-"));
		allo_text_skip(&text, ALLO_TEXT("+"));
		if (!allo_text_u64(text, &exponent) || exponent > INT32_MAX)
			exponent = INT32_MAX;
	}
	decimal.point = (int64_t)decimal.whole.len +
			(is_negative ? -(int64_t)exponent : (int64_t)exponent);
	return decimal;
}

/* Digit number `at`, 0 out of range. */
static unsigned digit_at(const struct decimal *decimal, int64_t at)
{
	size_t whole = decimal->whole.len, fraction = decimal->fraction.len;

	if (at < 0 || (size_t)at >= whole + fraction)
		return 0;
	return (unsigned)(((size_t)at < whole ? decimal->whole.data[at]
					      : decimal->fraction.data[(size_t)at - whole]) -
			  '0');
}

/* Rounds the number times 10^moved.  Works digit by digit: exact, and independent of the locale. */
static bool round_number(struct allo_text number, int64_t moved, uint64_t *value)
{
	struct decimal decimal = decimal_of(number);
	uint64_t sum = 0;

	decimal.point += moved;
	for (int64_t at = 0; at < decimal.point; at++) {
		if (sum == 0 && (size_t)at >= decimal.whole.len + decimal.fraction.len)
			break; /* only zeros follow */
		if (__builtin_mul_overflow(sum, 10, &sum) ||
		    __builtin_add_overflow(sum, digit_at(&decimal, at), &sum))
			return false;
	}
	if (__builtin_add_overflow(sum, digit_at(&decimal, decimal.point) >= 5, &sum))
		return false;
	*value = sum;
	return true;
}

bool allo_json_text_u64(struct allo_text number, uint64_t *value)
{
	if (!is_number(number) || number.data[0] == '-')
		return false;
	return allo_text_u64(number, value) || round_number(number, 0, value);
}

bool allo_json_text_thousands(struct allo_text number, uint64_t *value)
{
	return is_number(number) && number.data[0] != '-' && round_number(number, 3, value);
}

bool allo_json_u64(struct allo_json *json, uint64_t *value, struct allo_error *err)
{
	struct allo_pos pos;
	struct allo_text number;

	if (front_after_space(json, err) < 0)
		return fail(json, "a number", err);
	pos = allo_input_pos(json->in);
	if (!allo_json_number(json, &number, err))
		return false;
	if (!allo_json_text_u64(number, value))
		return allo_fail(err, ALLO_FORMAT, pos,
				 "expected a number from 0 to 18446744073709551615, found %.*s",
				 ALLO_TEXT_ARG(number));
	return true;
}

static bool skip_scalar(struct allo_json *json, struct allo_error *err)
{
	struct allo_text ignored;
	bool flag;

	switch (allo_json_peek(json, err)) {
	case '"':
		return allo_json_string(json, &ignored, err);
	case 't':
	case 'f':
		return allo_json_bool(json, &flag, err);
	case 'n':
		return word(json, ALLO_TEXT("null"), err);
	default:
		return allo_json_number(json, &ignored, err);
	}
}

bool allo_json_skip(struct allo_json *json, struct allo_error *err)
{
	char kinds[ALLO_JSON_DEPTH_MAX + 1]; /* brackets by depth */
	unsigned outside = json->depth;
	struct allo_text ignored;

	do {
		char c = allo_json_peek(json, err);

		if (c == '{' || c == '[') {
			if (!allo_json_begin(json, c, err))
				return false;
			kinds[json->depth] = c;
		} else if (!skip_scalar(json, err)) {
			return false;
		}
		/* Leaves objects and arrays that end here, up to the next value. */
		while (json->depth > outside &&
		       !(kinds[json->depth] == '{' ? allo_json_key(json, &ignored, err)
						   : allo_json_item(json, err))) {
			if (allo_failed(err))
				return false;
		}
	} while (json->depth > outside);
	return true;
}

bool allo_json_end(struct allo_json *json, struct allo_error *err)
{
	if (front_after_space(json, err) >= 0)
		return fail(json, "the end of the file", err);
	return !allo_failed(err);
}
