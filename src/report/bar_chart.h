/*
 * bar_chart.h - histograms of blocks and bytes as an SVG file.
 */
#ifndef ALLO_REPORT_BAR_CHART_H
#define ALLO_REPORT_BAR_CHART_H

#include "report/svg_page.h"

struct allo_bar {
	const char *range; /* "17 - 32 B" */
	uint64_t blocks, bytes;
};

/* A row for each bar: blocks and bytes, each with its own scale. */
struct allo_bar_group {
	const char *title; /* "size" */
	const struct allo_bar *bars;
	size_t count;
};

struct allo_bar_chart {
	struct allo_text title, subtitle;
	const struct allo_bar_group *groups;
	size_t group_count;
	const char *remark; /* the last line; "" for none */
	bool is_estimated;
};

void allo_bar_chart_write(const struct allo_bar_chart *chart, struct allo_output *out);

#endif
