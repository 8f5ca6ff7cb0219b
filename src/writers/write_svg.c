/*
 * write_svg.c - a flame graph as one SVG file that needs nothing else.
 *
 * The picture is complete without its script: boxes, names, tooltips.  The script, flamegraph.js,
 * makes it interactive; it reads all data from the boxes, and the boxes of other metrics from a
 * list: calls once, and a few numbers for each box.
 */
#include "analysis/sites/ownership.h"
#include "base/assert.h"
#include "base/defer.h"
#include "base/encoding/xml.h"
#include "base/utf8.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "profile/short_name.h"
#include "writers/flame.h"
#include "writers/writer.h"

#include <stdio.h>
#include <stdlib.h>

/* picture.css, flamegraph.css and flamegraph.js; the build turns them into strings. */
extern const char allo_picture_css[], allo_flamegraph_css[], allo_flamegraph_js[];

/* Pixels. */
enum {
	MARGIN = 12,
	ROW = 18, /* flamegraph.js has the same number */
	BOX = ROW - 1,
	GRAPH_TOP = 66,
	GRAPH_WIDTH = ALLO_FLAME_WIDTH - 2 * MARGIN,
	FOOT = 44,
	THIN = 3,           /* narrower boxes have no edge */
	NAMED = 24,         /* narrower boxes have no name */
	LETTER_TENTHS = 62, /* width of an average letter, in tenths of a pixel */
};

struct picture {
	struct allo_output *out;
	const struct allo_profile *profile;
	const struct allo_flame *flame;
	const struct allo_flame *colours; /* whose groups have the colours */
	struct allo_metric_columns columns;
	const struct allo_metric *metric;
	enum allo_unit unit;
	bool is_comparison; /* colours show growth and shrinkage */
	const char *about;  /* prefix of numbers: "~" for estimates */
	struct allo_name_buffer *buffer;
	struct allo_attribution *attribution;
	struct allo_ownership *ownership;
	bool *has_tone; /* by enum tone: some box has it */
};

/* Whose code a box is.  Own code has full colours. */
enum tone { TONE_OWN, TONE_LIBRARY, TONE_SKIPPED, TONES };

static const struct {
	const char *class, *about;
} tones[TONES] = {
	[TONE_OWN] = { "ours", "own code" },
	[TONE_LIBRARY] = { "lib", "libraries" },
	[TONE_SKIPPED] = { "skip", "skipped wrappers" },
};

/* Numbers. */

/* U+2212, a minus that is wider than a hyphen. */
#define MINUS "\xe2\x88\x92"

/* "1,178,112 bytes (1.12 MiB)", with a ~ in front where it is an estimate */
static void put_signed_amount(const struct picture *d, allo_sum sum, const char *sign)
{
	struct allo_number number = allo_sum_number(sum);
	char text[ALLO_NUMBER_SIZE];
	struct allo_text unit = allo_profile_text(d->profile, d->metric->unit);
	bool has_short_form = d->unit == ALLO_UNIT_BYTES ? number.magnitude >= 1024
							 : d->unit == ALLO_UNIT_NS;

	allo_output_string(d->out, number.magnitude > 0 ? d->about : "");
	allo_output_string(d->out, number.is_negative ? MINUS : sign);
	allo_output_string(d->out, allo_format_count(number.magnitude, text));
	if (unit.len > 0 && !allo_text_equal(unit, ALLO_TEXT("count"))) {
		allo_output_byte(d->out, ' ');
		allo_xml_text(d->out, unit);
	}
	number.is_negative = false;
	if (has_short_form)
		allo_output_printf(d->out, " (%s)", allo_format(number, d->unit, false, text));
}

static void put_amount(const struct picture *d, allo_sum sum)
{
	put_signed_amount(d, sum, "");
}

/* "+300 bytes, +30.0%", "no change", ... */
static void put_change(const struct picture *d, const struct allo_values *values)
{
	allo_sum change = values->value - values->before;
	char share[ALLO_NUMBER_SIZE];

	if (change == 0) {
		allo_output_string(d->out, "no change");
		return;
	}
	put_signed_amount(d, change, change > 0 ? "+" : "");
	if (values->before == 0)
		allo_output_string(d->out, ", new");
	else if (values->value == 0)
		allo_output_string(d->out, ", gone");
	else
		allo_output_printf(d->out, ", %s%s", change > 0 ? "+" : MINUS,
				   allo_format_share((double)(change < 0 ? -change : change),
						     (double)values->before, share));
}

