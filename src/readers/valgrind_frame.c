/* valgrind_frame.c - see valgrind_frame.h. */
#include "readers/valgrind_frame.h"

/* Takes ":digits" off the end. */
static bool take_last_number(struct allo_text *text, uint32_t *number)
{
	struct allo_text before, after;
	uint64_t value;

	if (!allo_text_cut_last(*text, ':', &before, &after) || !allo_text_u64(after, &value))
		return false;
	*text = before;
	*number = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	return true;
}

static bool is_unknown(struct allo_text text)
{
	return allo_text_equal(text, ALLO_TEXT("???"));
}

/* "file:line" or "file:line:column". */
static bool parse_place(struct allo_text place, struct allo_valgrind_frame *frame)
{
	uint32_t last, before_last;

	if (!take_last_number(&place, &last))
		return false;
	if (take_last_number(&place, &before_last)) {
		frame->line = before_last;
		frame->column = last;
	} else {
		frame->line = last;
	}
	if (!is_unknown(place))
		frame->file = place;
	return true;
}

/* What stands in the parentheses at the end.  Names hold parentheses themselves, so the last " ("
 * counts, except where that is a part of an object's path: "(in /lib/x.so (deleted))". */
static void parse_name_and_place(struct allo_text rest, struct allo_valgrind_frame *frame)
{
	size_t in = allo_text_find_last(rest, ALLO_TEXT(" (in "));
	size_t open = allo_text_find_last(rest, ALLO_TEXT(" ("));

	frame->name = rest;
	if (open == (size_t)-1 || rest.data[rest.len - 1] != ')')
		return;
	if (open != in &&
	    parse_place((struct allo_text){ rest.data + open + 2, rest.len - open - 3 }, frame)) {
		frame->name.len = open;
	} else if (in != (size_t)-1) {
		struct allo_text object = { rest.data + in + 5, rest.len - in - 6 };

		frame->name.len = in;
		if (!is_unknown(object))
			frame->object = object;
	}
}

bool allo_valgrind_frame_parse(struct allo_text text, struct allo_valgrind_frame *frame)
{
	struct allo_text rest = text;

	*frame = (struct allo_valgrind_frame){ .name = text };
	if (!allo_text_skip(&rest, ALLO_TEXT("0x")) ||
	    !allo_text_take_hex(&rest, &frame->address) ||
	    !allo_text_skip(&rest, ALLO_TEXT(": "))) {
		frame->address = 0;
		return false;
	}
	parse_name_and_place(rest, frame);
	if (is_unknown(frame->name))
		frame->name.len = 0;
	return true;
}
