/* show_dhat.c - see show_dhat.h. */
#include "cli/show_dhat.h"

#include "analysis/accesses.h"
#include "base/utf8.h"
#include "cli/show.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum {
	LABEL_COLUMNS = 9,
	NUMBER_COLUMNS = 6, /* of a call */
	LEVELS_MOST =
		16, /* deeper nodes are drawn at this level: their numbers tell where they are */
};

struct view {
	const struct allo_show_dhat *show;
	struct allo_output *out;
	const struct allo_dhat_tree *tree;
	const struct allo_profile *profile;
	struct allo_style style;
	const struct allo_strokes *strokes;
	size_t line_columns; /* where lines of numbers are broken */
	size_t name_columns; /* where lines with names are cut; 0: nowhere */
	bool is_plain;
	ALLO_VEC(bool) goes_on; /* by depth: whether the node there has siblings yet to come */

	/* The node, and the line of it, being written. */
	const struct allo_dhat_node *node;
	size_t column;
	bool is_line_empty;
};

/* Numbers. */

static const struct allo_metric *metric_of(const struct view *v, enum allo_pp_field field)
{
	return &v->profile->metrics.at[v->tree->columns.metric[field]];
}

static bool has(const struct view *v, enum allo_pp_field field)
{
	return v->tree->columns.has[field];
}

static allo_sum value_of(const struct view *v, enum allo_pp_field field)
{
	return v->node->values.of[field];
}

static allo_sum whole_of(const struct view *v, enum allo_pp_field field)
{
	return v->tree->nodes.at[0].values.of[field];
}

/* What a number counts, where its unit does not say. */
static struct allo_text noun_of(const struct view *v, enum allo_pp_field field, bool is_one)
{
	const struct allo_metric *metric = metric_of(v, field);
	struct allo_text unit = allo_profile_text(v->profile, metric->unit);

	if (metric->meaning == ALLO_COPY_BLOCKS)
		return is_one ? ALLO_TEXT("copy") : ALLO_TEXT("copies");
	if (metric->meaning == ALLO_EVENTS)
		return is_one ? ALLO_TEXT("event") : ALLO_TEXT("events");
	if (allo_unit_of(unit) != ALLO_UNIT_COUNT)
		return (struct allo_text){ "", 0 };
	if (!allo_text_equal(unit, ALLO_TEXT("count")))
		return unit;
	if (metric->meaning == ALLO_MEANS_OTHER)
		return allo_profile_text(v->profile, metric->name);
	return is_one ? ALLO_TEXT("block") : ALLO_TEXT("blocks");
}

static enum allo_unit unit_of(const struct view *v, enum allo_pp_field field)
{
	return allo_unit_of(allo_profile_text(v->profile, metric_of(v, field)->unit));
}

/* "1.22 MiB", "1,341 blocks" */
enum { AMOUNT_SIZE = ALLO_NUMBER_SIZE + 84 };

static const char *amount(const struct view *v, enum allo_pp_field field, char out[AMOUNT_SIZE])
{
	struct allo_text noun = noun_of(v, field, value_of(v, field) == 1);
	char number[ALLO_NUMBER_SIZE];

	allo_format(allo_sum_number(value_of(v, field)), unit_of(v, field), v->is_plain, number);
	snprintf(out, AMOUNT_SIZE, "%s%s%.*s", number, noun.len ? " " : "", ALLO_TEXT_ARG(noun));
	return out;
}

/* An average or a rate, without what it counts: "16.5 B", "0.25". */
static const char *average(const struct view *v, double value, enum allo_pp_field field,
			   char out[ALLO_NUMBER_SIZE])
{
	enum allo_unit unit = unit_of(v, field);
	const char *name = unit == ALLO_UNIT_BYTES ? " B" : unit == ALLO_UNIT_NS ? " ns" : "";

	if (value == floor(value) || fabs(value) >= 1000)
		return allo_format(allo_sum_number((allo_sum)round(value)), unit, v->is_plain, out);
	snprintf(out, ALLO_NUMBER_SIZE, "%.*f%s", fabs(value) < 100 ? 2 : 1, value,
		 v->is_plain ? "" : name);
	return out;
}

