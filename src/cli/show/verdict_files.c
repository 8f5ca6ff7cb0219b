#include "cli/show/verdict_files.h"

#include "base/defer.h"
#include "base/encoding/xml.h"
#include "profile/naming.h"
#include "report/sarif.h"
#include "report/series.h"

#include <stdio.h>
#include <stdlib.h>

/* JUnit. */

static void put_attribute(struct allo_output *out, const char *name, const char *value)
{
	allo_output_printf(out, " %s=\"", name);
	allo_xml_text(out, allo_text_of(value));
	allo_output_byte(out, '"');
}

static void put_case(const struct allo_judgement *judgement, struct allo_output *out,
		     const struct allo_verdict *verdict)
{
	ALLO_DEFER(allo_verdict_words_done) struct allo_verdict_words phrases;
	char name[1024], outcome[3 * ALLO_VERDICT_WORDS_SIZE];

	allo_verdict_describe(judgement, verdict, &phrases);
	if (!phrases.why)
		allo_output_fail_memory(out);
	snprintf(name, sizeof(name), "%s <= %s", verdict->limit->name, phrases.allowed);
	allo_output_string(out, "    <testcase");
	put_attribute(out, "classname", judgement->name);
	put_attribute(out, "name", name);
	if (verdict->is_kept) {
		allo_output_string(out, " time=\"0\"/>\n");
		return;
	}
	snprintf(outcome, sizeof(outcome), "%s where at most %s is allowed: ", phrases.measured,
		 phrases.allowed);
	allo_output_string(out, " time=\"0\">\n      <failure");
	put_attribute(out, "type", "limit");
	allo_output_string(out, " message=\"");
	allo_xml_text(out, allo_text_of(outcome));
	allo_xml_text(out, allo_text_of(phrases.why ? phrases.why : ""));
	allo_output_string(out, "\"/>\n    </testcase>\n");
}

/* A test case that fails. */
static void put_incomplete(const struct allo_judgement *judgement, struct allo_output *out)
{
	allo_output_string(out, "    <testcase");
	put_attribute(out, "classname", judgement->name);
	put_attribute(out, "name", "the input is complete");
	allo_output_string(out, " time=\"0\">\n      <failure type=\"incomplete\" "
				"message=\"events are missing\"/>\n    </testcase>\n");
}

void allo_verdicts_junit(const struct allo_judgement *judgement, struct allo_output *out)
{
	const struct allo_verdicts *verdicts = judgement->verdicts;
	size_t more = !judgement->is_complete;
	size_t tests = verdicts->list.len + more, failures = verdicts->exceeded + more;

	allo_output_printf(
		out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<testsuites tests=\"%zu\" failures=\"%zu\">\n"
		"  <testsuite name=\"allo budget\" tests=\"%zu\" failures=\"%zu\" errors=\"0\" "
		"skipped=\"0\" time=\"0\">\n",
		tests, failures, tests, failures);
	if (!judgement->is_complete)
		put_incomplete(judgement, out);
	for (size_t i = 0; i < verdicts->list.len; i++)
		put_case(judgement, out, &verdicts->list.at[i]);
	allo_output_string(out, "  </testsuite>\n</testsuites>\n");
}

/* Markdown. */

void allo_verdicts_markdown(const struct allo_judgement *judgement, struct allo_output *out)
{
	struct allo_report_options options = { .format = ALLO_REPORT_MARKDOWN };
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	const char *baseline = judgement->baseline;
	char sum[ALLO_VERDICT_WORDS_SIZE];

	allo_report_begin(&report, &options, out);
	allo_report_heading(&report);
	allo_report_line(&report, "allo budget: %s", allo_judgement_sum(judgement, sum));
	allo_report_line(&report, "%s%s%s", judgement->name, baseline ? ", compared with " : "",
			 baseline ? baseline : "");
	allo_report_verdicts(&report, judgement);
	allo_report_end(&report);
}

/* Places and messages. */

/* The place to show: of the responsible function, or of the limit. */
struct place {
	struct allo_text name, file;
	uint64_t line;
};

static struct place place_of(const struct allo_verdict *verdict)
{
	const struct allo_pos *pos = &verdict->limit->pos;
	struct place place = { .name = allo_text_of(verdict->mostly ? verdict->mostly : "") };

