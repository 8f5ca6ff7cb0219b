/* show_budget.c - see show_budget.h. */
#include "cli/show_budget.h"

#include "base/defer.h"
#include "base/xml.h"
#include "report/show.h"

#include <math.h>
#include <stdio.h>

enum { PHRASE_SIZE = 160 };

/* A verdict in words. */
struct phrases {
	char measured[PHRASE_SIZE];
	char allowed[PHRASE_SIZE];
	char why[3 * PHRASE_SIZE]; /* empty where there is nothing to explain */
};

static const char *format(const struct allo_show_budget *show, const struct allo_verdict *verdict,
			  allo_sum sum, bool is_change, char out[ALLO_NUMBER_SIZE])
{
	enum allo_unit unit = allo_unit_of(allo_text_of(verdict->unit));
	struct allo_number number = allo_sum_estimate(sum, show->is_estimated);
	bool is_plain = show->common->plain;

	return is_change ? allo_format_change(number, unit, is_plain, out)
			 : allo_format(number, unit, is_plain, out);
}

/* What is allowed is known. */
static const char *format_limit(const struct allo_show_budget *show,
				const struct allo_verdict *verdict, char out[ALLO_NUMBER_SIZE])
{
	return allo_format((struct allo_number){ .magnitude = verdict->limit->value },
			   allo_unit_of(allo_text_of(verdict->unit)), show->common->plain, out);
}

static void phrase_percent(const struct allo_verdict *verdict, char out[PHRASE_SIZE])
{
	double percent = allo_verdict_percent(verdict);

	if (isinf(percent))
		snprintf(out, PHRASE_SIZE, "from nothing");
	else
		snprintf(out, PHRASE_SIZE, "%+.1f%%", percent);
}

/* How far it is beyond, or what it was before, and who has most of it. */
static void phrase_why(const struct allo_show_budget *show, const struct allo_verdict *verdict,
		       struct phrases *phrases)
{
	const struct allo_budget_limit *limit = verdict->limit;
	char a[ALLO_NUMBER_SIZE], b[ALLO_NUMBER_SIZE];
	int used = 0;

	if (limit->is_growth)
		used = snprintf(phrases->why, sizeof(phrases->why), "%s now, %s before",
				format(show, verdict, verdict->now, false, a),
				format(show, verdict, verdict->before, false, b));
	else if (!verdict->is_kept)
		used = snprintf(
			phrases->why, sizeof(phrases->why), "%s over",
			format(show, verdict, verdict->now - (allo_sum)limit->value, false, a));
	if (verdict->mostly)
		snprintf(phrases->why + used, sizeof(phrases->why) - (size_t)used,
			 ", mostly %.*s%s%s (%s)", ALLO_TEXT_ARG(allo_text_of(verdict->mostly)),
			 verdict->mostly_file[0] ? "  " : "", verdict->mostly_file,
			 format(show, verdict, verdict->mostly_value, limit->is_growth, a));
}

static void phrase(const struct allo_show_budget *show, const struct allo_verdict *verdict,
		   struct phrases *phrases)
{
	const struct allo_budget_limit *limit = verdict->limit;
	char number[ALLO_NUMBER_SIZE];

	*phrases = (struct phrases){ 0 };
	if (limit->is_percent) {
		phrase_percent(verdict, phrases->measured);
		snprintf(phrases->allowed, PHRASE_SIZE, "%g%%", limit->percent);
	} else {
		allo_sum measured = verdict->now - (limit->is_growth ? verdict->before : 0);

		snprintf(phrases->measured, PHRASE_SIZE, "%s",
			 format(show, verdict, measured, limit->is_growth, number));
		snprintf(phrases->allowed, PHRASE_SIZE, "%s", format_limit(show, verdict, number));
	}
	phrase_why(show, verdict, phrases);
}