/* "(48.8%, 3.45 MiB/Minstr)", as far as known. */
static const char *share_and_rate(const struct view *v, enum allo_pp_field field, bool with_rate,
				  char out[3 * ALLO_NUMBER_SIZE])
{
	const struct allo_meta *meta = &v->profile->meta;
	double duration = (double)meta->duration / (meta->clock == ALLO_CLOCK_NS ? 1e9 : 1e6);
	char share[ALLO_NUMBER_SIZE], rate[ALLO_NUMBER_SIZE] = "";

	allo_format_share((double)value_of(v, field), (double)whole_of(v, field), share);
	with_rate = with_rate && duration > 0 && meta->clock != ALLO_CLOCK_NONE;
	if (with_rate)
		average(v, (double)value_of(v, field) / duration, field, rate);
	snprintf(out, 3 * ALLO_NUMBER_SIZE, "(%s%s%s%s)", share, with_rate ? ", " : "", rate,
		 !with_rate                     ? ""
		 : meta->clock == ALLO_CLOCK_NS ? "/s"
						: "/Minstr");
	return out;
}

/* Lines: strokes, a label, and pieces that are not broken. */

static void put_ancestors(struct view *v, size_t depth)
{
	for (size_t i = depth > LEVELS_MOST ? depth - LEVELS_MOST + 1 : 1; i <= depth; i++)
		allo_output_string(v->out,
				   v->goes_on.at[i] ? v->strokes->through : v->strokes->space);
}

static void start_line(struct view *v, const char *label, size_t columns, bool is_bold)
{
	size_t depth = v->node->depth;

	put_ancestors(v, depth);
	allo_output_string(v->out, v->node->child_count ? v->strokes->through : v->strokes->space);
	allo_output_printf(v->out, "%s%-*s%s", is_bold ? v->style.bold : "", (int)columns, label,
			   is_bold ? v->style.reset : "");
	v->column = 3 * (depth < LEVELS_MOST ? depth + 1 : LEVELS_MOST + 1) + columns;
	v->is_line_empty = true;
}

static void end_line(struct view *v)
{
	allo_output_byte(v->out, '\n');
}

