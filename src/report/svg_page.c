/* svg_page.c - see svg_page.h. */
#include "report/svg_page.h"

#include "base/encoding/xml.h"
#include "base/utf8.h"

#include <stdio.h>

/* picture.css and charts.css; the build turns them into strings. */
extern const char allo_picture_css[], allo_charts_css[];

enum {
	TITLE_COLUMNS = 96,
	SUBTITLE_COLUMNS = 145,
	KEY_COLUMNS = 44,
	LETTER_TENTHS =
		76,     /* width of an average letter of a small picture, in tenths of a pixel */
	KEY_SPACE = 34, /* pixels of a key besides its letters */
	KEY_LINE = 20,
};

void allo_svg_text(struct allo_output *out, struct allo_text text, size_t columns)
{
	struct allo_text fitting = allo_utf8_first_columns(text, columns);

	if (fitting.len == text.len) {
		allo_xml_text(out, text);
		return;
	}
	allo_xml_text(out, allo_utf8_first_columns(text, columns - 1));
	allo_output_string(out, "\xe2\x80\xa6");
}

void allo_svg_begin(struct allo_output *out, struct allo_text title, struct allo_text subtitle,
		    unsigned height)
{
	allo_output_printf(out,
			   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\" "
			   "viewBox=\"0 0 %d %u\" class=\"allo chart\">\n<title>",
			   ALLO_SVG_WIDTH, height, ALLO_SVG_WIDTH, height);
	allo_svg_text(out, title, TITLE_COLUMNS);
	allo_output_string(out, "</title>\n<desc>");
	allo_svg_text(out, subtitle, SUBTITLE_COLUMNS);
	allo_output_string(out, "</desc>\n<style><![CDATA[\n");
	allo_output_string(out, allo_picture_css);
	allo_output_string(out, allo_charts_css);
	allo_output_printf(out,
			   "]]></style>\n"
			   "<rect id=\"page\" width=\"100%%\" height=\"100%%\"/>\n"
			   "<text id=\"title\" x=\"%d\" y=\"29\">",
			   ALLO_SVG_MARGIN);
	allo_svg_text(out, title, TITLE_COLUMNS);
	allo_output_printf(out, "</text>\n<text id=\"subtitle\" x=\"%d\" y=\"50\">",
			   ALLO_SVG_MARGIN);
	allo_svg_text(out, subtitle, SUBTITLE_COLUMNS);
	allo_output_string(out, "</text>\n");
}

void allo_svg_end(struct allo_output *out, const char *remark, unsigned y)
{
	allo_output_printf(out,
			   "<text class=\"small\" x=\"%d\" y=\"%u\">%sDrawn by allo " ALLO_VERSION
			   ".</text>\n</svg>\n",
			   ALLO_SVG_MARGIN, y, remark);
}

static unsigned key_width(const struct allo_svg_key *key)
{
	size_t columns = allo_utf8_columns(allo_utf8_first_columns(key->name, KEY_COLUMNS));

	return (unsigned)columns * LETTER_TENTHS / 10 + KEY_SPACE;
}

/* Keys of a line flow one after the other, whatever the size of letters is. */
static void put_key(struct allo_output *out, const struct allo_svg_key *key)
{
	allo_output_printf(out, "<tspan class=\"key %s\">\xe2\x96\xa0</tspan> <tspan>", key->class);
	allo_svg_text(out, key->name, KEY_COLUMNS);
	allo_output_string(out, "</tspan> \xc2\xa0 \xc2\xa0 ");
}

static void begin_line(struct allo_output *out, unsigned y, bool is_first)
{
	allo_output_printf(out, "%s<text class=\"keys\" x=\"%d\" y=\"%u\">",
			   is_first ? "" : "</text>\n", ALLO_SVG_MARGIN, y);
}

unsigned allo_svg_legend(struct allo_output *out, const struct allo_svg_key *keys, size_t count,
			 unsigned top)
{
	unsigned x = ALLO_SVG_WIDTH, y = top - 6;

	for (size_t i = 0; i < count; i++) {
		unsigned width = key_width(&keys[i]);

		if (x + width > ALLO_SVG_WIDTH) {
			x = ALLO_SVG_MARGIN;
			y += KEY_LINE;
			if (out)
				begin_line(out, y, i == 0);
		}
		if (out)
			put_key(out, &keys[i]);
		x += width;
	}
	if (count > 0 && out)
		allo_output_string(out, "</text>\n");
	return count > 0 ? y + 6 - top : 0;
}

static uint64_t next_step(uint64_t step, enum allo_unit unit)
{
	uint64_t power = 1;

	if (unit == ALLO_UNIT_BYTES)
		return step * 2;
	while (step / power >= 10)
		power *= 10;
	return step / power == 2 ? power * 5 : step * 2;
}

uint64_t allo_svg_step(uint64_t length, unsigned most_lines, enum allo_unit unit)
{
	uint64_t step = 1;

	while (length / step > most_lines && step < UINT64_MAX / 10)
		step = next_step(step, unit);
	return step;
}

/* "40 M", where the number has only that many digits. */
static bool label_count(uint64_t value, char out[ALLO_NUMBER_SIZE])
{
	static const struct {
		uint64_t size;
		char name;
	} units[] = { { 1000000000, 'G' }, { 1000000, 'M' }, { 1000, 'k' } };

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		if (value < units[i].size * 10 || value % units[i].size != 0)
			continue;
		snprintf(out, ALLO_NUMBER_SIZE, "%llu %c",
			 (unsigned long long)(value / units[i].size), units[i].name);
		return true;
	}
	return false;
}

const char *allo_svg_label(uint64_t value, enum allo_unit unit, char out[ALLO_NUMBER_SIZE])
{
	char *point, *end, *last;

	if (unit == ALLO_UNIT_COUNT && label_count(value, out))
		return out;
	allo_format((struct allo_number){ value }, unit, false, out);
	point = strchr(out, '.');
	if (!point)
		return out;
	end = last = point + strcspn(point, " ");
	while (last[-1] == '0')
		last--;
	if (last - 1 == point)
		last--;
	memmove(last, end, strlen(end) + 1);
	return out;
}
