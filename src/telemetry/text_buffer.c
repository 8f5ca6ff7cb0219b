/* text_buffer.c - numbers and quoted strings without stdio. */
#include "telemetry/text_buffer.h"

#include "base/assert.h"
#include "base/utf8.h"

void allo_buffer_text(struct allo_text_buffer *buffer, struct allo_text text)
{
	if (buffer->len < buffer->room) {
		size_t left = buffer->room - buffer->len;

		memcpy(buffer->text + buffer->len, text.data, text.len < left ? text.len : left);
	}
	buffer->len += text.len;
}

void allo_buffer_string(struct allo_text_buffer *buffer, const char *string)
{
	allo_buffer_text(buffer, allo_text_of(string));
}

/* Writes digits backwards from `end`; returns the first. */
static char *digits_of(uint64_t number, char *end)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return end;
}

void allo_buffer_u64(struct allo_text_buffer *buffer, uint64_t number)
{
	char digits[20], *end = digits + sizeof(digits), *at = digits_of(number, end);

	allo_buffer_text(buffer, (struct allo_text){ at, (size_t)(end - at) });
}

void allo_buffer_seconds(struct allo_text_buffer *buffer, uint64_t ns)
{
	char digits[20], *end = digits + sizeof(digits);
	/* The added digit in front keeps leading zeros of the fraction. */
	char *at = digits_of(ns % 1000000000 + 1000000000, end) + 1;

	allo_buffer_u64(buffer, ns / 1000000000);
	while (end > at && end[-1] == '0')
		end--;
	if (end == at)
		return;
	allo_buffer_string(buffer, ".");
	allo_buffer_text(buffer, (struct allo_text){ at, (size_t)(end - at) });
}

/* Prometheus has no other escapes. */
static void put_special(struct allo_text_buffer *buffer, char c)
{
	if (c == '\n')
		allo_buffer_string(buffer, "\\n");
	else if (c == '"')
		allo_buffer_string(buffer, "\\\"");
	else if (c == '\\')
		allo_buffer_string(buffer, "\\\\");
	else
		allo_buffer_string(buffer, "?");
}

static bool is_special(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < ' ';
}

void allo_buffer_quoted(struct allo_text_buffer *buffer, struct allo_text text)
{
	allo_buffer_string(buffer, "\"");
	while (text.len > 0) {
		size_t len = allo_utf8_character(text);

		if (len == 0)
			allo_buffer_string(buffer, ALLO_UTF8_REPLACEMENT);
		else if (is_special(text.data[0]))
			put_special(buffer, text.data[0]);
		else
			allo_buffer_text(buffer, (struct allo_text){ text.data, len });
		text = allo_text_from(text, len > 0 ? len : 1);
	}
	allo_buffer_string(buffer, "\"");
}

size_t allo_buffer_end(struct allo_text_buffer *buffer)
{
	ALLO_ASSERT(buffer->text || buffer->room == 0);
	if (buffer->room > 0)
		buffer->text[buffer->len < buffer->room ? buffer->len : buffer->room - 1] = '\0';
	return buffer->len;
}
