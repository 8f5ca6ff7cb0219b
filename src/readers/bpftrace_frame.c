/* bpftrace_frame.c - see bpftrace_frame.h. */
#include "readers/bpftrace_frame.h"

enum { BUILD_ID_DIGITS = 40 };

/* Without "+31" at the end. */
static struct allo_text without_offset(struct allo_text text)
{
	size_t at = text.len;

	while (at > 0 && allo_is_digit(text.data[at - 1]))
		at--;
	if (at < text.len && at > 1 && text.data[at - 1] == '+')
		text.len = at - 1;
	return text;
}

/* Cuts "@src/work.c:12" off the end.  A symbol may have an '@' of its own, for its version: the
 * place follows on an offset, or on a symbol that is inlined. */
static void take_place(struct allo_text *text, struct allo_bpftrace_frame *frame)
{
	struct allo_text symbol, place, file, number;
	uint64_t line;

	if (!allo_text_cut(*text, '@', &symbol, &place) ||
	    !allo_text_cut_last(place, ':', &file, &number) || file.len == 0 ||
	    !allo_text_u64(number, &line) || line > UINT32_MAX)
		return;
	if (!frame->is_inlined && without_offset(symbol).len == symbol.len)
		return;
	frame->file = file;
	frame->line = (uint32_t)line;
	*text = symbol;
}

/* "work+31 (/tmp/demo/busy)", or without the object. */
static void take_object(struct allo_text *text, struct allo_bpftrace_frame *frame)
{
	size_t at = allo_text_find_last(*text, ALLO_TEXT(" ("));

	if (at == (size_t)-1 || text->data[text->len - 1] != ')')
		return;
	frame->module = (struct allo_text){ text->data + at + 2, text->len - at - 3 };
	text->len = at;
	if (allo_text_equal(frame->module, ALLO_TEXT("[unknown]")))
		frame->module.len = 0;
}

/* Frames that begin with hex digits; false if it is none. */
static bool parse_address(struct allo_text line, struct allo_bpftrace_frame *frame)
{
	struct allo_text first = line, rest = { line.data + line.len, 0 };

	allo_text_cut(line, ' ', &first, &rest);
	if (rest.len == 0) {
		bool has_mark = allo_text_skip(&first, ALLO_TEXT("0x"));

		/* Short ones may be names. */
		return (has_mark || first.len >= 8) && allo_text_hex(first, &frame->address);
	}
	if (first.len == BUILD_ID_DIGITS && allo_text_skip(&rest, ALLO_TEXT("0x")) &&
	    allo_text_hex(rest, &frame->address)) {
		frame->build_id = first;
		return true;
	}
	if (!allo_text_hex(first, &frame->address))
		return false;
	take_object(&rest, frame);
	frame->symbol = without_offset(allo_text_trim(rest));
	if (allo_text_equal(frame->symbol, ALLO_TEXT("[unknown]")))
		frame->symbol.len = 0;
	if (frame->symbol.len > 0)
		frame->address = 0;
	return true;
}

struct allo_bpftrace_frame allo_bpftrace_parse_frame(struct allo_text line)
{
	struct allo_bpftrace_frame frame = { 0 };
	struct allo_text text = allo_text_trim(line);

	if (parse_address(text, &frame))
		return frame;
	frame = (struct allo_bpftrace_frame){
		.is_inlined = allo_text_skip(&text, ALLO_TEXT("[inlined] ")),
	};
	take_place(&text, &frame);
	frame.symbol = without_offset(text);
	return frame;
}
