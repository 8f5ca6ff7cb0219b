/* show.c - cuts, wraps and formats. */
#include "report/show.h"

#include "base/utf8.h"
#include "profile/naming.h"

#include <stdio.h>

void allo_show_cut(struct allo_output *out, struct allo_text text, size_t columns, bool is_ascii)
{
	const char *ellipsis = is_ascii ? "..." : "\xe2\x80\xa6"; /* U+2026 */
	size_t all = allo_utf8_columns(text), dots = is_ascii ? 3 : 1, back;
	struct allo_text front, rest;

	if (columns == 0 || all <= columns) {
		allo_output_printable(out, text);
		return;
	}
	back = columns > 2 * dots ? (columns - dots) / 2 : 0;
	front = allo_utf8_first_columns(text, columns - dots - back);
	rest = allo_text_from(text, allo_utf8_first_columns(text, all - back).len);
	allo_output_printable(out, front);
	allo_output_string(out, ellipsis);
	allo_output_printable(out, rest);
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
