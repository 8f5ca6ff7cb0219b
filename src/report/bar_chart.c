/* bar_chart.c - see bar_chart.h. */
#include "report/bar_chart.h"

#include "base/encoding/xml.h"

/* Pixels. */
enum {
	ROW = 22,
	BAR = 14,
	HEAD = 26,
	GAP = 18, /* between groups */
	FOOT = 30,
	RANGE_END = 196, /* ranges are right-aligned */
	BLOCKS_X = 208,
	BLOCKS_WIDE = 230,
	BYTES_X = 600,
	BYTES_WIDE = 190,
	RIGHT = ALLO_SVG_WIDTH - ALLO_SVG_MARGIN,
};

/* The sums of a group, and the longest bars. */
struct sums {
	double blocks, bytes;
	uint64_t most_blocks, most_bytes;
};

static struct sums sum_group(const struct allo_bar_group *group)
{
	struct sums sums = { 0 };

	for (size_t i = 0; i < group->count; i++) {
		const struct allo_bar *bar = &group->bars[i];

		sums.blocks += (double)bar->blocks;
		sums.bytes += (double)bar->bytes;
		sums.most_blocks = bar->blocks > sums.most_blocks ? bar->blocks : sums.most_blocks;
		sums.most_bytes = bar->bytes > sums.most_bytes ? bar->bytes : sums.most_bytes;
	}
	return sums;
}

/* A bar and its number; anything but zero is visible. */
static void put_bar(struct allo_output *out, const char *class, int x, int y, double length)
{
	if (length > 0)
		allo_output_printf(out,
				   "<rect class=\"area %s\" x=\"%d\" y=\"%d\" width=\"%.1f\" "
				   "height=\"%d\" rx=\"2\"/>\n",
				   class, x, y + (ROW - BAR) / 2, length < 1.5 ? 1.5 : length, BAR);
}

static double length_of(uint64_t value, uint64_t most, int width)
{
	return most > 0 ? (double)value / (double)most * width : 0;
}

static const char *amount(const struct allo_bar_chart *chart, uint64_t value, enum allo_unit unit,
			  char text[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ value, false, chart->is_estimated }, unit, false,
			   text);
}

static void put_tip(const struct allo_bar_chart *chart, struct allo_output *out,
		    const struct allo_bar *bar, const struct sums *sums, int y)
{
	char text[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	allo_output_printf(out,
			   "<rect class=\"hit\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">"
			   "<title>",
			   ALLO_SVG_MARGIN, y, RIGHT - ALLO_SVG_MARGIN, ROW);
	allo_xml_text(out, allo_text_of(bar->range));
	allo_output_printf(out, "\n%s blocks, %s of all",
			   amount(chart, bar->blocks, ALLO_UNIT_COUNT, text),
			   allo_format_share((double)bar->blocks, sums->blocks, share));
	allo_output_printf(out, "\n%s, %s of all</title></rect>\n",
			   amount(chart, bar->bytes, ALLO_UNIT_BYTES, text),
			   allo_format_share((double)bar->bytes, sums->bytes, share));
}

static void put_row(const struct allo_bar_chart *chart, struct allo_output *out,
		    const struct allo_bar *bar, const struct sums *sums, int y)
{
	double blocks = length_of(bar->blocks, sums->most_blocks, BLOCKS_WIDE);
	double bytes = length_of(bar->bytes, sums->most_bytes, BYTES_WIDE);
	char text[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];
	int base = y + ROW / 2 + 4;

	allo_output_printf(out, "<text class=\"end\" x=\"%d\" y=\"%d\">", RANGE_END, base);
	allo_xml_text(out, allo_text_of(bar->range));
	allo_output_string(out, "</text>\n");
	put_bar(out, "g0", BLOCKS_X, y, blocks);
	allo_output_printf(out,
			   "<text x=\"%.1f\" y=\"%d\">%s<tspan class=\"axis minor\" dx=\"7\">%s"
			   "</tspan></text>\n",
			   BLOCKS_X + blocks + 7, base,
			   amount(chart, bar->blocks, ALLO_UNIT_COUNT, text),
			   allo_format_share((double)bar->blocks, sums->blocks, share));
	put_bar(out, "g6", BYTES_X, y, bytes);
	allo_output_printf(out,
			   "<text x=\"%.1f\" y=\"%d\">%s<tspan class=\"axis minor\" dx=\"7\">%s"
			   "</tspan></text>\n",
			   BYTES_X + bytes + 7, base,
			   amount(chart, bar->bytes, ALLO_UNIT_BYTES, text),
			   allo_format_share((double)bar->bytes, sums->bytes, share));
	put_tip(chart, out, bar, sums, y);
}

static void put_line(struct allo_output *out, int x, int top, int bottom)
{
	allo_output_printf(out, "<line class=\"floor\" x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\"/>\n",
			   x, top, x, bottom);
}

/* Returns the y below it. */
static int put_group(const struct allo_bar_chart *chart, struct allo_output *out,
		     const struct allo_bar_group *group, int y)
{
	struct sums sums = sum_group(group);
	int top = y + HEAD;

	allo_output_printf(out, "<text class=\"head end\" x=\"%d\" y=\"%d\">", RANGE_END, y + 16);
	allo_xml_text(out, allo_text_of(group->title));
	allo_output_printf(out,
			   "</text>\n<text class=\"head\" x=\"%d\" y=\"%d\">blocks</text>\n"
			   "<text class=\"head\" x=\"%d\" y=\"%d\">bytes</text>\n",
			   BLOCKS_X, y + 16, BYTES_X, y + 16);
	for (size_t i = 0; i < group->count; i++)
		put_row(chart, out, &group->bars[i], &sums, top + (int)i * ROW);
	y = top + (int)group->count * ROW;
	put_line(out, BLOCKS_X - 1, top, y);
	put_line(out, BYTES_X - 1, top, y);
	return y + GAP;
}

void allo_bar_chart_write(const struct allo_bar_chart *chart, struct allo_output *out)
{
	int y = ALLO_SVG_TOP, height = ALLO_SVG_TOP;

	for (size_t i = 0; i < chart->group_count; i++)
		height += HEAD + (int)chart->groups[i].count * ROW + GAP;
	allo_svg_begin(out, chart->title, chart->subtitle, (unsigned)height + FOOT - GAP);
	allo_output_string(out, "<g class=\"rows\">\n");
	for (size_t i = 0; i < chart->group_count; i++)
		y = put_group(chart, out, &chart->groups[i], y);
	allo_output_string(out, "</g>\n");
	allo_svg_end(out, chart->remark, (unsigned)height + FOOT - GAP - 10);
}
