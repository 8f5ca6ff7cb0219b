/* csv.c - quotes cells, and marks those that a spreadsheet would take for formulas. */
#include "base/encoding/csv.h"

static bool needs_quotes(struct allo_text text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (c == ',' || c == '"' || c == '\n' || c == '\r')
			return true;
	}
	/* Some readers drop spaces at the ends of unquoted fields. */
	return text.len > 0 && (text.data[0] == ' ' || text.data[text.len - 1] == ' ');
}

/* A number behind a sign, such as 12, 1.5e-07 or 3.1%. */
static bool is_number(struct allo_text text)
{
	static const char digits[] = "0123456789.";
	size_t at = 0;

	while (at < text.len && memchr(digits, text.data[at], sizeof(digits) - 1))
		at++;
	if (at == 0 || at == text.len)
		return at > 0;
	if (text.data[at] == '%')
		return at + 1 == text.len;
	if (text.data[at] != 'e')
		return false;
	at += at + 1 < text.len && (text.data[at + 1] == '-' || text.data[at + 1] == '+') ? 2 : 1;
	return at < text.len && is_number(allo_text_from(text, at));
}

/* Whether a spreadsheet takes the text for a formula. */
static bool is_formula(struct allo_text text)
{
	switch (text.len > 0 ? text.data[0] : '\0') {
	case '=':
	case '@':
	case '\t':
	case '\r':
		return true;
	case '+':
	case '-':
		return text.len > 1 && !is_number(allo_text_from(text, 1));
	default:
		return false;
	}
}

void allo_csv_put(struct allo_output *out, struct allo_text text)
{
	bool has_quotes = needs_quotes(text);
	struct allo_text before, after;

	if (has_quotes)
		allo_output_byte(out, '"');
	if (is_formula(text))
		allo_output_byte(out, '\'');
	while (has_quotes && allo_text_cut(text, '"', &before, &after)) {
		allo_output_utf8(out, before);
		allo_output_string(out, "\"\"");
		text = after;
	}
	allo_output_utf8(out, text);
	if (has_quotes)
		allo_output_byte(out, '"');
}