/* Writes all numbers of a node on one line. */
static void put_values(const struct picture *d, const struct allo_values *values)
{
	uint64_t blocks = allo_sum_number(values->blocks).magnitude;
	char count[ALLO_NUMBER_SIZE];

	if (d->columns.has_before) {
		allo_output_string(d->out, "before ");
		put_amount(d, values->before);
		allo_output_string(d->out, ", after ");
	}
	put_amount(d, values->value);
	if (d->columns.has_blocks && !d->columns.has_before)
		allo_output_printf(d->out, " in %s%s block%s", d->about,
				   allo_format_count(blocks, count), blocks == 1 ? "" : "s");
}

/* Writes a percentage for SVG; four decimals are a thousandth of a pixel. */
static void put_percent(struct allo_output *out, double part)
{
	char text[32];
	size_t len = (size_t)snprintf(text, sizeof(text), "%.4f", 100 * part);

	while (text[len - 1] == '0')
		len--;
	if (text[len - 1] == '.')
		len--;
	allo_output_bytes(out, text, len);
	allo_output_byte(out, '%');
}

/* Names. */

static struct allo_text name_of(const struct picture *d, const struct allo_flame_box *box,
				char scratch[ALLO_NAME_SCRATCH])
{
	const struct allo_tree_node *node = &d->flame->tree.nodes.at[box->node];

	if (box->depth == 0)
		return ALLO_TEXT("all");
	return allo_call_name(d->profile, &d->profile->frames.at[node->frame], node->call, scratch);
}

/* The name in the picture; the tooltip has the full one. */
static struct allo_text short_name_of(const struct picture *d, const struct allo_flame_box *box,
				      char scratch[ALLO_NAME_SCRATCH])
{
	return allo_short_name(name_of(d, box, scratch), ALLO_NAME_BRIEF, d->buffer);
}

