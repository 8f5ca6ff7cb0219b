/*
 * chart.h - numbers as pictures made of characters.
 *
 * Drawn with Unicode's block elements, eight heights to a character, or with three in ASCII.
 */
#ifndef ALLO_REPORT_CHART_H
#define ALLO_REPORT_CHART_H

#include "base/output.h"
#include "base/units.h"
#include "report/terminal.h"

/* Numbers over time: each is the most of a step, and all steps are of the same length but the last.
 */
struct allo_chart {
	const uint64_t *values;
	size_t count;
	uint64_t from_ns, step_ns, end_ns; /* of the first step; where the last one ends */
	enum allo_unit unit;
	const char *unit_end; /* behind each number of the scale: "/s", or "" */
	/* A moment to point at, and what to say there; NULL: none. */
	uint64_t mark_ns;
	const char *mark;
	/* What there is room for: columns of a line, and rows of the picture itself. */
	size_t columns, rows;
	bool is_ascii, is_plain;
	bool is_estimated; /* the numbers are */
	struct allo_style style;
};

/* The picture with its mark above, a scale on its left side and times below. */
void allo_chart_draw(const struct allo_chart *chart, struct allo_output *out);

/* What a column of `columns` stands for: the most of the steps that it shares time with. */
void allo_chart_columns(const struct allo_chart *chart, size_t columns, uint64_t *values);

/* A bar whose length is to `columns` as `value` is to `most`; any value but zero has at least the
 * thinnest one.  In `out`, which has room for 4 * columns + 1 bytes and is returned. */
const char *allo_chart_bar(char *out, uint64_t value, uint64_t most, size_t columns, bool is_ascii);

#endif
