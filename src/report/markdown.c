/* markdown.c - escapes text so that Markdown shows it as it is. */
#include "report/markdown.h"
#include "base/text.h"

#include <string.h>

static bool is_word(char c)
{
	return allo_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	       (unsigned char)c >= 0x80;
}

/* '_' inside a word is no emphasis; '-', '+' and '#' mean something at the start of a line only. */
static bool has_meaning(struct allo_text text, size_t at, bool is_start)
{
	char c = text.data[at];

	if (c == '_')
		return at == 0 || at + 1 == text.len || !is_word(text.data[at - 1]) ||
		       !is_word(text.data[at + 1]);
	if (c == '-' || c == '+' || c == '#')
		return is_start && at == 0;
	return c != '\0' && strchr("\\`*<>[]|~&$", c);
}

void allo_markdown_put(struct allo_output *out, struct allo_text text, bool is_start)
{
	size_t plain = 0;

	for (size_t i = 0; i < text.len; i++) {
		if (!has_meaning(text, i, is_start))
			continue;
		allo_output_printable(out, (struct allo_text){ text.data + plain, i - plain });
		allo_output_byte(out, '\\');
		plain = i;
	}
	/* A cell that is not set has no bytes to point at. */
	if (plain < text.len)
		allo_output_printable(out, allo_text_from(text, plain));
}
