/*
 * time_chart.c - draws areas, lines and marks over one axis of time.
 *
 * Resident memory shares the scale of the heap, unless it is so much larger that the heap would be
 * flat: then it has a panel below.
 */
#include "report/time_chart.h"

#include "base/encoding/xml.h"
#include "base/utf8.h"

#include <stdio.h>

/* Pixels. */
enum {
	LEFT = 88,
	RIGHT = ALLO_SVG_WIDTH - ALLO_SVG_MARGIN,
	WIDE = RIGHT - LEFT,
	FLAGS = 20, /* height of the names of marks */
	HIGH = 280, /* of the panel of the heap */
	LOW = 80,   /* of the panel of resident memory */
	GAP = 26,
	AXIS = 24, /* of the times below */
	FOOT = 26,
	LETTER = 7,
	FLAG_COLUMNS = 24,
	HIT = 3, /* width of what shows a tooltip, at least */
};

enum {
	APART = 2,      /* times the heap: resident memory needs a panel */
	TIP_AREAS = 12, /* in a tooltip */
	TIP_MARKS = 4,
	VALUE_LINES = 5, /* of a scale */
	LOW_LINES = 2,
	TIME_LINES = 8,
};

/* A scale from 0. */
struct panel {
	int top, height;
	uint64_t most; /* value at the top */
	unsigned lines;
	enum allo_unit unit;
	const char *unit_end;
};

struct drawing {
	const struct allo_time_chart *chart;
	struct allo_output *out;
	struct panel main, low;
	bool has_low;     /* resident memory has a panel */
	int floor;        /* y of the axis of time */
	size_t next_mark; /* whose tooltip is still to come */
};

/* Places. */

static double x_of(const struct drawing *d, uint64_t ns)
{
	const struct allo_time_chart *chart = d->chart;
	uint64_t length = chart->end_ns - chart->from_ns;

	if (ns <= chart->from_ns || length == 0)
		return LEFT;
	if (ns >= chart->end_ns)
		return RIGHT;
	return LEFT + WIDE * ((double)(ns - chart->from_ns) / (double)length);
}

static uint64_t start_of(const struct allo_time_chart *chart, size_t step)
{
	return chart->from_ns + step * chart->step_ns;
}

static uint64_t end_of(const struct allo_time_chart *chart, size_t step)
{
	return step + 1 < chart->count ? start_of(chart, step + 1) : chart->end_ns;
}

static double y_of(const struct panel *panel, double value)
{
	double part = panel->most > 0 ? value / (double)panel->most : 0;

	return panel->top + panel->height * (1 - (part > 1 ? 1 : part));
}

static uint64_t largest(const uint64_t *values, size_t count)
{
	uint64_t most = 0;

	for (size_t i = 0; i < count && values; i++)
		most = values[i] > most ? values[i] : most;
	return most;
}

/* The sum of the areas up to and including one. */
static double stacked(const struct allo_time_chart *chart, size_t areas, size_t step)
{
	double sum = 0;

	for (size_t i = 0; i < areas; i++)
		sum += (double)chart->areas[i].values[step];
	return sum;
}

static uint64_t most_of_all(const struct allo_time_chart *chart)
{
	uint64_t most = largest(chart->whole ? chart->whole->values : NULL, chart->count);

	for (size_t i = 0; i < chart->count; i++) {
		double sum = stacked(chart, chart->area_count, i);

		most = sum > (double)most ? (uint64_t)sum : most;
	}
	return most > chart->peak ? most : chart->peak;
}

/* Lines are at whole steps; the top has room for the label of the peak. */
static void set_scale(struct panel *panel, uint64_t most)
{
	uint64_t step = allo_svg_step(most, panel->lines, panel->unit);

	panel->most = most + most / 8 < step ? step : most + most / 8;
}

/* Text. */

static const char *number(const struct drawing *d, uint64_t value, char text[ALLO_NUMBER_SIZE + 8])
{
	char plain[ALLO_NUMBER_SIZE];
	struct allo_number amount = { value, false, d->chart->is_estimated };

	snprintf(text, ALLO_NUMBER_SIZE + 8, "%s%s",
		 allo_format(amount, d->chart->unit, false, plain), d->chart->unit_end);
	return text;
}

static void put_number(struct drawing *d, const char *before, uint64_t value, const char *after)
{
	char text[ALLO_NUMBER_SIZE + 8];

	allo_output_printf(d->out, "%s%s%s", before, number(d, value, text), after);
}

/* Times have as many digits as their neighbours need. */
static void put_time(struct drawing *d, uint64_t ns)
{
	char text[ALLO_NUMBER_SIZE];

	allo_output_string(d->out, ns == 0 ? "0 s" : allo_svg_label(ns, ALLO_UNIT_NS, text));
}

/* Scales. */

