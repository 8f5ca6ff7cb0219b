/* chart.c - scales values to characters; rounding is up, so that no value vanishes. */
#include "report/chart.h"

#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

enum { LEAST_COLUMNS = 8, MOST_COLUMNS = 1024 };

/* The characters of a picture. */
struct strokes {
	const char *const *heights; /* characters filled from below, by height, from 1 */
	unsigned height_count;
	const char *tick, *side, *corner, *floor, *mark;
};

static const struct strokes *strokes_of(bool is_ascii)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const letters[] = { ".", ":", "#" };
	static const struct strokes unicode = { blocks, 8, "┤", "│", "└", "─", "▼" };
	static const struct strokes ascii = { letters, 3, "|", "|", "+", "-", "v" };

	return is_ascii ? &ascii : &unicode;
}

/* `part` in units of which `whole` has `count`, rounded up. */
static uint64_t in_proportion(uint64_t part, uint64_t whole, uint64_t count)
{
	if (whole == 0)
		return 0;
	if (part > whole)
		part = whole;
	return (uint64_t)(((unsigned __int128)part * count + whole - 1) / whole);
}

static uint64_t largest(const uint64_t *values, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

static uint64_t duration_of(const struct allo_chart *chart)
{
	return chart->end_ns > chart->from_ns ? chart->end_ns - chart->from_ns : 0;
}

/* The step of a time since the start of the first one. */
static size_t step_at(const struct allo_chart *chart, uint64_t ns)
{
	uint64_t step = chart->step_ns > 0 ? ns / chart->step_ns : 0;

	return step < chart->count ? (size_t)step : chart->count - 1;
}

void allo_chart_columns(const struct allo_chart *chart, size_t columns, uint64_t *values)
{
	uint64_t duration = duration_of(chart);

	memset(values, 0, columns * sizeof(*values));
	for (size_t i = 0; i < columns && chart->count > 0; i++) {
		uint64_t start = (uint64_t)((unsigned __int128)duration * i / columns);
		uint64_t end = (uint64_t)((unsigned __int128)duration * (i + 1) / columns);
		size_t first = step_at(chart, start);
		size_t last = step_at(chart, end > start ? end - 1 : start);

		values[i] = largest(chart->values + first, last - first + 1);
	}
}

const char *allo_chart_bar(char *out, uint64_t value, uint64_t most, size_t columns, bool is_ascii)
{
	static const char *const widths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	uint64_t parts = in_proportion(value, most, is_ascii ? columns : 8 * columns);
	size_t whole = (size_t)(is_ascii ? parts : parts / 8);
	char *end = out;

	for (size_t i = 0; i < whole; i++)
		end = stpcpy(end, is_ascii ? "#" : "█");
	stpcpy(end, is_ascii ? "" : widths[parts % 8]);
	return out;
}

/* The maximum of the values in a column. */
static uint64_t spark_value(const struct allo_spark *spark, size_t column)
{
	size_t columns = spark->count < spark->columns ? spark->count : spark->columns;
	size_t first = column * spark->count / columns;
	size_t end = (column + 1) * spark->count / columns;

	return largest(spark->values + first, end - first);
}

void allo_spark_draw(const struct allo_spark *spark, size_t row, struct allo_output *out)
{
	const struct strokes *strokes = strokes_of(spark->is_ascii);
	uint64_t levels = spark->rows * strokes->height_count;
	uint64_t below = (spark->rows - 1 - row) * strokes->height_count;

	for (size_t i = 0; i < spark->columns; i++) {
		uint64_t value = i < spark->count ? spark_value(spark, i) : 0, height;

		value = value > spark->low ? value - spark->low : 0;
		/* The lowest value has the lowest character: no column is empty. */
		height = 1 + in_proportion(value, spark->high - spark->low, levels - 1);
		if (i >= spark->count || height <= below)
			allo_output_byte(out, ' ');
		else
			allo_output_string(out,
					   strokes->heights[height - below > strokes->height_count
								    ? strokes->height_count - 1
								    : height - below - 1]);
	}
}

/* Drawing. */

/* A chart while it is drawn. */
struct drawing {
	const struct allo_chart *chart;
	const struct strokes *strokes;
	struct allo_output *out;
	size_t margin;  /* columns of the numbers on the left side */
	size_t columns; /* of the picture */
	uint64_t most;
	uint64_t values[MOST_COLUMNS];
};

static void put_spaces(struct drawing *d, size_t count)
{
	allo_output_printf(d->out, "%*s", (int)count, "");
}

static void put_times(struct drawing *d, const char *stroke, size_t count)
{
	for (size_t i = 0; i < count; i++)
		allo_output_string(d->out, stroke);
}

static const char *format_value(const struct allo_chart *chart, uint64_t value,
				char out[ALLO_NUMBER_SIZE + 8])
{
	char number[ALLO_NUMBER_SIZE];

	allo_format((struct allo_number){ value, false, chart->is_estimated }, chart->unit,
		    chart->is_plain, number);
	snprintf(out, ALLO_NUMBER_SIZE + 8, "%s%s", value == 0 ? "0" : number,
		 value == 0 ? "" : chart->unit_end);
	return out;
}

static const char *format_time(uint64_t ns, char out[ALLO_NUMBER_SIZE])
{
	if (ns == 0)
		return strcpy(out, "0 s");
	return allo_format((struct allo_number){ ns, false }, ALLO_UNIT_NS, false, out);
}

/* "   v peak 412.7 MiB at 7.83 s", with the text at the left if it does not fit. */
static void draw_mark(struct drawing *d)
{
	const struct allo_chart *chart = d->chart;
	uint64_t duration = duration_of(chart), since;
	size_t column, width, before = d->margin + 2;

	if (!chart->mark || chart->mark_ns < chart->from_ns || d->most == 0)
		return;
	since = chart->mark_ns - chart->from_ns;
	column = duration ? (size_t)((unsigned __int128)since * d->columns / duration) : 0;
	if (column >= d->columns)
		column = d->columns - 1;
	width = allo_utf8_columns(allo_text_of(chart->mark)) + 1;
	if (column + 1 + width <= d->columns) {
		put_spaces(d, before + column);
		allo_output_printf(d->out, "%s%s %s%s\n", chart->style.bold, d->strokes->mark,
				   chart->mark, chart->style.reset);
	} else if (before + column >= width) {
		put_spaces(d, before + column - width);
		allo_output_printf(d->out, "%s%s %s%s\n", chart->style.bold, chart->mark,
				   d->strokes->mark, chart->style.reset);
	} else {
		put_spaces(d, before + column);
		allo_output_printf(d->out, "%s%s%s\n", chart->style.bold, d->strokes->mark,
				   chart->style.reset);
	}
}

/* The number beside a row: the maximum at the top, half of it in the middle of a tall picture. */
static bool has_label(const struct drawing *d, size_t row, uint64_t *value)
{
	size_t rows = d->chart->rows;

	if (row + 1 == rows) {
		*value = 0;
		return rows > 1 || d->most == 0;
	}
	*value = row == 0 ? d->most : d->most / 2;
	return d->most > 0 && (row == 0 || (rows >= 7 && rows % 2 == 0 && row == rows / 2));
}

static void draw_row(struct drawing *d, size_t row)
{
	const struct strokes *strokes = d->strokes;
	const struct allo_style *style = &d->chart->style;
	size_t below = (d->chart->rows - 1 - row) * strokes->height_count, blank = 0;
	char label[ALLO_NUMBER_SIZE + 8] = "";
	uint64_t value;
	bool is_labelled = has_label(d, row, &value);

	allo_output_printf(d->out, "%*s %s%s%s", (int)d->margin,
			   is_labelled ? format_value(d->chart, value, label) : "", style->dim,
			   is_labelled ? strokes->tick : strokes->side, style->reset);
	allo_output_string(d->out, style->green);
	for (size_t i = 0; i < d->columns; i++) {
		uint64_t height = in_proportion(d->values[i], d->most,
						d->chart->rows * strokes->height_count);

		if (height <= below) {
			blank++;
			continue;
		}
		put_spaces(d, blank);
		blank = 0;
		height -= below;
		if (height > strokes->height_count)
			height = strokes->height_count;
		allo_output_string(d->out, strokes->heights[height - 1]);
	}
	allo_output_printf(d->out, "%s\n", style->reset);
}

/* The line below the picture and, below it, the first, middle and last time. */
static void draw_floor(struct drawing *d)
{
	const struct allo_chart *chart = d->chart;
	char first[ALLO_NUMBER_SIZE], middle[ALLO_NUMBER_SIZE], last[ALLO_NUMBER_SIZE];
	size_t first_len, middle_len, last_len, at;

	put_spaces(d, d->margin + 1);
	allo_output_string(d->out, chart->style.dim);
	allo_output_string(d->out, d->strokes->corner);
	put_times(d, d->strokes->floor, d->columns);
	allo_output_printf(d->out, "%s\n", chart->style.reset);

	first_len = strlen(format_time(chart->from_ns, first));
	middle_len = strlen(format_time(chart->from_ns + duration_of(chart) / 2, middle));
	last_len = strlen(format_time(chart->end_ns, last));
	put_spaces(d, d->margin + 2);
	at = d->columns / 2 - (middle_len / 2 < d->columns / 2 ? middle_len / 2 : 0);
	if (first_len + 2 + last_len > d->columns) {
		allo_output_printf(d->out, "%s\n", first);
		return;
	}
	allo_output_string(d->out, first);
	if (at >= first_len + 2 && at + middle_len + 2 + last_len <= d->columns) {
		put_spaces(d, at - first_len);
		allo_output_string(d->out, middle);
		first_len = at + middle_len;
	}
	put_spaces(d, d->columns - last_len - first_len);
	allo_output_printf(d->out, "%s\n", last);
}

/* Columns of the scale of a chart. */
static size_t scale_columns(const struct allo_chart *chart, uint64_t most)
{
	char text[ALLO_NUMBER_SIZE + 8];
	size_t top = strlen(format_value(chart, most, text));
	size_t half = strlen(format_value(chart, most / 2, text));

	return half > top ? half : top;
}

void allo_chart_draw(const struct allo_chart *chart, struct allo_output *out)
{
	struct drawing d = { .chart = chart, .strokes = strokes_of(chart->is_ascii), .out = out };
	size_t other = scale_columns(chart, chart->also_fits);

	d.most = largest(chart->values, chart->count);
	d.margin = scale_columns(chart, d.most);
	if (d.margin < other)
		d.margin = other;
	d.columns = chart->columns > d.margin + 2 + LEAST_COLUMNS ? chart->columns - d.margin - 2
								  : LEAST_COLUMNS;
	if (d.columns > MOST_COLUMNS)
		d.columns = MOST_COLUMNS;
	allo_chart_columns(chart, d.columns, d.values);
	draw_mark(&d);
	for (size_t row = 0; row < chart->rows; row++)
		draw_row(&d, row);
	draw_floor(&d);
}