static bool is_inside_character(char byte)
{
	return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Writes a name; a long one loses its middle, because both ends matter. */
static void put_shortened(struct allo_output *out, struct allo_text name)
{
	size_t front = ALLO_FLAME_NAME_MAX / 2, back = name.len - ALLO_FLAME_NAME_MAX / 4;

	if (name.len <= ALLO_FLAME_NAME_MAX) {
		allo_xml_text(out, name);
		return;
	}
	while (front > 0 && is_inside_character(name.data[front]))
		front--;
	while (back < name.len && is_inside_character(name.data[back]))
		back++;
	allo_xml_text(out, (struct allo_text){ name.data, front });
	allo_output_string(out, " \xe2\x80\xa6 ");
	allo_xml_text(out, allo_text_from(name, back));
}

/* Writes the line of a call, ":42", or of one of its calls. */
static void put_line_number(const struct picture *d, const struct allo_tree_node *node)
{
	const struct allo_frame *frame = &d->profile->frames.at[node->frame];
	uint32_t line = allo_call_line(d->profile, frame, node->call).line;

	if (line > 0)
		allo_output_printf(d->out, ":%lu%s", (unsigned long)line,
				   node->has_lines ? " and other lines" : "");
}

/* Writes "src/parse.c:42, libparse.so" and `end`, or nothing if neither is known. */
static void put_place(const struct picture *d, const struct allo_flame_box *box, const char *end)
{
	const struct allo_tree_node *node = &d->flame->tree.nodes.at[box->node];
	struct allo_text file, module;

	if (box->depth == 0)
		return;
	file = allo_flame_file(d->profile, node);
	module = allo_flame_module(d->profile, node);
	put_shortened(d->out, file);
	if (file.len > 0)
		put_line_number(d, node);
	if (file.len > 0 && module.len > 0)
		allo_output_string(d->out, ", ");
	put_shortened(d->out, module);
	if (file.len + module.len > 0)
		allo_output_string(d->out, end);
}

/* Boxes. */

/* The degree of change, from -4 (all gone) to 4 (all new). */
static int degree_of_change(const struct allo_tree_node *node)
{
	double change = (double)(node->total.value - node->total.before);
	double part = node->width > 0 ? change / (double)node->width : 0;
	double size = part < 0 ? -part : part;
	int degree = size < 0.01 ? 0 : size < 0.1 ? 1 : size < 0.33 ? 2 : size < 0.67 ? 3 : 4;

	return part < 0 ? -degree : degree;
}

static bool has_groups(const struct allo_flame *flame)
{
	return flame->group_count > 1 || (flame->group_count == 1 && flame->groups[0].len > 0);
}

/* One of four shades by name, for profiles that have only names. */
static unsigned shade_of(const struct picture *d, const struct allo_flame_box *box)
{
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text name = name_of(d, box, scratch);

	return allo_hash_bytes(name.data, name.len, 0) % 4;
}

static enum tone tone_of(const struct picture *d, const struct allo_flame_box *box)
{
	const struct allo_tree_node *node = &d->flame->tree.nodes.at[box->node];
	enum allo_role role = allo_attribution_call(d->attribution, d->profile, node->frame,
						    node->call);

	if (role == ALLO_ROLE_ALLOCATOR || role == ALLO_ROLE_WRAPPER)
		return TONE_SKIPPED;
	return allo_is_own_call(d->ownership, d->profile, &d->profile->frames.at[node->frame],
				node->call)
		       ? TONE_OWN
		       : TONE_LIBRARY;
}

/* Comparisons use colours for something else. */
static void put_tone(const struct picture *d, const struct allo_flame_box *box)
{
	enum tone tone;

	if (d->is_comparison || box->depth == 0)
		return;
	tone = tone_of(d, box);
	d->has_tone[tone] = true;
	if (tone != TONE_OWN)
		allo_output_printf(d->out, " %s", tones[tone].class);
}

static bool is_source(const struct allo_tree_node *node)
{
	return node->self.value != 0 || node->self.before != 0;
}

static void put_colour(const struct picture *d, const struct allo_flame_box *box)
{
	int degree = degree_of_change(&d->flame->tree.nodes.at[box->node]);

	if (d->is_comparison)
		allo_output_printf(d->out, "%s%d", degree < 0 ? "down" : "up", abs(degree));
	else if (box->depth == 0)
		allo_output_string(d->out, "all");
	else if (!has_groups(d->colours))
		allo_output_printf(d->out, "w%u", shade_of(d, box));
	else if (box->group == ALLO_FLAME_GROUPS)
		allo_output_string(d->out, "other");
	else
		allo_output_printf(d->out, "g%u", box->group);
}

static void put_class(const struct picture *d, const struct allo_flame_box *box)
{
	const struct allo_tree_node *node = &d->flame->tree.nodes.at[box->node];
	bool is_thin = box->width * GRAPH_WIDTH < THIN;

	allo_output_string(d->out, " class=\"");
	put_colour(d, box);
	allo_output_string(d->out, is_source(node) ? " own" : "");
	put_tone(d, box);
	allo_output_printf(d->out, "%s\"", is_thin ? " thin" : "");
}

/* Writes the numbers for the script: the value; in a comparison the width, the value and the value
 * before. */
static void put_data(const struct picture *d, const struct allo_tree_node *node)
{
	struct allo_number value = allo_sum_number(node->total.value);
	struct allo_number before = allo_sum_number(node->total.before);
	struct allo_number width = allo_sum_number(node->width);

	allo_output_string(d->out, " data-v=\"");
	if (d->is_comparison)
		allo_output_printf(d->out, "%llu ", (unsigned long long)width.magnitude);
	allo_output_printf(d->out, "%s%llu", value.is_negative ? "-" : "",
			   (unsigned long long)value.magnitude);
	if (d->columns.has_before)
		allo_output_printf(d->out, " %s%llu", before.is_negative ? "-" : "",
				   (unsigned long long)before.magnitude);
	allo_output_byte(d->out, '"');
}

/* The last line of a tooltip: the change, or the share of the whole. */
static void put_share(const struct picture *d, const struct allo_tree_node *node)
{
	const struct allo_tree_node *root = &d->flame->tree.nodes.at[0];
	char share[ALLO_NUMBER_SIZE];

	if (d->columns.has_before)
		put_change(d, &node->total);
	else
		allo_output_printf(d->out, "%s of all",
				   allo_format_share((double)node->total.value,
						     (double)root->total.value, share));
}

/* Writes the short name for the script, if it differs. */
static void put_short_name(const struct picture *d, const struct allo_flame_box *box)
{
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text full = name_of(d, box, scratch), name = short_name_of(d, box, scratch);

	if (allo_text_equal(full, name))
		return;
	allo_output_string(d->out, " data-n=\"");
	put_shortened(d->out, name);
	allo_output_byte(d->out, '"');
}

static void put_box(const struct picture *d, const struct allo_flame_box *box)
{
	const struct allo_tree_node *node = &d->flame->tree.nodes.at[box->node];
	char scratch[ALLO_NAME_SCRATCH];

	ALLO_ASSERT(box->depth < d->flame->rows && box->start >= 0 && box->width >= 0);
	allo_output_string(d->out, "<rect x=\"");
	put_percent(d->out, box->start);
	allo_output_printf(d->out, "\" y=\"%u\" width=\"", (unsigned)box->depth * ROW);
	put_percent(d->out, box->width);
	allo_output_printf(d->out, "\" height=\"%d\"", BOX);
	put_class(d, box);
	put_data(d, node);
	put_short_name(d, box);
	allo_output_string(d->out, "><title>");
	put_shortened(d->out, name_of(d, box, scratch));
	allo_output_byte(d->out, '\n');
	put_place(d, box, "\n");
	put_values(d, &node->total);
	allo_output_byte(d->out, '\n');
	put_share(d, node);
	allo_output_string(d->out, "</title></rect>\n");
}

/* Writes a name in a nested <svg>, which clips it to its box. */
static void put_label(const struct picture *d, const struct allo_flame_box *box)
{
	double pixels = box->width * GRAPH_WIDTH;
	size_t letters = (size_t)(pixels * 10 / LETTER_TENTHS);
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text name = short_name_of(d, box, scratch), fitting;

	if (pixels < NAMED)
		return;
	ALLO_ASSERT(letters > 2);
	fitting = allo_utf8_first_columns(name, letters - 1);
	allo_output_string(d->out, "<svg x=\"");
	put_percent(d->out, box->start);
	allo_output_printf(d->out, "\" y=\"%u\" width=\"", (unsigned)box->depth * ROW);
	put_percent(d->out, box->width);
	allo_output_printf(d->out, "\" height=\"%d\"><text x=\"5\" y=\"12.5\">", BOX);
	allo_xml_text(d->out,
		      fitting.len < name.len ? allo_utf8_first_columns(name, letters - 2) : name);
	allo_output_printf(d->out, "%s</text></svg>\n",
			   fitting.len < name.len ? "\xe2\x80\xa6" : "");
}

static void put_graph(const struct picture *d)
{
	const struct allo_flame *flame = d->flame;

	allo_output_printf(d->out,
			   "<svg id=\"graph\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\">\n",
			   MARGIN, GRAPH_TOP, GRAPH_WIDTH, (int)flame->rows * ROW);
	for (size_t i = 0; i < flame->boxes.len; i++)
		put_box(d, &flame->boxes.at[i]);
	allo_output_string(d->out, "<g id=\"labels\">\n");
	for (size_t i = 0; i < flame->boxes.len; i++)
		put_label(d, &flame->boxes.at[i]);
	allo_output_string(d->out, "</g></svg>\n");
}

/* Around the boxes. */

/* Writes the metric in words: "Live at the program's peak". */
static void put_metric(const struct picture *d)
{
	const char *about = allo_metric_kinds[d->metric->meaning].about;

	if (d->metric->meaning == ALLO_MEANS_OTHER)
		allo_xml_text(d->out, allo_profile_text(d->profile, d->metric->name));
	else
		allo_output_printf(d->out, "%c%s", about[0] - 'a' + 'A', about + 1);
}

/* The metric comes first: a long command is cut. */
static void put_title(const struct picture *d, const struct allo_write_options *options)
{
	struct allo_text command = allo_profile_text(d->profile, d->profile->meta.command);

	if (options->title) {
		put_shortened(d->out, allo_text_of(options->title));
		return;
	}
	put_metric(d);
	if (command.len > 0)
		allo_output_string(d->out, ": ");
	put_shortened(d->out, command);
}

/* "peak_bytes: 1,178,112 bytes (1.12 MiB) in 1,002 blocks, live at the program's peak" */
static void put_subtitle(const struct picture *d)
{
	const struct allo_tree_node *root;
	char about[ALLO_ABOUT_SIZE];

	if (d->profile->metrics.len == 0) {
		allo_output_string(d->out, "There is nothing to draw: the profile has no metrics.");
		return;
	}
	root = &d->flame->tree.nodes.at[0];
	if (root->width == 0) {
		allo_output_string(d->out, "There is nothing to draw: ");
		allo_xml_text(d->out, allo_profile_text(d->profile, d->metric->name));
		allo_output_string(d->out, " is 0 in all stacks.");
		return;
	}
	allo_xml_text(d->out, allo_profile_text(d->profile, d->metric->name));
	allo_output_string(d->out, ": ");
	put_values(d, &root->total);
	if (d->columns.has_before) {
		allo_output_string(d->out, ": ");
		put_change(d, &root->total);
	}
	if (d->metric->meaning != ALLO_MEANS_OTHER)
		allo_output_printf(d->out, "%s %s", d->columns.has_before ? ";" : ",",
				   allo_metric_about(d->profile, d->columns.metric, about));
}

static uint64_t bytes_so_far(const struct allo_output *out)
{
	return out->written + out->used;
}

static void put_head(const struct picture *d, const struct allo_write_options *options, int height)
{
	allo_output_printf(d->out,
			   "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			   "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
			   "viewBox=\"0 0 %d %d\" class=\"allo%s\" data-about=\"%s\" data-unit=\"",
			   ALLO_FLAME_WIDTH, height, ALLO_FLAME_WIDTH, height,
			   d->is_comparison ? " comparison" : "", d->about);
	allo_xml_text(d->out, allo_profile_text(d->profile, d->metric->unit));
	allo_output_string(d->out, "\">\n<title>");
	put_title(d, options);
	allo_output_string(d->out, "</title>\n<desc>");
	put_subtitle(d);
	allo_output_string(d->out, "</desc>\n<style><![CDATA[\n");
	allo_output_string(d->out, allo_picture_css);
	allo_output_string(d->out, allo_flamegraph_css);
	allo_output_string(d->out, "]]></style>\n");
	allo_output_printf(d->out,
			   "<rect id=\"page\" width=\"100%%\" height=\"100%%\"/>\n"
			   "<text id=\"title\" x=\"%d\" y=\"29\">",
			   MARGIN);
	put_title(d, options);
	allo_output_printf(d->out, "</text>\n<text id=\"subtitle\" x=\"%d\" y=\"50\">", MARGIN);
	put_subtitle(d);
	allo_output_string(d->out, "</text>\n");
}

/* Writes a colour and its name; tspans flow one after the other. */
static void put_key(const struct picture *d, const char *class, struct allo_text name)
{
	allo_output_printf(d->out, "<tspan class=\"key %s\">\xe2\x96\xa0</tspan> <tspan>", class);
	put_shortened(d->out, name);
	allo_output_string(d->out, "</tspan> \xc2\xa0 ");
}

static void put_keys(const struct picture *d)
{
	char class[16];

	if (d->is_comparison) {
		put_key(d, "down4", ALLO_TEXT("gone"));
		put_key(d, "down2", ALLO_TEXT("shrunk"));
		put_key(d, "up0", ALLO_TEXT("the same"));
		put_key(d, "up2", ALLO_TEXT("grown"));
		put_key(d, "up4", ALLO_TEXT("new"));
		return;
	}
	for (uint32_t i = 0; i < d->flame->group_count && has_groups(d->flame); i++) {
		struct allo_text name = d->flame->groups[i];

		snprintf(class, sizeof(class), "g%u", (unsigned)i);
		put_key(d, class, name.len > 0 ? name : ALLO_TEXT("no module"));
	}
	if (d->flame->has_others)
		put_key(d, "other", ALLO_TEXT("others"));
	for (int i = 0; i < TONES && (d->has_tone[TONE_LIBRARY] || d->has_tone[TONE_SKIPPED]);
	     i++) {
		if (d->has_tone[i])
			put_key(d, tones[i].class, allo_text_of(tones[i].about));
	}
}

/* Writes caveats about the picture. */
static void put_remarks(const struct picture *d)
{
	if (!allo_metric_kinds[d->metric->meaning].is_additive)
		allo_output_string(d->out,
				   "Each site held this at its own moment: sums may be more "
				   "than was ever held at once. ");
	if (d->flame->has_narrow)
		allo_output_string(d->out,
				   "Calls too narrow to be seen are left out; they count in "
				   "the totals of their callers. ");
	if (d->flame->has_deep)
		allo_output_printf(d->out, "Calls more than %d deep are left out. ",
				   ALLO_FLAME_DEPTH_MAX);
}

static void put_foot(const struct picture *d, int top)
{
	allo_output_printf(d->out,
			   "<svg id=\"foot\" y=\"%d\" height=\"%d\">\n"
			   "<text class=\"keys\" x=\"%d\" y=\"14\">",
			   top, FOOT, MARGIN);
	put_keys(d);
	allo_output_printf(d->out, "</text>\n<text class=\"small\" x=\"%d\" y=\"34\">", MARGIN);
	put_remarks(d);
	allo_output_string(d->out, "Drawn by allo " ALLO_VERSION ".</text>\n</svg>\n");
}

/* Other metrics.  Each is a tree of its own, since other calls may be wide in it. */

enum {
	METRICS_MOST = 10,
	NODE_BYTES = 20,
	CALL_BYTES = 16,        /* besides its texts */
	LIST_LEAST = 256 << 10, /* bytes of all lists; they may also have as many as the boxes */
};

struct other {
	struct allo_metric_columns columns;
	struct allo_flame flame;
	ALLO_VEC(uint32_t) calls; /* by box: its number in the list of calls */
};

/* A box that stands for all of the same call and colour. */
struct listed_call {
	const struct other *other;
	size_t box;
};

struct others {
	struct other all[METRICS_MOST];
	size_t count;
	struct allo_map map; /* of numbers + 1 */
	ALLO_VEC(struct listed_call) calls;
	uint64_t room; /* bytes that are left for lists */
};

static void others_done(struct others *others)
{
	for (size_t i = 0; i < METRICS_MOST; i++) {
		allo_flame_done(&others->all[i].flame);
		allo_vec_done(&others->all[i].calls);
	}
	allo_map_done(&others->map);
	allo_vec_done(&others->calls);
}

static bool is_same_call(const struct listed_call *a, const struct listed_call *b)
{
	const struct allo_flame_box *x = &a->other->flame.boxes.at[a->box];
	const struct allo_flame_box *y = &b->other->flame.boxes.at[b->box];
	const struct allo_tree_node *node = &a->other->flame.tree.nodes.at[x->node];
	const struct allo_tree_node *listed = &b->other->flame.tree.nodes.at[y->node];

	return node->frame == listed->frame && node->call == listed->call &&
	       node->has_lines == listed->has_lines && x->group == y->group &&
	       (x->depth == 0) == (y->depth == 0);
}

/* The number of a box's call; (uint32_t)-1 when memory is short. */
static uint32_t list_call(struct others *others, const struct other *other, size_t box)
{
	const struct listed_call call = { other, box };
	const struct allo_tree_node *node =
		&other->flame.tree.nodes.at[other->flame.boxes.at[box].node];
	uint64_t hash = allo_hash_bytes(&node->frame, sizeof(node->frame), node->call);
	struct allo_probe probe = allo_map_probe(&others->map, hash);
	uint32_t number;

	while ((number = allo_map_next(&others->map, &probe)) != 0) {
		if (is_same_call(&call, &others->calls.at[number - 1]))
			return number - 1;
	}
	number = (uint32_t)others->calls.len;
	if (!allo_vec_append(&others->calls, &call, 1) ||
	    !allo_map_put(&others->map, hash, number + 1))
		return (uint32_t)-1;
	return number;
}

/* Bytes of a call's texts, about. */
static uint64_t call_size(const struct picture *d, const struct other *other, size_t box)
{
	struct picture drawn = *d;
	const struct allo_flame_box *at = &other->flame.boxes.at[box];
	const struct allo_tree_node *node = &other->flame.tree.nodes.at[at->node];
	char scratch[ALLO_NAME_SCRATCH];
	size_t name, file;

	drawn.flame = &other->flame;
	name = name_of(&drawn, at, scratch).len;
	file = at->depth > 0 ? allo_flame_file(d->profile, node).len : 0;
	return CALL_BYTES + (name < ALLO_FLAME_NAME_MAX ? name : ALLO_FLAME_NAME_MAX) +
	       (file < ALLO_FLAME_NAME_MAX ? file : ALLO_FLAME_NAME_MAX);
}

/* Colours of modules stay when the metric changes. */
static void take_colours(struct allo_flame *flame, const struct allo_flame *colours)
{
	for (size_t i = 0; i < flame->boxes.len; i++) {
		uint32_t group = flame->boxes.at[i].group, same = ALLO_FLAME_GROUPS;

		for (uint32_t k = 0; k < colours->group_count && group < flame->group_count; k++) {
			if (allo_text_equal(colours->groups[k], flame->groups[group]))
				same = k;
		}
		flame->boxes.at[i].group = same;
	}
}

/* Numbers the calls of the boxes, as far as there is room. */
static bool list_calls(const struct picture *d, struct others *others, struct other *other,
		       bool *fits, struct allo_error *err)
{
	uint64_t used = other->flame.boxes.len * NODE_BYTES;

	for (size_t i = 0; i < other->flame.boxes.len && used <= others->room; i++) {
		size_t known = others->calls.len;
		uint32_t number = list_call(others, other, i);

		if (number == (uint32_t)-1 || !allo_vec_append(&other->calls, &number, 1))
			return allo_fail_memory(err);
		used += others->calls.len > known ? call_size(d, other, i) : 0;
	}
	*fits = used <= others->room;
	others->room -= *fits ? used : 0;
	return true;
}

static bool may_be_other(const struct picture *d, size_t metric)
{
	const struct allo_metric *other = &d->profile->metrics.at[metric];

	return metric != d->columns.metric && !other->is_before && !other->is_signed &&
	       allo_metric_kinds[other->meaning].is_additive;
}

/* Once the list is full, further metrics are left out. */
static bool find_others(const struct picture *d, struct others *others, struct allo_error *err)
{
	bool fits = true;

	for (size_t i = 0; i < d->profile->metrics.len && others->count < METRICS_MOST && fits;
	     i++) {
		struct other *other = &others->all[others->count];
		size_t known = others->calls.len;

		if (!may_be_other(d, i))
			continue;
		other->columns = allo_metric_columns_of(d->profile, i);
		if (!allo_flame_init(&other->flame, d->profile, &other->columns, err))
			return false;
		if (other->flame.boxes.len == 0) { /* it is 0 in all stacks */
			allo_flame_done(&other->flame);
			other->flame = (struct allo_flame){ 0 };
			continue;
		}
		take_colours(&other->flame, d->colours);
		if (!list_calls(d, others, other, &fits, err))
			return false;
		if (fits)
			others->count++;
		else
			others->calls.len = known;
	}
	return true;
}

/* The picture of another metric. */
static struct picture picture_of(const struct picture *d, const struct other *other)
{
	struct picture drawn = *d;

	drawn.flame = &other->flame;
	drawn.columns = other->columns;
	drawn.metric = &d->profile->metrics.at[other->columns.metric];
	drawn.unit = allo_unit_of(allo_profile_text(d->profile, drawn.metric->unit));
	drawn.about = allo_profile_estimates(d->profile, other->columns.metric) ? "~" : "";
	return drawn;
}

/* A line: name, short name if it differs, place and classes, with tabs in between. */
static void put_call(const struct picture *d, const struct allo_flame_box *box)
{
	char scratch[ALLO_NAME_SCRATCH];
	struct allo_text full = name_of(d, box, scratch);

	put_shortened(d->out, full);
	allo_output_byte(d->out, '\t');
	if (!allo_text_equal(full, short_name_of(d, box, scratch)))
		put_shortened(d->out, short_name_of(d, box, scratch));
	allo_output_byte(d->out, '\t');
	put_place(d, box, "");
	allo_output_byte(d->out, '\t');
	put_colour(d, box);
	put_tone(d, box);
	allo_output_byte(d->out, '\n');
}

/* For each box: depth, call, value and blocks; '!' if it allocates itself. */
static void put_nodes(const struct picture *d, const struct other *other)
{
	for (size_t i = 0; i < other->flame.boxes.len; i++) {
		const struct allo_flame_box *box = &other->flame.boxes.at[i];
		const struct allo_tree_node *node = &other->flame.tree.nodes.at[box->node];
		unsigned long long value = allo_sum_number(node->total.value).magnitude;
		unsigned long long blocks = allo_sum_number(node->total.blocks).magnitude;

		allo_output_printf(d->out, "%s%u,%u,%llu", i > 0 ? " " : "", box->depth,
				   other->calls.at[i], value);
		if (d->columns.has_blocks)
			allo_output_printf(d->out, ",%llu", blocks);
		allo_output_string(d->out, is_source(node) ? "!" : "");
	}
}

/* "Live at the program's peak", or "... (blocks)" */
static void put_menu_text(const struct picture *d)
{
	struct allo_text name = allo_profile_text(d->profile, d->metric->name);

	put_metric(d);
	if (allo_text_ends(name, ALLO_TEXT("_blocks")))
		allo_output_string(d->out, " (blocks)");
}

static void put_other(const struct picture *d, const struct other *other,
		      const struct allo_write_options *options)
{
	allo_output_printf(d->out, "<metric data-about=\"%s\" data-unit=\"", d->about);
	allo_xml_text(d->out, allo_profile_text(d->profile, d->metric->unit));
	allo_output_string(d->out, "\" data-menu=\"");
	put_menu_text(d);
	allo_output_string(d->out, "\"><title>");
	put_title(d, options);
	allo_output_string(d->out, "</title><desc>");
	put_subtitle(d);
	allo_output_string(d->out, "</desc><remarks>");
	put_remarks(d);
	allo_output_string(d->out, "</remarks><nodes>");
	put_nodes(d, other);
	allo_output_string(d->out, "</nodes></metric>\n");
}

static void put_others(const struct picture *d, const struct others *others,
		       const struct allo_write_options *options)
{
	if (others->count == 0)
		return;
	allo_output_string(d->out, "<metadata id=\"metrics\" data-menu=\"");
	put_menu_text(d);
	allo_output_string(d->out, "\"><calls>");
	for (size_t i = 0; i < others->calls.len; i++) {
		const struct listed_call *call = &others->calls.at[i];
		struct picture drawn = picture_of(d, call->other);

		put_call(&drawn, &call->other->flame.boxes.at[call->box]);
	}
	allo_output_string(d->out, "</calls>\n");
	for (size_t i = 0; i < others->count; i++) {
		struct picture drawn = picture_of(d, &others->all[i]);

		put_other(&drawn, &others->all[i], options);
	}
	allo_output_string(d->out, "</metadata>\n");
}

/* `boxes` are the bytes of all boxes: lists stay in proportion to them. */
static bool write_others(const struct picture *d, uint64_t boxes,
			 const struct allo_write_options *options, struct allo_error *err)
{
	ALLO_DEFER(others_done)
	struct others others = { .room = boxes < LIST_LEAST ? LIST_LEAST : boxes };

	if (d->is_comparison)
		return true;
	if (!find_others(d, &others, err))
		return false;
	put_others(d, &others, options);
	return true;
}

static bool write_svg(struct allo_write_job *w, const struct allo_profile *profile,
		      struct allo_error *err)
{
	ALLO_DEFER(allo_flame_done) struct allo_flame flame = { 0 };
	size_t metric = allo_default_metric(profile);
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	ALLO_DEFER(allo_attribution_done) struct allo_attribution defaults = { 0 };
	ALLO_DEFER(allo_ownership_done) struct allo_ownership ownership = { 0 };
	bool has_tone[TONES] = { false };
	struct picture d = {
		.out = w->out,
		.buffer = &buffer,
		.profile = profile,
		.flame = &flame,
		.colours = &flame,
		.metric = &(const struct allo_metric){ 0 },
		.about = "",
		.attribution = w->options->attribution ? w->options->attribution : &defaults,
		.ownership = &ownership,
		.has_tone = has_tone,
	};
	int bottom;

	if (profile->metrics.len > 0) {
		d.metric = &profile->metrics.at[metric];
		d.columns = allo_metric_columns_of(profile, metric);
		d.unit = allo_unit_of(allo_profile_text(profile, d.metric->unit));
		d.is_comparison = d.columns.has_before || d.metric->is_signed;
		d.about = allo_profile_estimates(profile, metric) ? "~" : "";
		if (!allo_attribution_learn(d.attribution, profile, err) ||
		    !allo_flame_init(&flame, profile, &d.columns, err))
			return false;
	}
	bottom = GRAPH_TOP + (int)flame.rows * ROW + MARGIN;
	put_head(&d, w->options, bottom + FOOT);
	if (flame.boxes.len > 0) {
		uint64_t start = bytes_so_far(w->out);

		put_graph(&d);
		put_foot(&d, bottom);
		if (!write_others(&d, bytes_so_far(w->out) - start, w->options, err))
			return false;
		allo_output_string(w->out, "<script><![CDATA[\n");
		allo_output_string(w->out, allo_flamegraph_js);
		allo_output_string(w->out, "]]></script>\n");
	}
	allo_output_string(w->out, "</svg>\n");
	return !buffer.has_failed || allo_fail_memory(err);
}

const struct allo_writer allo_write_svg = {
	.name = "svg",
	.title = "a flame graph, for any browser",
	.about = "One self-contained file that shows one metric of the profile; a menu, or m, "
		 "switches to others. The width of a "
		 "frame is the value of the frame and all its callees. Colours tell modules, "
		 "packages or files apart. Own code has full colours, strongest where it "
		 "allocates itself; libraries are pale, and skipped wrappers are grey. Click a "
		 "frame to zoom, press / to search, b to begin with the functions that allocate; "
		 "? lists the keys. Frames narrower than a tenth of a pixel are left out, but "
		 "count in the totals of their callers.\n\n"
		 "A comparison is as wide as the larger of before and after, stack by stack: "
		 "red has grown, blue has shrunk.",
	.endings = ".svg",
	.marks = { { "<svg", NULL } },
	.holds = ALLO_HOLDS_MODULES | ALLO_HOLDS_FILES | ALLO_HOLDS_LINES | ALLO_HOLDS_INLINES |
		 ALLO_HOLDS_COMMAND | ALLO_HOLDS_NEGATIVE,
	.write = write_svg,
};
