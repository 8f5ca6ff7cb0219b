#include "cli/show/show_verdicts.h"

#include "base/defer.h"
#include "profile/short_name.h"
#include "report/messages.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

void allo_verdict_words_done(struct allo_verdict_words *words)
{
	free(words->why);
}

static const char *format(const struct allo_judgement *judgement,
			  const struct allo_verdict *verdict, allo_sum sum, bool is_change,
			  char out[ALLO_NUMBER_SIZE])
{
	enum allo_unit unit = allo_unit_of(allo_text_of(verdict->unit));
	struct allo_number number = allo_sum_estimate(sum, judgement->is_estimated);
	bool is_plain = judgement->is_plain;

	return is_change ? allo_format_change(number, unit, is_plain, out)
			 : allo_format(number, unit, is_plain, out);
}

/* A limit is exact. */
static const char *format_limit(const struct allo_judgement *judgement,
				const struct allo_verdict *verdict, char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ .magnitude = verdict->limit->value },
			   allo_unit_of(allo_text_of(verdict->unit)), judgement->is_plain, out);
}

static void phrase_percent(const struct allo_verdict *verdict, char out[ALLO_VERDICT_WORDS_SIZE])
{
	double percent = allo_verdict_percent(verdict);

	if (isinf(percent))
		snprintf(out, ALLO_VERDICT_WORDS_SIZE, "from nothing");
	else
		snprintf(out, ALLO_VERDICT_WORDS_SIZE, "%+.1f%%", percent);
}

__attribute__((format(printf, 2, 3))) static void add_why(struct allo_verdict_words *phrases,
							  const char *fmt, ...)
{
	ALLO_DEFER(allo_free_pointer) char *before = phrases->why;
	ALLO_DEFER(allo_free_pointer) char *more = NULL;
	va_list args;

	phrases->why = NULL;
	va_start(args, fmt);
	if (before && vasprintf(&more, fmt, args) < 0)
		more = NULL;
	va_end(args);
	if (more && asprintf(&phrases->why, "%s%s", before, more) < 0)
		phrases->why = NULL;
}

/* The function with most of the excess. */
static void phrase_mostly(const struct allo_judgement *judgement,
			  const struct allo_verdict *verdict, struct allo_verdict_words *phrases)
{
	ALLO_DEFER(allo_name_buffer_done) struct allo_name_buffer buffer = { 0 };
	struct allo_text mostly = allo_text_of(verdict->mostly);
	char value[ALLO_NUMBER_SIZE];

	if (!judgement->full_names)
		mostly = allo_short_name(mostly, ALLO_NAME_BRIEF, &buffer);
	add_why(phrases, ", mostly %.*s%s%s (%s%s)", ALLO_TEXT_WHOLE(mostly),
		verdict->mostly_file[0] ? "  " : "", verdict->mostly_file,
		format(judgement, verdict, verdict->mostly_value, verdict->limit->is_growth, value),
		verdict->others_shrank ? ", others shrank" : "");
}

/* The excess, or the numbers before and after, and what they leave out. */
static void phrase_why(const struct allo_judgement *judgement, const struct allo_verdict *verdict,
		       struct allo_verdict_words *phrases)
{
	const struct allo_budget_limit *limit = verdict->limit;
	char a[ALLO_NUMBER_SIZE], b[ALLO_NUMBER_SIZE];

	if (limit->is_growth)
		add_why(phrases, "%s now, %s before",
			format(judgement, verdict, verdict->now, false, a),
			format(judgement, verdict, verdict->before, false, b));
	else if (!verdict->is_kept)
		add_why(phrases, "%s over",
			format(judgement, verdict, verdict->now - (allo_sum)limit->value, false,
			       a));
	if (verdict->mostly)
		phrase_mostly(judgement, verdict, phrases);
	if (verdict->runtime != 0)
		add_why(phrases, "%splus %s of language runtimes",
			phrases->why && phrases->why[0] ? ", " : "",
			format(judgement, verdict, verdict->runtime, false, a));
}

void allo_verdict_describe(const struct allo_judgement *judgement,
			   const struct allo_verdict *verdict, struct allo_verdict_words *phrases)
{
	const struct allo_budget_limit *limit = verdict->limit;
	char number[ALLO_NUMBER_SIZE];

	*phrases = (struct allo_verdict_words){ .why = strdup("") };
	if (limit->is_percent) {
		phrase_percent(verdict, phrases->measured);
		snprintf(phrases->allowed, ALLO_VERDICT_WORDS_SIZE, "%g%%", limit->percent);
	} else {
		allo_sum measured = verdict->now - (limit->is_growth ? verdict->before : 0);

		snprintf(phrases->measured, ALLO_VERDICT_WORDS_SIZE, "%s",
			 format(judgement, verdict, measured, limit->is_growth, number));
		snprintf(phrases->allowed, ALLO_VERDICT_WORDS_SIZE, "%s",
			 format_limit(judgement, verdict, number));
	}
	phrase_why(judgement, verdict, phrases);
}