/* "1 of 3 limits exceeded" */
static void put_sum(const struct allo_show_budget *show, struct allo_output *out)
{
	size_t count = show->verdicts->list.len, exceeded = show->verdicts->exceeded;

	if (exceeded > 0)
		allo_output_printf(out, "%zu of %zu limit%s exceeded", exceeded, count,
				   count == 1 ? "" : "s");
	else if (count == 1)
		allo_output_string(out, "the limit is kept");
	else
		allo_output_printf(out, "all %zu limits are kept", count);
}

/* Text. */

bool allo_show_budget_text(const struct allo_show_budget *show, struct allo_output *out,
			   struct allo_error *err)
{
	ALLO_DEFER(allo_table_done)
	struct allo_table table = { .columns = 5,
				    .is_left = { true, true, false, true, true },
				    .max_width = allo_common_width(show->common) };

	for (size_t i = 0; i < show->verdicts->list.len; i++) {
		const struct allo_verdict *verdict = &show->verdicts->list.at[i];
		struct phrases phrases;

		phrase(show, verdict, &phrases);
		if (!allo_table_string(&table, verdict->is_kept ? "ok" : "FAIL", err) ||
		    !allo_table_string(&table, verdict->limit->name, err) ||
		    !allo_table_string(&table, phrases.measured, err) ||
		    !allo_table_join(&table,
				     (struct allo_text[]){ ALLO_TEXT("limit "),
							   allo_text_of(phrases.allowed) },
				     2, err) ||
		    !allo_table_string(&table, phrases.why, err))
			return false;
	}
	allo_table_print(&table, out);
	put_sum(show, out);
	allo_output_byte(out, '\n');
	return true;
}

/* JSON. */

static void put_json_percent(struct allo_json_out *json, const struct allo_verdict *verdict)
{
	double percent = allo_verdict_percent(verdict);

	allo_json_out_key(json, "allowed_percent");
	allo_json_out_double(json, verdict->limit->percent);
	allo_json_out_key(json, "growth_percent");
	if (isinf(percent))
		allo_json_out_null(json);
	else
		allo_json_out_double(json, percent);
}

static void put_json_verdict(struct allo_json_out *json, const struct allo_verdict *verdict)
{
	const struct allo_budget_limit *limit = verdict->limit;

	allo_json_out_begin(json, '{');
	allo_json_out_key(json, "name");
	allo_json_out_string(json, limit->name);
	allo_json_out_key(json, "metric");
	allo_json_out_string(json, verdict->metric);
	allo_json_out_key(json, "unit");
	allo_json_out_string(json, verdict->unit);
	if (limit->pattern)
		allo_json_out_member_text(json, "pattern", allo_text_of(limit->pattern));
	allo_json_out_key(json, "ok");
	allo_json_out_bool(json, verdict->is_kept);
	allo_json_out_key(json, "measured");
	allo_show_json_sum(json, verdict->now);
	if (limit->is_growth) {
		allo_json_out_key(json, "baseline");
		allo_show_json_sum(json, verdict->before);
	}
	if (limit->is_percent)
		put_json_percent(json, verdict);
	else
		allo_json_out_member_u64(json, limit->is_growth ? "allowed_growth" : "allowed",
					 limit->value);
	if (verdict->mostly) {
		allo_json_out_member_text(json, "mostly", allo_text_of(verdict->mostly));
		allo_json_out_member_text(json, "mostly_file", allo_text_of(verdict->mostly_file));
		allo_json_out_key(json, "mostly_value");
		allo_show_json_sum(json, verdict->mostly_value);
	}
	allo_json_out_end(json);
}

void allo_show_budget_json(const struct allo_show_budget *show, struct allo_output *out)
{
	struct allo_json_out json = { .out = out, .pretty_depth = 2 };

	allo_show_json_begin_numbers(&json, show->is_estimated);
	allo_json_out_key(&json, "ok");
	allo_json_out_bool(&json, show->verdicts->exceeded == 0);
	allo_json_out_member_u64(&json, "exceeded", show->verdicts->exceeded);
	allo_json_out_key(&json, "limits");
	allo_json_out_begin(&json, '[');
	for (size_t i = 0; i < show->verdicts->list.len; i++)
		put_json_verdict(&json, &show->verdicts->list.at[i]);
	allo_json_out_end(&json);
	allo_json_out_end(&json);
}

