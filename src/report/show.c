/* show.c - cuts, wraps and formats. */
#include "report/show.h"

#include "base/utf8.h"
#include "profile/naming.h"

#include <stdio.h>

/* Where the last part of a name begins: after the last "::" that is outside of brackets. */
static size_t last_part(struct allo_text name)
{
	size_t depth = 0;

	for (size_t i = name.len; i > 1; i--) {
		char c = name.data[i - 1];

		if (c == '>' || c == ')' || c == ']' || c == '}')
			depth++;
		else if (depth > 0 && (c == '<' || c == '(' || c == '[' || c == '{'))
			depth--;
		else if (depth == 0 && c == ':' && name.data[i - 2] == ':')
			return i;
	}
	return 0;
}

/* The end of a text, of at most `columns` columns. */
static struct allo_text last_columns(struct allo_text text, size_t columns)
{
	size_t all = allo_utf8_columns(text);

	while (all > columns) {
		struct allo_text first = allo_utf8_first_columns(text, 1);

		/* A wide character does not fit into one column. */
		if (first.len == 0)
			first = allo_utf8_first_columns(text, 2);
		text = allo_text_from(text, first.len);
		all -= allo_utf8_columns(first);
	}
	return text;
}

static void put_cut(struct allo_output *out, struct allo_text text, size_t columns, size_t back,
		    const char *ellipsis)
{
	size_t dots = allo_utf8_columns(allo_text_of(ellipsis));

	allo_output_printable(out, allo_utf8_first_columns(text, columns - dots - back));
	allo_output_string(out, ellipsis);
	allo_output_printable(out, last_columns(text, back));
}

/* The last part of a name, "insert<...>  map.h:12", keeps its beginning and the place, if both
 * fit. */
static void cut_part(struct allo_output *out, struct allo_text part, size_t columns,
		     const char *ellipsis)
{
	size_t gap = allo_text_find_last(part, ALLO_TEXT("  "));
	size_t place = gap == (size_t)-1 ? 0 : allo_utf8_columns(allo_text_from(part, gap));

	put_cut(out, part, columns, place <= columns / 2 ? place : 0, ellipsis);
}

/* The first call of a chain, "burst > std::vector<char>::insert"; empty: it is no chain. */
static struct allo_text first_call(struct allo_text text)
{
	size_t depth = 0;

	for (size_t i = 0; i + 2 < text.len; i++) {
		char c = text.data[i];

		if (c == '<' || c == '(')
			depth++;
		else if (depth > 0 && (c == '>' || c == ')'))
			depth--;
		else if (depth == 0 && memcmp(text.data + i, " > ", 3) == 0)
			return (struct allo_text){ text.data, i };
	}
	return (struct allo_text){ "", 0 };
}

/* A chain keeps its first call, which is responsible, if a part of the others fits, too. */
static bool cut_chain(struct allo_output *out, struct allo_text text, size_t columns, bool is_ascii)
{
	enum { OTHERS = 8 };
	static const struct allo_text arrow = ALLO_TEXT_INIT(" > ");
	struct allo_text first = first_call(text);
	size_t used = allo_utf8_columns(first) + arrow.len;

	if (first.len == 0 || used + OTHERS > columns)
		return false;
	allo_output_printable(out, first);
	allo_output_text(out, arrow);
	allo_show_cut(out, allo_text_from(text, first.len + arrow.len), columns - used, is_ascii);
	return true;
}

void allo_show_cut(struct allo_output *out, struct allo_text text, size_t columns, bool is_ascii)
{
	const char *ellipsis = is_ascii ? "..." : "\xe2\x80\xa6"; /* U+2026 */
	size_t dots = is_ascii ? 3 : 1, back = columns > 2 * dots ? (columns - dots) / 2 : 0, last;
	struct allo_text part;

	if (columns == 0 || allo_utf8_columns(text) <= columns) {
		allo_output_printable(out, text);
		return;
	}
	if (cut_chain(out, text, columns, is_ascii))
		return;
	part = allo_text_from(text, last_part(text));
	last = allo_utf8_columns(part);
	if (part.len == text.len || last <= back || columns <= 4 * dots) {
		put_cut(out, text, columns, back, ellipsis);
	} else if (last + dots <= columns) {
		put_cut(out, text, columns, last, ellipsis);
	} else {
		allo_output_string(out, ellipsis);
		cut_part(out, part, columns - dots, ellipsis);
	}
}

/* Whether a word is a number, as in "(4.5" and "~12". */
static bool is_number(struct allo_text word)
{
	while (word.len > 0 && strchr("(~+-", word.data[0]))
		word = allo_text_from(word, 1);
	return word.len > 0 && allo_is_digit(word.data[0]) &&
	       allo_is_digit(word.data[word.len - 1]);
}

static size_t end_of_word(struct allo_text text, size_t at)
{
	while (at < text.len && text.data[at] != ' ')
		at++;
	return at;
}

struct allo_text allo_show_next(struct allo_text *rest)
{
	struct allo_text part = *rest;
	size_t from = 0, len;

	while (from < part.len && part.data[from] == ' ')
		from++;
	len = end_of_word(part, from);
	while (len < part.len && is_number((struct allo_text){ part.data + from, len - from })) {
		from = len + 1;
		len = end_of_word(part, from);
	}
	part.len = len;
	*rest = allo_text_from(*rest, len);
	return part;
}

void allo_show_flow(struct allo_output *out, struct allo_text text, size_t at, size_t width)
{
	size_t column = at;

	while (text.len > 0) {
		struct allo_text part = allo_show_next(&text);

		if (column > at && column + allo_utf8_columns(part) > width) {
			allo_output_printf(out, "\n%*s", (int)at, "");
			column = at;
			part = allo_text_trim(part);
		}
		allo_show_cut(out, part, width > column ? width - column : 0, false);
		column += allo_utf8_columns(part);
	}
}

void allo_show_wrapped(struct allo_output *out, const char *text, size_t column, size_t indent)
{
	enum { COLUMNS = 80 };
	struct allo_text rest = allo_text_of(text), paragraph, word;

	while (allo_text_next(&rest, '\n', &paragraph)) {
		bool is_first = true;

		while (allo_text_next(&paragraph, ' ', &word)) {
			size_t width = allo_utf8_columns(word);

			if (!is_first && column + 1 + width > COLUMNS) {
				allo_output_printf(out, "\n%*s", (int)indent, "");
				column = indent;
				is_first = true;
			}
			if (!is_first) {
				allo_output_byte(out, ' ');
				column++;
			}
			allo_output_text(out, word);
			column += width;
			is_first = false;
		}
		if (rest.data) {
			bool is_blank = rest.len == 0 || rest.data[0] == '\n';

			allo_output_printf(out, "\n%*s", is_blank ? 0 : (int)indent, "");
			column = indent;
		}
	}
	allo_output_byte(out, '\n');
}

const struct allo_strokes *allo_show_strokes(bool is_ascii)
{
	static const struct allo_strokes unicode = { "├─ ", "└─ ", "│  ", "   " };
	static const struct allo_strokes ascii = { "|- ", "`- ", "|  ", "   " };

	return is_ascii ? &ascii : &unicode;
}

const char *allo_show_share(double part, double whole, bool is_csv, char out[ALLO_NUMBER_SIZE])
{
	if (!is_csv)
		return allo_format_share(part, whole, out);
	snprintf(out, ALLO_NUMBER_SIZE, "%.4f", whole == 0 ? 0 : 100 * part / whole);
	return out;
}
