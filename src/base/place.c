/* place.c - see place.h. */
#include "base/place.h"

static size_t count_newlines(struct allo_text text)
{
	size_t count = 0;

	/* Sums of at most 255 fit a byte, which lets the compiler count sixteen or more at a time.
	 */
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

void allo_place_advance(struct allo_place *place, struct allo_text text)
{
	const char *last = text.len ? memrchr(text.data, '\n', text.len) : NULL;

	if (last) {
		place->lines += count_newlines(text);
		place->line_start = place->offset + (uint64_t)(last - text.data) + 1;
	}
	place->offset += text.len;
}

void allo_place_add(struct allo_place *place, struct allo_place way)
{
	place->lines += way.lines;
	if (way.lines > 0)
		place->line_start = place->offset + way.line_start;
	place->offset += way.offset;
}

struct allo_pos allo_place_pos(struct allo_place place, const char *file)
{
	return (struct allo_pos){ file, place.lines + 1, place.offset - place.line_start + 1 };
}
