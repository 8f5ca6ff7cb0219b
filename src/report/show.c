/* show.c - cuts, wraps and formats. */
#include "report/show.h"

#include "base/utf8.h"
#include "profile/naming.h"

#include <stdio.h>

void allo_show_json_begin(struct allo_json_out *json)
{
	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "v");
	allo_json_out_u64(json, 1);
}

void allo_show_json_begin_numbers(struct allo_json_out *json, bool are_estimated)
{
	allo_show_json_begin(json);
	if (!are_estimated)
		return;
	allo_json_out_key(json, "estimated");
	allo_json_out_bool(json, true);
}

void allo_show_json_sum(struct allo_json_out *json, allo_sum sum)
{
	struct allo_number number = allo_sum_number(sum);

	if (number.is_negative && number.magnitude <= (uint64_t)INT64_MAX)
		allo_json_out_i64(json, -(int64_t)number.magnitude);
	else if (number.is_negative)
		allo_json_out_i64(json, INT64_MIN);
	else
		allo_json_out_u64(json, number.magnitude);
}

void allo_show_json_metric(struct allo_json_out *json, const struct allo_profile *profile,
			   size_t metric)
{
	const struct allo_metric *m = &profile->metrics.at[metric];
	char scratch[ALLO_NAME_SCRATCH];

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_text(json, allo_metric_name(profile, metric, scratch));
	allo_json_out_key(json, "unit");
	allo_json_out_text(json, allo_profile_text(profile, m->unit));
	allo_json_out_key(json, "about");
	allo_json_out_string(json, allo_metric_kinds[m->meaning].about);
	allo_json_out_key(json, "adds_up");
	allo_json_out_bool(json, allo_metric_kinds[m->meaning].is_additive);
	allo_json_out_end(json);
}

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

bool allo_show_place(struct allo_table *table, bool is_csv, struct allo_text name,
		     struct allo_text file, uint64_t line, struct allo_error *err)
{
	char number[24] = "";

	if (line > 0)
		snprintf(number, sizeof(number), "%s%llu", is_csv ? "" : ":",
			 (unsigned long long)line);
	if (is_csv)
		return allo_table_cell(table, name, err) && allo_table_cell(table, file, err) &&
		       allo_table_string(table, number, err);
	if (file.len == 0)
		return allo_table_cell(table, name, err);
	return allo_table_join(table,
			       (struct allo_text[]){ name, ALLO_TEXT("  "), allo_basename(file),
						     allo_text_of(number) },
			       4, err);
}

const char *allo_show_share(double part, double whole, bool is_csv, char out[ALLO_NUMBER_SIZE])
{
	if (!is_csv)
		return allo_format_share(part, whole, out);
	snprintf(out, ALLO_NUMBER_SIZE, "%.4f", whole == 0 ? 0 : 100 * part / whole);
	return out;
}