static void put_line(struct drawing *d, const char *class, double x1, double y1, double x2,
		     double y2)
{
	allo_output_printf(d->out,
			   "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n",
			   class, x1, y1, x2, y2);
}

static void put_scale(struct drawing *d, const struct panel *panel)
{
	uint64_t step = allo_svg_step(panel->most, panel->lines, panel->unit);
	char text[ALLO_NUMBER_SIZE];

	for (uint64_t value = 0; value <= panel->most; value += step) {
		double y = y_of(panel, (double)value);

		if (value > 0)
			put_line(d, "grid", LEFT, y, RIGHT, y);
		allo_output_printf(d->out,
				   "<text class=\"axis end\" x=\"%d\" y=\"%.1f\">%s%s</text>\n",
				   LEFT - 8, y + 4,
				   value == 0 ? "0" : allo_svg_label(value, panel->unit, text),
				   value == 0 ? "" : panel->unit_end);
		if (panel->most - value < step)
			break;
	}
	put_line(d, "floor", LEFT, panel->top + panel->height, RIGHT, panel->top + panel->height);
}

/* Every second time has the class "minor", which small pictures hide. */
static void put_times(struct drawing *d)
{
	const struct allo_time_chart *chart = d->chart;
	uint64_t step = allo_svg_step(chart->end_ns - chart->from_ns, TIME_LINES, ALLO_UNIT_NS);
	uint64_t ns = (chart->from_ns + step - 1) / step * step;

	for (; ns >= chart->from_ns && ns <= chart->end_ns; ns += step) {
		double x = x_of(d, ns);

		put_line(d, "floor", x, d->floor, x, d->floor + 5);
		allo_output_printf(d->out, "<text class=\"axis %s%s\" x=\"%.1f\" y=\"%d\">",
				   x > RIGHT - 20 ? "end" : "middle", ns / step % 2 ? " minor" : "",
				   x, d->floor + 18);
		put_time(d, ns);
		allo_output_string(d->out, "</text>\n");
		if (ns > UINT64_MAX - step)
			break;
	}
}

/* Courses. */

/* The upper edge of a course from a step on; a step is a level.  Equal levels are one. */
static void put_levels(struct drawing *d, const struct panel *panel, const double *levels,
		       size_t first, bool is_backward)
{
	const struct allo_time_chart *chart = d->chart;
	double before = -1;

	for (size_t k = first; k < chart->count; k++) {
		size_t i = is_backward ? chart->count - 1 - k : k;
		double y = y_of(panel, levels[i]);
		double x = x_of(d, is_backward ? end_of(chart, i) : start_of(chart, i));

		if (k == first && !is_backward)
			allo_output_printf(d->out, "M%.1f %.1f", x, y);
		else if (y > before + 0.04 || y < before - 0.04)
			allo_output_printf(d->out, "H%.1fV%.1f", x, y);
		else
			continue;
		before = y;
	}
	if (chart->count > 0)
		allo_output_printf(d->out, "H%.1f",
				   x_of(d, is_backward ? start_of(chart, 0) : chart->end_ns));
}

static void put_area(struct drawing *d, const char *class, const double *upper, const double *lower)
{
	allo_output_printf(d->out, "<path class=\"%s\" d=\"", class);
	put_levels(d, &d->main, upper, 0, false);
	put_levels(d, &d->main, lower, 0, true);
	allo_output_string(d->out, "Z\"/>\n");
}

static void put_course(struct drawing *d, const char *class, const struct panel *panel,
		       const double *levels, size_t first)
{
	allo_output_printf(d->out, "<path class=\"%s\" d=\"", class);
	put_levels(d, panel, levels, first, false);
	allo_output_string(d->out, "\"/>\n");
}

static const char *colour_of(const struct allo_time_chart *chart, size_t area, char class[16])
{
	if (chart->has_rest && area + 1 == chart->area_count)
		return "other";
	snprintf(class, 16, "g%u", (unsigned)(area % ALLO_CHART_COLOURS));
	return class;
}

static void set_levels(double *levels, const uint64_t *values, size_t count)
{
	for (size_t i = 0; i < count; i++)
		levels[i] = values ? (double)values[i] : 0;
}

/* One area: what varies within its steps is pale. */
static void put_single(struct drawing *d, double *upper, double *lower, const double *zero)
{
	const struct allo_time_chart *chart = d->chart;
	const struct allo_course *area = &chart->areas[0];

	set_levels(upper, area->values, chart->count);
	set_levels(lower, area->least ? area->least : area->values, chart->count);
	put_area(d, "area g0", lower, zero);
	if (area->least)
		put_area(d, "band g0", upper, lower);
	put_course(d, "edge", &d->main, upper, 0);
}

