/* keys.c - the escape sequences of xterm, which nearly all terminals use. */
#include "report/keys.h"

static int named_key(struct allo_text sequence)
{
	static const struct {
		struct allo_text sequence; /* after the escape */
		int key;
	} known[] = {
		{ ALLO_TEXT_INIT("[A"), ALLO_KEY_UP },
		{ ALLO_TEXT_INIT("[B"), ALLO_KEY_DOWN },
		{ ALLO_TEXT_INIT("[C"), ALLO_KEY_RIGHT },
		{ ALLO_TEXT_INIT("[D"), ALLO_KEY_LEFT },
		{ ALLO_TEXT_INIT("OA"), ALLO_KEY_UP },
		{ ALLO_TEXT_INIT("OB"), ALLO_KEY_DOWN },
		{ ALLO_TEXT_INIT("OC"), ALLO_KEY_RIGHT },
		{ ALLO_TEXT_INIT("OD"), ALLO_KEY_LEFT },
		{ ALLO_TEXT_INIT("[H"), ALLO_KEY_HOME },
		{ ALLO_TEXT_INIT("[F"), ALLO_KEY_END },
		{ ALLO_TEXT_INIT("OH"), ALLO_KEY_HOME },
		{ ALLO_TEXT_INIT("OF"), ALLO_KEY_END },
		{ ALLO_TEXT_INIT("[1~"), ALLO_KEY_HOME },
		{ ALLO_TEXT_INIT("[4~"), ALLO_KEY_END },
		{ ALLO_TEXT_INIT("[7~"), ALLO_KEY_HOME },
		{ ALLO_TEXT_INIT("[8~"), ALLO_KEY_END },
		{ ALLO_TEXT_INIT("[5~"), ALLO_KEY_PAGE_UP },
		{ ALLO_TEXT_INIT("[6~"), ALLO_KEY_PAGE_DOWN },
	};

	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (allo_text_equal(known[i].sequence, sequence))
			return known[i].key;
	}
	return ALLO_KEY_NONE;
}

/* The length of the sequence after an escape; 0 if its end is still to come.  "[" starts one that
 * ends with a byte from '@' to '~', "O" one of two bytes; all others are two keys. */
static size_t sequence_length(struct allo_text bytes)
{
	if (bytes.len > 0 && bytes.data[0] == 'O')
		return bytes.len >= 2 ? 2 : 0;
	for (size_t i = 1; i < bytes.len; i++) {
		if (bytes.data[i] >= '@' && bytes.data[i] <= '~')
			return i + 1;
	}
	return 0;
}

static int plain_key(char byte)
{
	if (byte == '\r')
		return ALLO_KEY_ENTER;
	return byte == 127 ? ALLO_KEY_BACKSPACE : (unsigned char)byte;
}

bool allo_key_take(struct allo_text *bytes, int *key)
{
	struct allo_text rest = allo_text_from(*bytes, 1);
	size_t len = 0;

	if (bytes->data[0] == ALLO_KEY_ESCAPE) {
		if (rest.len == 0)
			return false;
		if (rest.data[0] == '[' || rest.data[0] == 'O') {
			len = sequence_length(rest);
			if (len == 0)
				return false;
		}
	}
	*key = len ? named_key((struct allo_text){ rest.data, len }) : plain_key(bytes->data[0]);
	*bytes = allo_text_from(rest, len);
	return true;
}