	if (verdict->mostly && verdict->mostly_path[0]) {
		place.file = allo_text_of(verdict->mostly_path);
		place.line = verdict->mostly_line;
	} else if (pos->file) {
		place.file = allo_text_of(pos->file);
		place.line = pos->line;
	}
	return place;
}

/* "peak: 5 MiB where at most 4 MiB is allowed: ..."; empty when out of memory. */
static char *message_of(const struct allo_judgement *judgement, const struct allo_verdict *verdict,
			struct allo_output *out)
{
	ALLO_DEFER(allo_verdict_words_done) struct allo_verdict_words words;
	char *message = NULL;

	allo_verdict_describe(judgement, verdict, &words);
	if (!words.why ||
	    asprintf(&message, "%s of %s: %s where at most %s is allowed: %s", verdict->limit->name,
		     judgement->name, words.measured, words.allowed, words.why) < 0) {
		allo_output_fail_memory(out);
		return NULL;
	}
	return message;
}

/* SARIF. */

static const char incomplete_id[] = "incomplete";
static const char incomplete_message[] = "the input is incomplete: events are missing";

/* The first limit of the same name: they share a rule. */
static size_t first_of_name(const struct allo_verdicts *verdicts, size_t verdict)
{
	size_t first = 0;

	while (strcmp(verdicts->list.at[first].limit->name,
		      verdicts->list.at[verdict].limit->name) != 0)
		first++;
	return first;
}

static size_t rule_of(const struct allo_verdicts *verdicts, size_t verdict)
{
	size_t first = first_of_name(verdicts, verdict), rule = 0;

	for (size_t i = 0; i < first; i++)
		rule += first_of_name(verdicts, i) == i;
	return rule;
}

static size_t add_rules(struct allo_sarif *sarif, const struct allo_verdicts *verdicts)
{
	size_t count = 0;

	for (size_t i = 0; i < verdicts->list.len; i++) {
		const char *name = verdicts->list.at[i].limit->name;
		struct allo_sarif_rule rule = { name, name, "A limit of allo budget.",
						"Free the memory earlier, allocate less, or raise "
						"the limit." };

		if (first_of_name(verdicts, i) != i)
			continue;
		allo_sarif_rule(sarif, &rule);
		count++;
	}
	allo_sarif_rule(sarif, &(struct allo_sarif_rule){ incomplete_id, "incomplete input",
							  "Events of the input are missing.",
							  "Record the program again." });
	return count;
}

static void add_result(struct allo_sarif *sarif, const struct allo_judgement *judgement, size_t i)
{
	const struct allo_verdict *verdict = &judgement->verdicts->list.at[i];
	ALLO_DEFER(allo_free_pointer)
	char *message = message_of(judgement, verdict, sarif->json.out);
	struct place place = place_of(verdict);

	if (!message)
		return;
	allo_sarif_begin_result(sarif, &(struct allo_sarif_result){ verdict->limit->name,
								    rule_of(judgement->verdicts, i),
								    ALLO_SARIF_ERROR, message });
	allo_sarif_location(sarif, place.name, place.file, place.line);
	allo_sarif_end_result(sarif);
}

void allo_verdicts_sarif(const struct allo_judgement *judgement, struct allo_output *out)
{
	struct allo_sarif sarif;
	size_t rules;

	allo_sarif_begin(&sarif, out, allo_text_of(judgement->root), allo_text_of(judgement->file));
	rules = add_rules(&sarif, judgement->verdicts);
	for (size_t i = 0; i < judgement->verdicts->list.len; i++) {
		if (!judgement->verdicts->list.at[i].is_kept)
			add_result(&sarif, judgement, i);
	}
	if (!judgement->is_complete) {
		allo_sarif_begin_result(&sarif, &(struct allo_sarif_result){ incomplete_id, rules,
									     ALLO_SARIF_ERROR,
									     incomplete_message });
		allo_sarif_end_result(&sarif);
	}
	allo_sarif_end(&sarif);
}

/* Annotations of GitHub. */

/* Properties end at a comma, or at a colon. */
static void put_escaped(struct allo_output *out, struct allo_text text, bool is_property)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (c == '%' || c == '\r' || c == '\n' || (is_property && (c == ',' || c == ':')))
			allo_output_printf(out, "%%%02X", (unsigned char)c);
		else if ((unsigned char)c < ' ' || c == 127)
			allo_output_byte(out, '?');
		else
			allo_output_byte(out, c);
	}
}