static void put_stack(struct drawing *d, double *upper, double *lower)
{
	const struct allo_time_chart *chart = d->chart;
	char colour[16], class[32];

	for (size_t i = 0; i < chart->area_count; i++) {
		for (size_t k = 0; k < chart->count; k++) {
			lower[k] = stacked(chart, i, k);
			upper[k] = lower[k] + (double)chart->areas[i].values[k];
		}
		snprintf(class, sizeof(class), "area %s", colour_of(chart, i, colour));
		put_area(d, class, upper, lower);
	}
}

/* Resident memory is not known before its first sample. */
static size_t first_known(const uint64_t *rss, size_t count)
{
	size_t first = 0;

	while (first + 1 < count && rss[first] == 0)
		first++;
	return first;
}

static void put_courses(struct drawing *d)
{
	const struct allo_time_chart *chart = d->chart;
	ALLO_VEC(double) levels = { 0 };
	size_t count = chart->count;

	if (!allo_vec_cover(&levels, 3 * count + 1)) {
		allo_output_fail_memory(d->out);
		return;
	}
	if (chart->area_count == 1)
		put_single(d, levels.at, levels.at + count, levels.at + 2 * count);
	else
		put_stack(d, levels.at, levels.at + count);
	if (chart->whole) {
		set_levels(levels.at, chart->whole->values, count);
		put_course(d, "whole", &d->main, levels.at, 0);
	}
	if (chart->rss) {
		set_levels(levels.at, chart->rss, count);
		put_course(d, "rss", d->has_low ? &d->low : &d->main, levels.at,
			   first_known(chart->rss, count));
	}
	allo_vec_done(&levels);
}

/* Marks and the peak. */

/* A name is left out where it would cover the one before; tooltips have all. */
static void put_marks(struct drawing *d)
{
	const struct allo_time_chart *chart = d->chart;
	double line = -1, name_end = 0;
	char text[ALLO_NUMBER_SIZE];

	for (size_t i = 0; i < chart->mark_count; i++) {
		const struct allo_time_mark *mark = &chart->marks[i];
		double x = x_of(d, mark->ns);
		struct allo_text name = allo_utf8_first_columns(mark->name, FLAG_COLUMNS);
		double width = LETTER * (double)allo_utf8_columns(name) + LETTER;
		double from = x + width > RIGHT ? RIGHT - width : x;

		if (x < line + 1)
			continue;
		line = x;
		put_line(d, "mark", x, d->main.top - 4, x, d->floor);
		if (from < name_end)
			continue;
		name_end = from + width;
		allo_output_printf(d->out, "<text class=\"flag\" x=\"%.1f\" y=\"%d\">", from,
				   d->main.top - 9);
		allo_svg_text(d->out, mark->name, FLAG_COLUMNS);
		allo_output_string(d->out, "<title>");
		allo_svg_text(d->out, mark->name, 1000);
		allo_output_printf(
			d->out, "\nat %s</title></text>\n",
			allo_format((struct allo_number){ mark->ns }, ALLO_UNIT_NS, false, text));
	}
}

static void put_peak(struct drawing *d)
{
	const struct allo_time_chart *chart = d->chart;
	double x = x_of(d, chart->peak_ns), y = y_of(&d->main, (double)chart->peak);
	bool is_right = x > LEFT + WIDE * 0.62;

	if (chart->peak == 0)
		return;
	allo_output_printf(d->out, "<circle class=\"dot\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"/>\n", x,
			   y);
	allo_output_printf(d->out, "<text class=\"point%s\" x=\"%.1f\" y=\"%.1f\">%s</text>\n",
			   is_right ? " end" : "", is_right ? x - 8 : x + 8, y - 7,
			   chart->peak_label);
}

/* Tooltips. */

/* The tooltips of narrow steps are one, with the most of all. */
struct tip {
	size_t first, count; /* steps */
};

static uint64_t most_within(const struct tip *tip, const uint64_t *values)
{
	return values ? largest(values + tip->first, tip->count) : 0;
}

static uint64_t least_within(const struct tip *tip, const uint64_t *values)
{
	uint64_t least = values[tip->first];

	for (size_t i = 1; i < tip->count; i++)
		least = values[tip->first + i] < least ? values[tip->first + i] : least;
	return least;
}

static void put_tip_areas(struct drawing *d, const struct tip *tip)
{
	const struct allo_time_chart *chart = d->chart;
	size_t shown = 0;

	/* As they are stacked: the topmost first. */
	for (size_t i = chart->area_count; i-- > 0 && shown < TIP_AREAS;) {
		const struct allo_course *area = &chart->areas[i];
		uint64_t most = most_within(tip, area->values);

		if (most == 0 && chart->area_count > 1)
			continue;
		shown++;
		allo_output_byte(d->out, '\n');
		allo_svg_text(d->out, area->name, 60);
		put_number(d, ": ", most, area->least ? " at most" : "");
		if (area->least)
			put_number(d, ", ", least_within(tip, area->least), " at least");
	}
}

