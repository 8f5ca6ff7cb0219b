/* offset.c - counting bytes and lines. */
#include "base/io/offset.h"

#include "base/assert.h"

static size_t count_newlines(struct allo_text text)
{
	size_t count = 0;

	/* A sum of at most 255 fits in a byte, so the compiler counts 16 or more bytes at once. */
	while (text.len > 0) {
		size_t len = text.len < 255 ? text.len : 255;
		uint8_t part = 0;

		for (size_t i = 0; i < len; i++)
			part = (uint8_t)(part + (text.data[i] == '\n'));
		count += part;
		text = allo_text_from(text, len);
	}
	return count;
}

void allo_offset_advance(struct allo_offset *at, struct allo_text text)
{
	const char *last = text.len ? memrchr(text.data, '\n', text.len) : NULL;

	if (last) {
		at->lines += count_newlines(text);
		at->line_start = at->offset + (uint64_t)(last - text.data) + 1;
	}
	at->offset += text.len;
}

void allo_offset_add(struct allo_offset *at, struct allo_offset distance)
{
	at->lines += distance.lines;
	if (distance.lines > 0)
		at->line_start = at->offset + distance.line_start;
	at->offset += distance.offset;
}

struct allo_pos allo_offset_pos(struct allo_offset at, const char *file)
{
	ALLO_ASSERT(at.line_start <= at.offset);
	return (struct allo_pos){ file, at.lines + 1, at.offset - at.line_start + 1 };
}