const char *allo_judgement_sum(const struct allo_judgement *judgement,
			       char out[ALLO_VERDICT_WORDS_SIZE])
{
	size_t count = judgement->verdicts->list.len, exceeded = judgement->verdicts->exceeded;

	if (exceeded > 0)
		snprintf(out, ALLO_VERDICT_WORDS_SIZE, "%zu of %zu limit%s exceeded", exceeded,
			 count, allo_plural(count));
	else if (!judgement->is_complete)
		snprintf(out, ALLO_VERDICT_WORDS_SIZE, "the input is incomplete");
	else if (count == 1)
		snprintf(out, ALLO_VERDICT_WORDS_SIZE, "the limit is kept");
	else
		snprintf(out, ALLO_VERDICT_WORDS_SIZE, "all %zu limits are kept", count);
	return out;
}

/* The table. */

enum { VERDICT, NAME, MEASURED, ALLOWED, WHY, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[VERDICT] = { "verdict", NULL, NULL, ALLO_CELL_TEXT },
	[NAME] = { "limit for", NULL, "name", ALLO_CELL_TEXT },
	[MEASURED] = { "measured", NULL, NULL, ALLO_CELL_TEXT, ALLO_ALIGN_RIGHT },
	[ALLOWED] = { "allowed", NULL, NULL, ALLO_CELL_TEXT },
	[WHY] = { "why", NULL, NULL, ALLO_CELL_TEXT, .is_wrapped = true },
};

static const struct allo_report_table table = { "limits", columns, COLUMNS, .has_no_titles = true };

static void add_percent(struct allo_report *report, const struct allo_verdict *verdict)
{
	double percent = allo_verdict_percent(verdict);

	allo_report_field_double(report, "allowed_percent", verdict->limit->percent);
	if (isinf(percent))
		allo_report_field_null(report, "growth_percent");
	else
		allo_report_field_double(report, "growth_percent", percent);
}

/* The members of a verdict in JSON. */
static void add_fields(struct allo_report *report, const struct allo_verdict *verdict)
{
	const struct allo_budget_limit *limit = verdict->limit;

	allo_report_field_string(report, "metric", verdict->metric);
	allo_report_field_string(report, "unit", verdict->unit);
	if (limit->pattern)
		allo_report_field_text(report, "pattern", allo_text_of(limit->pattern));
	if (limit->pattern)
		allo_report_field_bool(report, "matches_nothing", verdict->matches_nothing);
	if (verdict->nearest)
		allo_report_field_text(report, "nearest", allo_text_of(verdict->nearest));
	allo_report_field_bool(report, "ok", verdict->is_kept);
	allo_report_field_sum(report, "measured", verdict->now);
	if (verdict->runtime != 0)
		allo_report_field_sum(report, "runtime", verdict->runtime);
	if (limit->is_growth)
		allo_report_field_sum(report, "baseline", verdict->before);
	if (limit->is_percent)
		add_percent(report, verdict);
	else
		allo_report_field_u64(report, limit->is_growth ? "allowed_growth" : "allowed",
				      limit->value);
	if (!verdict->mostly)
		return;
	allo_report_field_text(report, "mostly", allo_text_of(verdict->mostly));
	allo_report_field_text(report, "mostly_file", allo_text_of(verdict->mostly_file));
	allo_report_field_text(report, "mostly_path", allo_text_of(verdict->mostly_path));
	if (verdict->mostly_line > 0)
		allo_report_field_u64(report, "mostly_line", verdict->mostly_line);
	allo_report_field_sum(report, "mostly_value", verdict->mostly_value);
}

void allo_report_verdicts(struct allo_report *report, const struct allo_judgement *judgement)
{
	allo_report_table(report, &table);
	for (size_t i = 0; i < judgement->verdicts->list.len; i++) {
		const struct allo_verdict *verdict = &judgement->verdicts->list.at[i];
		ALLO_DEFER(allo_verdict_words_done) struct allo_verdict_words phrases;

		allo_verdict_describe(judgement, verdict, &phrases);
		if (!phrases.why)
			allo_report_fail_memory(report);
		allo_report_row(report);
		allo_cell_string(report, VERDICT, verdict->is_kept ? "ok" : "FAIL");
		allo_cell_style(report, VERDICT,
				verdict->is_kept ? ALLO_STYLE_GREEN : ALLO_STYLE_HOT);
		allo_cell_string(report, NAME, verdict->limit->name);
		allo_cell_string(report, MEASURED, phrases.measured);
		allo_cell_join(
			report, ALLOWED,
			(struct allo_text[]){ ALLO_TEXT("limit "), allo_text_of(phrases.allowed) },
			2);
		allo_cell_string(report, WHY, phrases.why ? phrases.why : "");
		add_fields(report, verdict);
	}
	allo_report_end_table(report);
}

void allo_report_judgement(struct allo_report *report, const struct allo_judgement *judgement)
{
	char sum[ALLO_VERDICT_WORDS_SIZE];

	allo_report_field_bool(report, "ok",
			       judgement->verdicts->exceeded == 0 && judgement->is_complete);
	allo_report_field_bool(report, "complete", judgement->is_complete);
	allo_report_field_u64(report, "exceeded", judgement->verdicts->exceeded);
	allo_report_verdicts(report, judgement);
	allo_report_line(report, "%s", allo_judgement_sum(judgement, sum));
}
