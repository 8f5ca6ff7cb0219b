/*
 * chart.h - charts and bars drawn with characters.
 *
 * Unicode's block elements have eight heights to a character, ASCII has three.
 */
#ifndef ALLO_REPORT_CHART_H
#define ALLO_REPORT_CHART_H

#include "base/io/output.h"
#include "base/units.h"
#include "report/terminal.h"

/* Numbers over time: each is the maximum of a step.  All steps but the last have the same length.
 */
struct allo_chart {
	const uint64_t *values;
	size_t count;
	uint64_t from_ns, step_ns, end_ns; /* start of the first step, length, end of the last */
	enum allo_unit unit;
	const char *unit_end; /* after each number of the scale: "/s", or "" */
	/* An instant to point at, and its label; NULL: none. */
	uint64_t mark_ns;
	const char *mark;
	/* Columns of a line, and rows of the picture without its scale. */
	size_t columns, rows;
	uint64_t also_fits; /* most of another chart: the scales of both have the same width */
	bool is_ascii, is_plain;
	bool is_estimated; /* the numbers are */
	struct allo_style style;
};

/* Draws the picture with its mark above, a scale at the left and times below. */
void allo_chart_draw(const struct allo_chart *chart, struct allo_output *out);

/* The value of each of `columns` columns: the maximum of the steps that it overlaps. */
void allo_chart_columns(const struct allo_chart *chart, size_t columns, uint64_t *values);

/* Numbers over time without a scale, in few rows.  The scale reaches from `low` to `high`. */
struct allo_spark {
	const uint64_t *values;
	size_t count;
	uint64_t low, high;
	size_t columns, rows; /* of the picture; few values take fewer columns */
	bool is_ascii;
};

/* Draws one of the rows, from the top; spaces fill it up. */
void allo_spark_draw(const struct allo_spark *spark, size_t row, struct allo_output *out);

/* A bar whose length is to `columns` as `value` is to `most`; any value but zero has at least the
 * thinnest one.  In `out`, which has room for 4 * columns + 1 bytes and is returned. */
const char *allo_chart_bar(char *out, uint64_t value, uint64_t most, size_t columns, bool is_ascii);

#endif
