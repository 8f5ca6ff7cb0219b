/* dhat_facts.c - what is known about a program point, in numbers; see dhat_view.h. */
#include "cli/show/dhat_view.h"

#include "analysis/accesses.h"
#include "base/utf8.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { LABEL_COLUMNS = 9 };

/* Numbers. */

static const struct allo_metric *metric_of(const struct allo_dhat_view *v, enum allo_pp_field field)
{
	return &v->profile->metrics.at[v->tree->columns.metric[field]];
}

static bool has(const struct allo_dhat_view *v, enum allo_pp_field field)
{
	return v->tree->columns.has[field];
}

static allo_sum value_of(const struct allo_dhat_view *v, enum allo_pp_field field)
{
	return v->node->values.of[field];
}

static allo_sum whole_of(const struct allo_dhat_view *v, enum allo_pp_field field)
{
	return v->tree->nodes.at[0].values.of[field];
}

/* What a number counts, where its unit does not say. */
static struct allo_text noun_of(const struct allo_dhat_view *v, enum allo_pp_field field,
				bool is_one)
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

static enum allo_unit unit_of(const struct allo_dhat_view *v, enum allo_pp_field field)
{
	return allo_unit_of(allo_profile_text(v->profile, metric_of(v, field)->unit));
}

/* "1.22 MiB", "1,341 blocks" */
enum { AMOUNT_SIZE = ALLO_NUMBER_SIZE + 84 };

static const char *amount(const struct allo_dhat_view *v, enum allo_pp_field field,
			  char out[AMOUNT_SIZE])
{
	struct allo_text noun = noun_of(v, field, value_of(v, field) == 1);
	char number[ALLO_NUMBER_SIZE];

	allo_format(allo_sum_estimate(value_of(v, field), v->is_estimated), unit_of(v, field),
		    v->is_plain, number);
	snprintf(out, AMOUNT_SIZE, "%s%s%.*s", number, noun.len ? " " : "", ALLO_TEXT_ARG(noun));
	return out;
}

/* An average or a rate, without what it counts: "16.5 B", "0.25". */
static const char *average(const struct allo_dhat_view *v, double value, enum allo_pp_field field,
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
static const char *share_and_rate(const struct allo_dhat_view *v, enum allo_pp_field field,
				  bool with_rate, char out[3 * ALLO_NUMBER_SIZE])
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

void allo_dhat_put_strokes(struct allo_dhat_view *v, size_t depth)
{
	size_t first = depth > ALLO_DHAT_LEVELS ? depth - ALLO_DHAT_LEVELS + 1 : 1;

	for (size_t i = first; i <= depth; i++)
		allo_output_string(v->out,
				   v->goes_on.at[i] ? v->strokes->through : v->strokes->space);
}

void allo_dhat_start_line(struct allo_dhat_view *v, const char *label, size_t columns, bool is_bold)
{
	size_t depth = v->node->depth;

	allo_dhat_put_strokes(v, depth);
	allo_output_string(v->out, v->node->child_count ? v->strokes->through : v->strokes->space);
	allo_output_printf(v->out, "%s%-*s%s", is_bold ? v->style.bold : "", (int)columns, label,
			   is_bold ? v->style.reset : "");
	v->column = 3 * (depth < ALLO_DHAT_LEVELS ? depth + 1 : ALLO_DHAT_LEVELS + 1) + columns;
	v->is_line_empty = true;
}

void allo_dhat_end_line(struct allo_dhat_view *v)
{
	allo_output_byte(v->out, '\n');
}

/* `shows` is what the piece tells: what the sort looks at stands out. */
__attribute__((format(printf, 3, 4))) static void put_piece(struct allo_dhat_view *v,
							    unsigned shows, const char *fmt, ...)
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
		allo_dhat_end_line(v);
		allo_dhat_start_line(v, "", LABEL_COLUMNS, false);
	}
	if (!v->is_line_empty)
		allo_output_string(v->out, "  ");
	v->column += allo_utf8_columns(text) + (v->is_line_empty ? 0 : 2);
	v->is_line_empty = false;
	allo_output_string(v->out, is_bold ? v->style.bold : "");
	allo_output_printable(v->out, text);
	allo_output_string(v->out, is_bold ? v->style.reset : "");
}

/* Whether a piece is shown at all: of a node that is there for its children only what the sort
 * looks at is. */
static bool is_told(const struct allo_dhat_view *v, unsigned shows)
{
	return v->node->is_significant || (v->tree->sort->shows & shows);
}

static void put_amount(struct allo_dhat_view *v, unsigned shows, enum allo_pp_field field,
		       bool with_rate)
{
	char value[AMOUNT_SIZE], rest[3 * ALLO_NUMBER_SIZE];

	put_piece(v, shows, "%s %s", amount(v, field, value),
		  share_and_rate(v, field, with_rate, rest));
}

static void put_average(struct allo_dhat_view *v, unsigned shows, enum allo_pp_field bytes,
			enum allo_pp_field blocks)
{
	char text[ALLO_NUMBER_SIZE];

	if (has(v, blocks) && value_of(v, blocks) != 0)
		put_piece(v, shows, "avg %s",
			  average(v, allo_pp_ratio(value_of(v, bytes), value_of(v, blocks)), bytes,
				  text));
}

static void put_lifetime(struct allo_dhat_view *v)
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

