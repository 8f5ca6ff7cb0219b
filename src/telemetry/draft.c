/* draft.c - see draft.h. */
#include "telemetry/draft.h"
#include "base/utf8.h"

void allo_draft_text(struct allo_draft *draft, struct allo_text text)
{
	if (draft->len < draft->room) {
		size_t left = draft->room - draft->len;

		memcpy(draft->text + draft->len, text.data, text.len < left ? text.len : left);
	}
	draft->len += text.len;
}

void allo_draft_string(struct allo_draft *draft, const char *string)
{
	allo_draft_text(draft, allo_text_of(string));
}

/* Fills `digits` from its end; returns where the number begins. */
static char *digits_of(uint64_t number, char *end)
{
	do {
		*--end = (char)('0' + number % 10);
		number /= 10;
	} while (number > 0);
	return end;
}

void allo_draft_u64(struct allo_draft *draft, uint64_t number)
{
	char digits[20], *end = digits + sizeof(digits), *at = digits_of(number, end);

	allo_draft_text(draft, (struct allo_text){ at, (size_t)(end - at) });
}

void allo_draft_seconds(struct allo_draft *draft, uint64_t ns)
{
	enum { PLACES = 9 };
	char digits[20], *end = digits + sizeof(digits);
	/* A leading 1 keeps the zeros behind the point. */
	char *at = digits_of(ns % 1000000000 + 1000000000, end) + 1;

	allo_draft_u64(draft, ns / 1000000000);
	while (end > at && end[-1] == '0')
		end--;
	if (end == at)
		return;
	allo_draft_string(draft, ".");
	allo_draft_text(draft, (struct allo_text){ at, (size_t)(end - at) });
}

/* Prometheus knows these escapes alone. */
static void put_special(struct allo_draft *draft, char c)
{
	if (c == '\n')
		allo_draft_string(draft, "\\n");
	else if (c == '"')
		allo_draft_string(draft, "\\\"");
	else if (c == '\\')
		allo_draft_string(draft, "\\\\");
	else
		allo_draft_string(draft, "?");
}

static bool is_special(char c)
{
	return c == '"' || c == '\\' || (unsigned char)c < ' ';
}

void allo_draft_quoted(struct allo_draft *draft, struct allo_text text)
{
	allo_draft_string(draft, "\"");
	while (text.len > 0) {
		size_t len = allo_utf8_character(text);

		if (len == 0)
			allo_draft_string(draft, ALLO_UTF8_REPLACEMENT);
		else if (is_special(text.data[0]))
			put_special(draft, text.data[0]);
		else
			allo_draft_text(draft, (struct allo_text){ text.data, len });
		text = allo_text_from(text, len > 0 ? len : 1);
	}
	allo_draft_string(draft, "\"");
}

size_t allo_draft_end(struct allo_draft *draft)
{
	if (draft->room > 0)
		draft->text[draft->len < draft->room ? draft->len : draft->room - 1] = '\0';
	return draft->len;
}
