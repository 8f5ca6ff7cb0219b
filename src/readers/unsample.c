/* unsample.c - see unsample.h. */
#include "readers/unsample.h"

#include <math.h>

static void skip_spaces(struct allo_text *text)
{
	while (text->len > 0 && (text->data[0] == ' ' || text->data[0] == '\t'))
		*text = allo_text_from(*text, 1);
}

static bool take_number(struct allo_text *text, int64_t *number)
{
	uint64_t magnitude;
	bool is_negative;

	skip_spaces(text);
	is_negative = allo_text_skip(text, ALLO_TEXT("-"));
	if (!allo_text_take_u64(text, &magnitude) || magnitude > INT64_MAX)
		return false;
	*number = is_negative ? -(int64_t)magnitude : (int64_t)magnitude;
	return true;
}

static bool take_pair(struct allo_text *text, struct allo_counted *pair)
{
	return take_number(text, &pair->blocks) && allo_text_skip(text, ALLO_TEXT(":")) &&
	       take_number(text, &pair->bytes);
}

bool allo_heap_counts_take(struct allo_text *text, struct allo_heap_counts *counts)
{
	struct allo_text rest = *text;

	if (!take_pair(&rest, &counts->live))
		return false;
	skip_spaces(&rest);
	if (!allo_text_skip(&rest, ALLO_TEXT("[")) || !take_pair(&rest, &counts->ever))
		return false;
	skip_spaces(&rest);
	if (!allo_text_skip(&rest, ALLO_TEXT("]")))
		return false;
	*text = rest;
	return true;
}

static int64_t whole(double number, struct allo_notes *notes)
{
	/* 2^63, which a double can hold and an int64_t cannot. */
	const double too_large = 9223372036854775808.0;

	if (number < too_large && number > -too_large)
		return (int64_t)number;
	allo_note(notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return number > 0 ? INT64_MAX : -INT64_MAX;
}

struct allo_counted allo_unsample(struct allo_counted seen, int64_t rate, struct allo_notes *notes)
{
	double blocks = (double)seen.blocks, bytes = (double)seen.bytes, scale;

	if (seen.blocks == 0 || seen.bytes == 0)
		return (struct allo_counted){ 0 };
	if (rate <= 1)
		return seen;
	/* Not expm1(), which is closer: pprof's numbers are what people compare ours with. */
	scale = 1 / (1 - exp(-(bytes / blocks) / (double)rate));
	return (struct allo_counted){ whole(blocks * scale, notes), whole(bytes * scale, notes) };
}