static void put_total(struct allo_dhat_view *v)
{
	const unsigned bytes = ALLO_PP_SHOWS_TOTAL_BYTES, blocks = ALLO_PP_SHOWS_TOTAL_BLOCKS;
	bool has_blocks = has(v, ALLO_PP_TOTAL_BLOCKS);

	if (!has(v, ALLO_PP_TOTAL_BYTES) ||
	    !is_told(v, bytes | blocks | ALLO_PP_SHOWS_SIZE | ALLO_PP_SHOWS_LIFETIME))
		return;
	allo_dhat_start_line(v, "total", LABEL_COLUMNS, v->tree->sort->shows & (bytes | blocks));
	if (is_told(v, bytes))
		put_amount(v, bytes, ALLO_PP_TOTAL_BYTES, true);
	if (has_blocks && is_told(v, blocks))
		put_amount(v, blocks, ALLO_PP_TOTAL_BLOCKS, true);
	if (is_told(v, ALLO_PP_SHOWS_SIZE))
		put_average(v, ALLO_PP_SHOWS_SIZE, ALLO_PP_TOTAL_BYTES, ALLO_PP_TOTAL_BLOCKS);
	if (has_blocks && has(v, ALLO_PP_LIFETIMES) && is_told(v, ALLO_PP_SHOWS_LIFETIME))
		put_lifetime(v);
	allo_dhat_end_line(v);
}

/* What was live at a moment. */
static void put_moment(struct allo_dhat_view *v, const char *label, unsigned shows,
		       enum allo_pp_field bytes, enum allo_pp_field blocks)
{
	if (!has(v, bytes) || !is_told(v, shows))
		return;
	allo_dhat_start_line(v, label, LABEL_COLUMNS, v->tree->sort->shows & shows);
	put_amount(v, shows, bytes, false);
	if (has(v, blocks) && v->node->is_significant) {
		put_amount(v, 0, blocks, false);
		put_average(v, 0, bytes, blocks);
	}
	allo_dhat_end_line(v);
}

static void put_max(struct allo_dhat_view *v)
{
	char bytes[AMOUNT_SIZE], blocks[AMOUNT_SIZE];

	if (v->node->sample == 0 || v->show->hides_max || !has(v, ALLO_PP_MAX_BYTES) ||
	    !v->node->is_significant)
		return;
	allo_dhat_start_line(v, "max", LABEL_COLUMNS, false);
	put_piece(v, 0, "%s", amount(v, ALLO_PP_MAX_BYTES, bytes));
	if (has(v, ALLO_PP_MAX_BLOCKS)) {
		put_piece(v, 0, "%s", amount(v, ALLO_PP_MAX_BLOCKS, blocks));
		put_average(v, 0, ALLO_PP_MAX_BYTES, ALLO_PP_MAX_BLOCKS);
	}
	allo_dhat_end_line(v);
}

static void put_accesses(struct allo_dhat_view *v, const char *label, unsigned shows,
			 unsigned shows_average, enum allo_pp_field field)
{
	double per_byte = allo_pp_ratio(value_of(v, field), value_of(v, ALLO_PP_TOTAL_BYTES));

	if (!has(v, field) || !is_told(v, shows | shows_average))
		return;
	allo_dhat_start_line(v, label, LABEL_COLUMNS,
			     v->tree->sort->shows & (shows | shows_average));
	if (is_told(v, shows))
		put_amount(v, shows, field, true);
	if (has(v, ALLO_PP_TOTAL_BYTES) && is_told(v, shows_average))
		put_piece(v, shows_average, "%.2f per byte", per_byte);
	allo_dhat_end_line(v);
}

/* How often each byte of a block was accessed, of those points whose blocks are all of one size. */
static void put_histogram(struct allo_dhat_view *v)
{
	struct allo_accesses runs = v->node->sample ? allo_profile_accesses_of(v->profile,
									       v->node->sample - 1)
						    : (struct allo_accesses){ 0 };
	struct allo_access_run run;
	char count[ALLO_NUMBER_SIZE];
	uint64_t at = 0;

	if (runs.count == 0 || v->show->hides_max || !v->node->is_significant)
		return;
	allo_dhat_start_line(v, "by byte", LABEL_COLUMNS, false);
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
	allo_dhat_end_line(v);
}

void allo_dhat_put_value(struct allo_dhat_view *v, enum allo_pp_field field)
{
	char value[AMOUNT_SIZE], share[3 * ALLO_NUMBER_SIZE];

	allo_output_printable(v->out, allo_text_of(amount(v, field, value)));
	allo_output_printf(v->out, " %s", share_and_rate(v, field, false, share));
}

void allo_dhat_put_number(struct allo_dhat_view *v, double value, enum allo_pp_field field)
{
	struct allo_text noun = noun_of(v, field, false);
	char text[ALLO_NUMBER_SIZE];

	allo_output_printf(v->out, "%s%s", average(v, value, field, text), noun.len ? " " : "");
	allo_output_printable(v->out, noun);
}

void allo_dhat_put_facts(struct allo_dhat_view *v)
{
	bool is_live = has(v, ALLO_PP_END_BYTES) &&
		       metric_of(v, ALLO_PP_END_BYTES)->meaning == ALLO_LIVE_BYTES;

	put_total(v);
	put_max(v);
	put_moment(v, "at peak", ALLO_PP_SHOWS_PEAK, ALLO_PP_PEAK_BYTES, ALLO_PP_PEAK_BLOCKS);
	put_moment(v, is_live ? "live" : "at end", ALLO_PP_SHOWS_END, ALLO_PP_END_BYTES,
		   ALLO_PP_END_BLOCKS);
	put_accesses(v, "reads", ALLO_PP_SHOWS_READS, ALLO_PP_SHOWS_READS_PER_BYTE, ALLO_PP_READS);
	put_accesses(v, "writes", ALLO_PP_SHOWS_WRITES, ALLO_PP_SHOWS_WRITES_PER_BYTE,
		     ALLO_PP_WRITES);
	put_histogram(v);
}
