/*
 * svg_page.h - the page around a chart: style, title, legend, foot.
 *
 * A chart is one SVG file without a script.  It looks like the flame graph (writers/write_svg.c):
 * both have picture.css.
 */
#ifndef ALLO_REPORT_SVG_PAGE_H
#define ALLO_REPORT_SVG_PAGE_H

#include "base/io/output.h"
#include "base/units.h"

/* Pixels. */
enum {
	ALLO_SVG_WIDTH = 960,
	ALLO_SVG_MARGIN = 12,
	ALLO_SVG_TOP = 62, /* of what is below the title */
};

/* Begins a file.  The title and the line below it are cut if they are too long. */
void allo_svg_begin(struct allo_output *out, struct allo_text title, struct allo_text subtitle,
		    unsigned height);

/* Writes the last line, which begins with `remark`, and ends the file.  `y` is its baseline. */
void allo_svg_end(struct allo_output *out, const char *remark, unsigned y);

/* Writes text, cut to a number of columns. */
void allo_svg_text(struct allo_output *out, struct allo_text text, size_t columns);

/* A colour, by its classes, and its meaning. */
struct allo_svg_key {
	const char *class;
	struct allo_text name;
};

/* Writes a legend and returns its height.  `out` NULL: only measures. */
unsigned allo_svg_legend(struct allo_output *out, const struct allo_svg_key *keys, size_t count,
			 unsigned top);

/* The distance of the lines of a scale that has at most `most_lines` of them: a power of two of
 * bytes; else 1, 2 or 5 times a power of ten.  At least 1. */
uint64_t allo_svg_step(uint64_t length, unsigned most_lines, enum allo_unit unit);

/* "128 KiB", "40 M": without decimals that are zero. */
const char *allo_svg_label(uint64_t value, enum allo_unit unit, char out[ALLO_NUMBER_SIZE]);

#endif