/* `shows` is what the piece tells: what the sort looks at stands out. */
__attribute__((format(printf, 3, 4))) static void put_piece(struct view *v, unsigned shows,
							    const char *fmt, ...)
{
	bool is_bold = v->tree->sort->shows & shows;
	struct allo_text text;
	char piece[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(piece, sizeof(piece), fmt, args);
	va_end(args);
	text = allo_text_of(piece);
	if (!v->is_line_empty && v->column + 2 + allo_utf8_columns(text) > v->line_columns) {
		end_line(v);
		start_line(v, "", LABEL_COLUMNS, false);
	}
	if (!v->is_line_empty)
		allo_output_string(v->out, "  ");
	v->column += allo_utf8_columns(text) + (v->is_line_empty ? 0 : 2);
	v->is_line_empty = false;
	allo_output_string(v->out, is_bold ? v->style.bold : "");
	allo_show_text(v->out, text);
	allo_output_string(v->out, is_bold ? v->style.reset : "");
}

/* Whether a piece is shown at all: of a node that is there for its children only what the sort
 * looks at is. */
static bool is_told(const struct view *v, unsigned shows)
{
	return v->node->is_significant || (v->tree->sort->shows & shows);
}

static void put_amount(struct view *v, unsigned shows, enum allo_pp_field field, bool with_rate)
{
	char value[AMOUNT_SIZE], rest[3 * ALLO_NUMBER_SIZE];

	put_piece(v, shows, "%s %s", amount(v, field, value),
		  share_and_rate(v, field, with_rate, rest));
}

static void put_average(struct view *v, unsigned shows, enum allo_pp_field bytes,
			enum allo_pp_field blocks)
{
	char text[ALLO_NUMBER_SIZE];

	if (has(v, blocks) && value_of(v, blocks) != 0)
		put_piece(v, shows, "avg %s",
			  average(v, allo_pp_ratio(value_of(v, bytes), value_of(v, blocks)), bytes,
				  text));
}

static void put_lifetime(struct view *v)
{
	double lifetime = allo_pp_ratio(value_of(v, ALLO_PP_LIFETIMES),
					value_of(v, ALLO_PP_TOTAL_BLOCKS));
	struct allo_text noun = noun_of(v, ALLO_PP_LIFETIMES, false);
	char text[ALLO_NUMBER_SIZE], share[ALLO_NUMBER_SIZE];

	put_piece(v, ALLO_PP_SHOWS_LIFETIME, "avg lifetime %s%s%.*s (%s of the run)",
		  average(v, lifetime, ALLO_PP_LIFETIMES, text), noun.len ? " " : "",
		  ALLO_TEXT_ARG(noun),
		  allo_format_share(lifetime, (double)v->profile->meta.duration, share));
}

static void put_total(struct view *v)
{
	const unsigned bytes = ALLO_PP_SHOWS_TOTAL_BYTES, blocks = ALLO_PP_SHOWS_TOTAL_BLOCKS;
	bool has_blocks = has(v, ALLO_PP_TOTAL_BLOCKS);

	if (!is_told(v, bytes | blocks | ALLO_PP_SHOWS_SIZE | ALLO_PP_SHOWS_LIFETIME))
		return;
	start_line(v, "total", LABEL_COLUMNS, v->tree->sort->shows & (bytes | blocks));
	if (is_told(v, bytes))
		put_amount(v, bytes, ALLO_PP_TOTAL_BYTES, true);
	if (has_blocks && is_told(v, blocks))
		put_amount(v, blocks, ALLO_PP_TOTAL_BLOCKS, true);
	if (is_told(v, ALLO_PP_SHOWS_SIZE))
		put_average(v, ALLO_PP_SHOWS_SIZE, ALLO_PP_TOTAL_BYTES, ALLO_PP_TOTAL_BLOCKS);
	if (has_blocks && has(v, ALLO_PP_LIFETIMES) && is_told(v, ALLO_PP_SHOWS_LIFETIME))
		put_lifetime(v);
	end_line(v);
}

/* What was live at a moment. */
static void put_moment(struct view *v, const char *label, unsigned shows, enum allo_pp_field bytes,
		       enum allo_pp_field blocks)
{
	if (!has(v, bytes) || !is_told(v, shows))
		return;
	start_line(v, label, LABEL_COLUMNS, v->tree->sort->shows & shows);
	put_amount(v, shows, bytes, false);
	if (has(v, blocks) && v->node->is_significant) {
		put_amount(v, 0, blocks, false);
		put_average(v, 0, bytes, blocks);
	}
	end_line(v);
}

static void put_max(struct view *v)
{
	char bytes[AMOUNT_SIZE], blocks[AMOUNT_SIZE];

	if (v->node->sample == 0 || v->show->hides_max || !has(v, ALLO_PP_MAX_BYTES) ||
	    !v->node->is_significant)
		return;
	start_line(v, "max", LABEL_COLUMNS, false);
	put_piece(v, 0, "%s", amount(v, ALLO_PP_MAX_BYTES, bytes));
	if (has(v, ALLO_PP_MAX_BLOCKS)) {
		put_piece(v, 0, "%s", amount(v, ALLO_PP_MAX_BLOCKS, blocks));
		put_average(v, 0, ALLO_PP_MAX_BYTES, ALLO_PP_MAX_BLOCKS);
	}
	end_line(v);
}

static void put_accesses(struct view *v, const char *label, unsigned shows, unsigned shows_average,
			 enum allo_pp_field field)
{
	double per_byte = allo_pp_ratio(value_of(v, field), value_of(v, ALLO_PP_TOTAL_BYTES));

	if (!has(v, field) || !is_told(v, shows | shows_average))
		return;
	start_line(v, label, LABEL_COLUMNS, v->tree->sort->shows & (shows | shows_average));
	if (is_told(v, shows))
		put_amount(v, shows, field, true);
	if (is_told(v, shows_average))
		put_piece(v, shows_average, "%.2f per byte", per_byte);
	end_line(v);
}

/* How often each byte of a block was accessed, of those points whose blocks are all of one size. */
static void put_histogram(struct view *v)
{
	struct allo_accesses runs = v->node->sample ? allo_profile_accesses_of(v->profile,
									       v->node->sample - 1)
						    : (struct allo_accesses){ 0 };
	struct allo_access_run run;
	char count[ALLO_NUMBER_SIZE];
	uint64_t at = 0;

	if (runs.count == 0 || v->show->hides_max || !v->node->is_significant)
		return;
	start_line(v, "by byte", LABEL_COLUMNS, false);
	for (; allo_access_run_next(v->profile, &runs, &run); at += run.length) {
		const char *more = run.count >= ALLO_ACCESSES_SATURATED ? "+" : "";

		allo_format_count(run.count, count);
		if (run.length == 1)
			put_piece(v, 0, "%llu: %s%s", (unsigned long long)at,
				  run.count ? count : "never", more);
		else
			put_piece(v, 0, "%llu-%llu: %s%s", (unsigned long long)at,
				  (unsigned long long)(at + run.length - 1),
				  run.count ? count : "never", more);
	}
	end_line(v);
}

/* Calls. */

/* Where a call is: in a file, or at least in a module. */
static struct allo_text file_of(const struct view *v, struct allo_line line)
{
	return allo_basename(allo_line_file(v->profile, line));
}

static struct allo_text module_of(const struct view *v, const struct allo_frame *frame)
{
	return allo_basename(
		allo_profile_text(v->profile, v->profile->modules.at[frame->module].path));
}

/* "  file.c:12", or "  [libfoo.so]". */
static void put_place(struct view *v, const struct allo_frame *frame, struct allo_line line)
{
	struct allo_text file = file_of(v, line);

	allo_output_string(v->out, v->style.dim);
	if (file.len > 0) {
		allo_output_string(v->out, "  ");
		allo_show_text(v->out, file);
		if (line.line > 0)
			allo_output_printf(v->out, ":%lu", (unsigned long)line.line);
	} else if (frame->module) {
		allo_output_string(v->out, "  [");
		allo_show_text(v->out, module_of(v, frame));
		allo_output_string(v->out, "]");
	}
	allo_output_string(v->out, v->style.reset);
}

/* Columns that are left for a name in front of the place; 0: as many as it needs. */
static size_t name_room(const struct view *v, const struct allo_frame *frame, struct allo_line line)
{
	struct allo_text file = file_of(v, line);
	size_t taken = v->column;

	if (file.len > 0)
		taken += allo_utf8_columns(file) + sizeof("  :12345") - 1;
	else if (frame->module)
		taken += allo_utf8_columns(module_of(v, frame)) + sizeof("  []") - 1;
	/* A name that is cut to nothing helps nobody: rather a line that is too long. */
	return v->name_columns == 0           ? 0
	       : v->name_columns > taken + 20 ? v->name_columns - taken
					      : 20;
}

static void put_call(struct view *v, struct allo_call call, uint64_t number)
{
	const struct allo_frame *frame =
		&v->profile->frames.at[v->profile->stacks.at[call.stack].frame];
	struct allo_line line = allo_call_line(v->profile, frame, call.line);
	char scratch[ALLO_NAME_SCRATCH], text[32];

	snprintf(text, sizeof(text), "  #%llu", (unsigned long long)number);
	start_line(v, text, NUMBER_COLUMNS, false);
	/* Where there is no function, the name is made of all this. */
	if (line.function && frame->address) {
		v->column += (size_t)snprintf(text, sizeof(text), "0x%llx  ",
					      (unsigned long long)frame->address);
		allo_output_printf(v->out, "%s%s%s", v->style.dim, text, v->style.reset);
	}
	allo_show_cut(v->out, allo_call_name(v->profile, frame, call.line, scratch),
		      name_room(v, frame, line), v->show->is_ascii);
	if (line.function)
		put_place(v, frame, line);
	end_line(v);
}

static void put_calls(struct view *v)
{
	struct allo_text verb = allo_profile_text(v->profile, v->profile->meta.verb);
	struct allo_call call = v->node->first_call;
	char heading[100];

	if (v->node->call_count == 0 && v->node->depth == 0)
		return;
	if (verb.len == 0)
		verb = ALLO_TEXT("Allocated");
	snprintf(heading, sizeof(heading), "%.*s at%s", ALLO_TEXT_ARG(verb),
		 v->node->call_count ? "" : " the calls above, and nowhere further out");
	if (heading[0] >= 'A' && heading[0] <= 'Z')
		heading[0] = (char)(heading[0] - 'A' + 'a');
	start_line(v, heading, 0, false);
	end_line(v);
	for (uint64_t i = 0; i < v->node->call_count; i++) {
		put_call(v, call, v->node->calls_before + i + 1);
		call = allo_call_outer(v->profile, call);
	}
}

/* Nodes. */

/* "1.1.2/3": the way from the root. */
static void put_number(struct view *v)
{
	uint32_t numbers[LEVELS_MOST + 1];
	const struct allo_dhat_node *node = v->node;
	size_t count = 0;

	for (; count < LEVELS_MOST && node->depth > 0; node = &v->tree->nodes.at[node->parent])
		numbers[count++] = node->number;
	allo_output_string(v->out, "PP 1");
	if (node->depth > 0)
		allo_output_printf(v->out, ".(%lu more)", (unsigned long)node->depth);
	while (count-- > 0)
		allo_output_printf(v->out, ".%lu", (unsigned long)numbers[count]);
	allo_output_printf(v->out, "/%lu", (unsigned long)v->node->of);
}

/* What is too small to be told of apart, in one line. */
static void put_merged(struct view *v)
{
	char count[ALLO_NUMBER_SIZE], value[AMOUNT_SIZE], share[3 * ALLO_NUMBER_SIZE];

	allo_output_printf(v->out, "  %s insignificant, %s %s",
			   allo_format_count(v->node->merged, count),
			   amount(v, v->tree->sort->key, value),
			   share_and_rate(v, v->tree->sort->key, false, share));
	if (v->tree->sort->condition == ALLO_PP_ANY)
		allo_output_printf(v->out, "  %s--min 0 shows all%s", v->style.dim, v->style.reset);
	end_line(v);
}

static void put_heading(struct view *v)
{
	char children[ALLO_NUMBER_SIZE], points[ALLO_NUMBER_SIZE];
	size_t depth = v->node->depth;

	if (depth > 0) {
		put_ancestors(v, depth - 1);
		allo_output_string(v->out,
				   v->goes_on.at[depth] ? v->strokes->branch : v->strokes->last);
	}
	allo_output_string(v->out, v->style.bold);
	put_number(v);
	allo_output_string(v->out, v->style.reset);
	if (v->node->merged) {
		put_merged(v);
		return;
	}
	if (v->node->child_count)
		allo_output_printf(v->out, "  %s %s, %s %s",
				   allo_format_count(v->node->child_count, children),
				   v->node->child_count == 1 ? "child" : "children",
				   allo_format_count(v->node->points, points),
				   v->node->points == 1 ? "point" : "points");
	end_line(v);
}

static void put_node(struct view *v)
{
	bool is_live = has(v, ALLO_PP_END_BYTES) &&
		       metric_of(v, ALLO_PP_END_BYTES)->meaning == ALLO_LIVE_BYTES;

	put_heading(v);
	if (v->node->merged)
		return;
	put_total(v);
	put_max(v);
	put_moment(v, "at peak", ALLO_PP_SHOWS_PEAK, ALLO_PP_PEAK_BYTES, ALLO_PP_PEAK_BLOCKS);
	put_moment(v, is_live ? "live" : "at end", ALLO_PP_SHOWS_END, ALLO_PP_END_BYTES,
		   ALLO_PP_END_BLOCKS);
	put_accesses(v, "reads", ALLO_PP_SHOWS_READS, ALLO_PP_SHOWS_READS_PER_BYTE, ALLO_PP_READS);
	put_accesses(v, "writes", ALLO_PP_SHOWS_WRITES, ALLO_PP_SHOWS_WRITES_PER_BYTE,
		     ALLO_PP_WRITES);
	put_histogram(v);
	put_calls(v);
}

/* A time by the profile's clock. */
static const char *time_text(const struct view *v, uint64_t time, char out[AMOUNT_SIZE])
{
	bool is_ns = v->profile->meta.clock == ALLO_CLOCK_NS;
	char number[ALLO_NUMBER_SIZE];

	allo_format((struct allo_number){ time, false }, is_ns ? ALLO_UNIT_NS : ALLO_UNIT_COUNT,
		    v->is_plain, number);
	snprintf(out, AMOUNT_SIZE, "%s%s", number,
		 v->profile->meta.clock == ALLO_CLOCK_INSTRUCTIONS ? " instructions" : "");
	return out;
}

static void put_times(struct view *v)
{
	const struct allo_meta *meta = &v->profile->meta;
	char text[AMOUNT_SIZE], share[ALLO_NUMBER_SIZE];

	if (meta->duration == 0 || meta->clock == ALLO_CLOCK_NONE)
		return;
	allo_output_printf(v->out, "ran for %s", time_text(v, meta->duration, text));
	if (meta->peak_time)
		allo_output_printf(
			v->out, ", held most after %s (%s)", time_text(v, meta->peak_time, text),
			allo_format_share((double)meta->peak_time, (double)meta->duration, share));
	end_line(v);
}

/* What is asked of points beside their size. */
static void put_condition(struct view *v)
{
	static const char *const conditions[] = {
		[ALLO_PP_TINY] = "its blocks have at most 16 bytes on average",
		[ALLO_PP_UNUSED] = "it is never read or never written",
		[ALLO_PP_LOW_ACCESS] =
			"it is read or written at most 0.4 times a byte, but not never",
		[ALLO_PP_HIGH_ACCESS] = "it is read or written at least 1000 times a byte",
	};
	enum allo_pp_condition condition = v->tree->sort->condition;
	char text[AMOUNT_SIZE];

	if (condition == ALLO_PP_SHORT_LIVED)
		allo_output_printf(v->out,
				   "and only if its blocks live for at most %s on average\n",
				   time_text(v, v->profile->meta.short_lived, text));
	else if (condition != ALLO_PP_ANY)
		allo_output_printf(v->out, "and only if %s\n", conditions[condition]);
}

/* What the profile is of, and what is shown of it. */
static void put_introduction(struct view *v)
{
	const struct allo_meta *meta = &v->profile->meta;
	enum allo_pp_field key = v->tree->sort->key;
	double limit = (double)whole_of(v, key) * v->tree->min_share / 100;
	struct allo_text noun = noun_of(v, key, false);
	char text[ALLO_NUMBER_SIZE];

	if (meta->command) {
		allo_show_text(v->out, allo_profile_text(v->profile, meta->command));
		allo_output_printf(v->out, "   (pid %llu)\n", (unsigned long long)meta->pid);
	}
	put_times(v);
	allo_output_printf(v->out, "sorted by %s; a point is significant from %s%s%.*s (%g%%)\n",
			   v->tree->sort->name, average(v, limit, key, text), noun.len ? " " : "",
			   ALLO_TEXT_ARG(noun), v->tree->min_share);
	put_condition(v);
	end_line(v);
}

bool allo_show_dhat_text(const struct allo_show_dhat *show, const struct allo_common *common,
			 struct allo_output *out, const struct allo_dhat_tree *tree,
			 const struct allo_profile *profile, struct allo_error *err)
{
	struct view v = {
		.show = show,
		.out = out,
		.tree = tree,
		.profile = profile,
		.style = allo_common_style(common),
		.strokes = allo_show_strokes(show->is_ascii),
		.line_columns = allo_terminal_columns(),
		.name_columns = allo_common_width(common),
		.is_plain = common->plain,
		.node = &tree->nodes.at[0],
	};
	bool ok = true;

	put_introduction(&v);
	for (size_t i = 0; ok && i < tree->nodes.len; i++) {
		v.node = &tree->nodes.at[i];
		if (show->max_depth && v.node->depth > show->max_depth)
			continue;
		ok = allo_vec_cover(&v.goes_on, v.node->depth + 1) || allo_fail_memory(err);
		if (ok) {
			v.goes_on.at[v.node->depth] = v.node->number < v.node->of;
			put_node(&v);
		}
	}
	allo_vec_done(&v.goes_on);
	return ok;
}