static void put_annotation(const struct allo_judgement *judgement,
			   const struct allo_verdict *verdict, struct allo_output *out)
{
	ALLO_DEFER(allo_free_pointer) char *message = message_of(judgement, verdict, out);
	struct place place = place_of(verdict);

	allo_output_string(out, "::error ");
	if (place.file.len > 0 && allo_path_below(&place.file, allo_text_of(judgement->root))) {
		allo_output_string(out, "file=");
		put_escaped(out, place.file, true);
		allo_output_printf(out, ",line=%llu,",
				   (unsigned long long)(place.line > 0 ? place.line : 1));
	}
	allo_output_string(out, "title=");
	put_escaped(out, allo_text_of(verdict->limit->name), true);
	allo_output_string(out, " is exceeded::");
	put_escaped(out, allo_text_of(message ? message : ""), false);
	allo_output_byte(out, '\n');
}

void allo_verdicts_github(const struct allo_judgement *judgement, struct allo_output *out)
{
	for (size_t i = 0; i < judgement->verdicts->list.len; i++) {
		if (!judgement->verdicts->list.at[i].is_kept)
			put_annotation(judgement, &judgement->verdicts->list.at[i], out);
	}
	if (judgement->is_complete)
		return;
	allo_output_string(out, "::error title=allo budget::");
	put_escaped(out, allo_text_of(judgement->name), false);
	allo_output_printf(out, ": %s\n", incomplete_message);
}

/* Series of benchmarks. */

/* The name of a recording without its extension and pid, which differ between runs. */
static struct allo_text series_name(const struct allo_judgement *judgement)
{
	struct allo_text name = allo_basename(allo_text_of(judgement->name)), before;
	static const char extension[] = ".allo";
	size_t len = sizeof(extension) - 1, digits = 0;

	if (name.len > len && memcmp(name.data + name.len - len, extension, len) == 0)
		name.len -= len;
	before = name;
	while (before.len > 0 && allo_is_digit(before.data[before.len - 1])) {
		before.len--;
		digits++;
	}
	if (digits > 0 && before.len > 1 && before.data[before.len - 1] == '.')
		return (struct allo_text){ before.data, before.len - 1 };
	return name;
}

static bool same_text(const char *a, const char *b)
{
	return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

/* Whether an earlier limit, of the same pattern at least, has the metric. */
static bool is_repeated(const struct allo_verdicts *verdicts, size_t verdict)
{
	const struct allo_verdict *now = &verdicts->list.at[verdict];

	for (size_t i = 0; i < verdict; i++) {
		const struct allo_verdict *before = &verdicts->list.at[i];

		if (strcmp(before->metric, now->metric) == 0 &&
		    same_text(before->limit->pattern, now->limit->pattern))
			return true;
	}
	return false;
}

static bool add_number(struct allo_series *series, const struct allo_judgement *judgement,
		       const struct allo_verdict *verdict)
{
	const char *pattern = verdict->limit->pattern;
	struct allo_text name = series_name(judgement);
	struct allo_series_number number = { NULL, verdict->metric, verdict->unit, verdict->now };

	if (asprintf(&number.benchmark, "%.*s%s%s", ALLO_TEXT_WHOLE(name), pattern ? " in " : "",
		     pattern ? pattern : "") < 0)
		return false;
	if (allo_vec_append(&series->list, &number, 1))
		return true;
	free(number.benchmark);
	return false;
}

static void make_series(struct allo_series *series, const struct allo_judgement *judgement,
			struct allo_output *out)
{
	for (size_t i = 0; i < judgement->verdicts->list.len; i++) {
		if (!is_repeated(judgement->verdicts, i) &&
		    !add_number(series, judgement, &judgement->verdicts->list.at[i]))
			allo_output_fail_memory(out);
	}
}

void allo_verdicts_bench(const struct allo_judgement *judgement, struct allo_output *out)
{
	ALLO_DEFER(allo_series_done) struct allo_series series = { 0 };

	make_series(&series, judgement, out);
	allo_series_write_benchmark(&series, out);
}

void allo_verdicts_bencher(const struct allo_judgement *judgement, struct allo_output *out)
{
	ALLO_DEFER(allo_series_done) struct allo_series series = { 0 };

	make_series(&series, judgement, out);
	allo_series_write_bencher(&series, out);
}