/* JUnit. */

static void put_attribute(struct allo_output *out, const char *name, const char *value)
{
	allo_output_printf(out, " %s=\"", name);
	allo_xml_text(out, allo_text_of(value));
	allo_output_byte(out, '"');
}

static void put_case(const struct allo_show_budget *show, struct allo_output *out,
		     const struct allo_verdict *verdict)
{
	char name[1024], message[6 * PHRASE_SIZE];
	struct phrases phrases;

	phrase(show, verdict, &phrases);
	snprintf(name, sizeof(name), "%s <= %s", verdict->limit->name, phrases.allowed);
	allo_output_string(out, "    <testcase");
	put_attribute(out, "classname", show->file);
	put_attribute(out, "name", name);
	if (verdict->is_kept) {
		allo_output_string(out, " time=\"0\"/>\n");
		return;
	}
	snprintf(message, sizeof(message), "%s where at most %s is allowed: %s", phrases.measured,
		 phrases.allowed, phrases.why);
	allo_output_string(out, " time=\"0\">\n      <failure");
	put_attribute(out, "type", "limit");
	put_attribute(out, "message", message);
	allo_output_string(out, "/>\n    </testcase>\n");
}

void allo_show_budget_junit(const struct allo_show_budget *show, struct allo_output *out)
{
	const struct allo_verdicts *verdicts = show->verdicts;

	allo_output_printf(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\">\n"
		"  <testsuite name=\"allo budget\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"0\" time=\"0\">\n",
		verdicts->list.len, verdicts->exceeded, verdicts->list.len, verdicts->exceeded);
	for (size_t i = 0; i < verdicts->list.len; i++)
		put_case(show, out, &verdicts->list.at[i]);
	allo_output_string(out, "  </testsuite>\n</testsuites>\n");
}

/* Markdown. */

/* Any text as itself: no emphasis, no links, no HTML, one line. */
static void put_escaped(struct allo_output *out, const char *text)
{
	for (struct allo_text rest = allo_text_of(text), one = rest; rest.len > 0;
	     rest = allo_text_from(rest, one.len)) {
		one = (struct allo_text){ rest.data,
					  strcspn(rest.data, "\\`*_{}[]<>()#+-!|~&$@:") };
		if (one.len == 0) {
			allo_output_byte(out, '\\');
			one.len = 1;
		}
		allo_output_printable(out, one);
	}
}

void allo_show_budget_markdown(const struct allo_show_budget *show, struct allo_output *out)
{
	allo_output_string(out, "### allo budget: ");
	put_sum(show, out);
	allo_output_string(out, "\n\n");
	put_escaped(out, show->file);
	if (show->baseline) {
		allo_output_string(out, ", compared with ");
		put_escaped(out, show->baseline);
	}
	allo_output_string(out, "\n\n| | limit for | measured | allowed | |\n"
				"|---|---|--:|--:|---|\n");
	for (size_t i = 0; i < show->verdicts->list.len; i++) {
		const struct allo_verdict *verdict = &show->verdicts->list.at[i];
		struct phrases phrases;

		phrase(show, verdict, &phrases);
		allo_output_printf(out, "| %s | ", verdict->is_kept ? "ok" : "**FAIL**");
		put_escaped(out, verdict->limit->name);
		allo_output_string(out, " | ");
		put_escaped(out, phrases.measured);
		allo_output_string(out, " | ");
		put_escaped(out, phrases.allowed);
		allo_output_string(out, " | ");
		put_escaped(out, phrases.why);
		allo_output_string(out, " |\n");
	}
}
