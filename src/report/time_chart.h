/*
 * time_chart.h - a heap over time as an SVG file.
 */
#ifndef ALLO_REPORT_TIME_CHART_H
#define ALLO_REPORT_TIME_CHART_H

#include "report/svg_page.h"

/* Numbers over time; all steps but the last have the same length. */
struct allo_course {
	struct allo_text name;
	uint64_t *values;
	uint64_t *least; /* in each step; NULL: not known.  `values` has the most then */
};

struct allo_time_mark {
	uint64_t ns;
	struct allo_text name;
};

struct allo_time_chart {
	struct allo_text title, subtitle;
	uint64_t from_ns, step_ns, end_ns; /* start of the first step, length, end of the last */
	size_t count;                      /* steps */
	enum allo_unit unit;
	const char *unit_end; /* after each number: "/s", or "" */
	bool is_estimated;
	/* Areas: one, or parts that are stacked, the first at the bottom.  The colour of the last
	 * one is grey if it is the rest. */
	const struct allo_course *areas;
	size_t area_count;
	bool has_rest;
	const struct allo_course *whole; /* a thin line above stacked areas; NULL: none */
	const uint64_t *rss;             /* NULL: none */
	const struct allo_time_mark *marks;
	size_t mark_count;
	/* An instant to point at, its value and its label. */
	uint64_t peak_ns, peak;
	const char *peak_label;
};

/* Colours of areas; those beyond have the colour of an area before. */
enum { ALLO_CHART_COLOURS = 8 };

void allo_time_chart_write(const struct allo_time_chart *chart, struct allo_output *out);

#endif