static void put_tip_marks(struct drawing *d, uint64_t end_ns)
{
	const struct allo_time_chart *chart = d->chart;

	for (size_t shown = 0;
	     d->next_mark < chart->mark_count && chart->marks[d->next_mark].ns < end_ns;
	     d->next_mark++, shown++) {
		if (shown >= TIP_MARKS)
			continue;
		allo_output_string(d->out, "\nmark ");
		allo_svg_text(d->out, chart->marks[d->next_mark].name, 60);
	}
}

static void put_tip(struct drawing *d, const struct tip *tip)
{
	const struct allo_time_chart *chart = d->chart;
	uint64_t end_ns = end_of(chart, tip->first + tip->count - 1);
	uint64_t rss = most_within(tip, chart->rss);

	put_time(d, start_of(chart, tip->first));
	allo_output_string(d->out, " to ");
	put_time(d, end_ns);
	if (chart->whole)
		put_number(d, "\nall: ", most_within(tip, chart->whole->values), " at most");
	put_tip_areas(d, tip);
	if (rss > 0)
		put_number(d, "\nresident memory: ", rss, "");
	put_tip_marks(d, end_ns);
}

static void put_tips(struct drawing *d)
{
	const struct allo_time_chart *chart = d->chart;
	size_t first = 0;

	for (size_t i = 0; i < chart->count; i++) {
		double x = x_of(d, start_of(chart, first)), end = x_of(d, end_of(chart, i));

		if (end - x < HIT && i + 1 < chart->count)
			continue;
		allo_output_printf(d->out,
				   "<rect class=\"hit\" x=\"%.1f\" y=\"%d\" width=\"%.1f\" "
				   "height=\"%d\"><title>",
				   x, d->main.top, end - x, d->floor - d->main.top);
		put_tip(d, &(struct tip){ first, i + 1 - first });
		allo_output_string(d->out, "</title></rect>\n");
		first = i + 1;
	}
}

/* The legend. */

enum { MOST_KEYS = 256 };

static size_t list_keys(const struct drawing *d, struct allo_svg_key *keys, char (*classes)[16])
{
	const struct allo_time_chart *chart = d->chart;
	size_t count = 0;

	for (size_t i = 0; i < chart->area_count && count < MOST_KEYS - 3; i++) {
		keys[count] = (struct allo_svg_key){ colour_of(chart, i, classes[count]),
						     chart->areas[i].name };
		count++;
	}
	if (chart->area_count == 1 && chart->areas[0].least)
		keys[count++] = (struct allo_svg_key){ "g0 band",
						       ALLO_TEXT("varies within a step") };
	if (chart->whole)
		keys[count++] = (struct allo_svg_key){ "whole", chart->whole->name };
	if (chart->rss)
		keys[count++] = (struct allo_svg_key){ "rss", ALLO_TEXT("resident memory") };
	return count;
}

static void lay_out(struct drawing *d)
{
	const struct allo_time_chart *chart = d->chart;
	uint64_t most = most_of_all(chart), rss = largest(chart->rss, chart->count);

	d->has_low = rss > 0 && rss / APART > most;
	d->main = (struct panel){ .top = ALLO_SVG_TOP + (chart->mark_count > 0 ? FLAGS : 4),
				  .height = HIGH,
				  .lines = VALUE_LINES,
				  .unit = chart->unit,
				  .unit_end = chart->unit_end };
	set_scale(&d->main, d->has_low || most > rss ? most : rss);
	d->floor = d->main.top + HIGH;
	if (!d->has_low)
		return;
	d->low = (struct panel){ .top = d->floor + GAP,
				 .height = LOW,
				 .lines = LOW_LINES,
				 .unit = ALLO_UNIT_BYTES,
				 .unit_end = "" };
	set_scale(&d->low, rss);
	d->floor = d->low.top + LOW;
}

void allo_time_chart_write(const struct allo_time_chart *chart, struct allo_output *out)
{
	struct drawing d = { .chart = chart, .out = out };
	struct allo_svg_key keys[MOST_KEYS];
	char classes[MOST_KEYS][16];
	size_t count = list_keys(&d, keys, classes);
	unsigned legend, bottom;

	lay_out(&d);
	legend = (unsigned)d.floor + AXIS + 8;
	bottom = legend + allo_svg_legend(NULL, keys, count, legend);
	allo_svg_begin(out, chart->title, chart->subtitle, bottom + FOOT);
	put_scale(&d, &d.main);
	if (d.has_low)
		put_scale(&d, &d.low);
	put_times(&d);
	put_courses(&d);
	put_marks(&d);
	put_peak(&d);
	put_tips(&d);
	allo_svg_legend(out, keys, count, legend);
	allo_svg_end(out, "", bottom + FOOT - 10);
}
