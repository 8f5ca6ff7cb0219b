#include "base/encoding/xml.h"

#include "base/utf8.h"

/* The entity for a byte; NULL when it needs none. */
static const char *entity_of(char byte)
{
	switch (byte) {
	case '&':
		return "&amp;";
	case '<':
		return "&lt;";
	case '>':
		return "&gt;";
	case '"':
		return "&quot;";
	case '\'':
		return "&#39;";
	default:
		return NULL;
	}
}

/* U+FFFE and U+FFFF are valid UTF-8, but not valid XML. */
static bool is_noncharacter(struct allo_text character)
{
	return allo_text_equal(character, ALLO_TEXT("\xef\xbf\xbe")) ||
	       allo_text_equal(character, ALLO_TEXT("\xef\xbf\xbf"));
}

/* U+2400 + N is the symbol for control character N; U+2421 is the one for DEL. */
static void put_control(struct allo_output *out, unsigned char control)
{
	char picture[4];
	size_t len = allo_utf8_encode(control == 0x7f ? 0x2421 : 0x2400u + control, picture);

	allo_output_bytes(out, picture, len);
}

void allo_xml_text(struct allo_output *out, struct allo_text text)
{
	while (text.len > 0) {
		size_t len = allo_utf8_character(text);
		struct allo_text character = { text.data, len };
		unsigned char byte = (unsigned char)text.data[0];

		if (len == 0 || is_noncharacter(character))
			allo_output_string(out, ALLO_UTF8_REPLACEMENT);
		else if (byte < ' ' || byte == 0x7f)
			put_control(out, byte);
		else if (entity_of(text.data[0]))
			allo_output_string(out, entity_of(text.data[0]));
		else
			allo_output_text(out, character);
		text = allo_text_from(text, len ? len : 1);
	}
}
