#include "cli/show/show_findings.h"

#include "base/defer.h"
#include "cli/quote.h"
#include "cli/show/show_stack.h"
#include "findings/finding_state.h"
#include "profile/call_walk.h"
#include "profile/source_name.h"
#include "report/code_style.h"
#include "report/show.h"

#include <stdio.h>

static const enum allo_text_style severity_styles[] = { ALLO_STYLE_PLAIN, ALLO_STYLE_YELLOW,
							ALLO_STYLE_HOT };

/* The place in the user's code. */
struct place {
	struct allo_text name, file;
	uint64_t line;
};

static struct place place_of(const struct allo_evidence *evidence,
			     const struct allo_evidence_site *site)
{
	const struct allo_profile *profile = evidence->in.profile;
	struct place place = { .name = allo_profile_text(profile, site->key.function),
			       .file = allo_profile_text(profile, site->key.file) };

	if (place.name.len > 0)
		place.line = site->key.number;
	else
		place.name = allo_basename(allo_profile_text(profile, site->key.module));
	return place;
}

static void put_place(struct allo_report *report, const struct allo_evidence *evidence,
		      const struct allo_evidence_site *site)
{
	enum allo_text_style style;
	struct place place;
	char number[24] = "";

	if (!site) {
		allo_report_put(report, ALLO_STYLE_PLAIN, "  the whole program");
		return;
	}
	place = place_of(evidence, site);
	style = allo_report_row_style(report, evidence->in.profile, &site->key);
	if (site->key.function)
		place.name = allo_report_name(report, place.name);
	place.file = allo_source_name(place.file);
	if (place.file.len > 0 && place.line > 0)
		snprintf(number, sizeof(number), ":%llu", (unsigned long long)place.line);
	allo_report_put(report, ALLO_STYLE_PLAIN, "  ");
	allo_report_put_name(
		report, style,
		allo_text_of(allo_report_string(report, "%.*s%s%.*s%s", ALLO_TEXT_WHOLE(place.name),
						place.file.len > 0 ? "  " : "",
						ALLO_TEXT_WHOLE(place.file), number)));
}

void allo_report_add_findings(struct allo_report *report, const struct allo_findings *findings,
			      const struct allo_evidence *evidence)
{
	for (size_t i = 0; i < findings->list.len; i++)
		allo_report_add_stack_names(report, evidence->in.profile,
					    findings->list.at[i].stack);
}

static const char *say_saving(struct allo_report *report, const struct allo_finding *found)
{
	const struct allo_saving_kind *kind = &allo_saving_kinds[found->saving];

	return allo_report_string(report, "up to %s %s",
				  allo_report_number(report, found->saved, kind->unit),
				  kind->words);
}

/* For programs. */

enum { RULE, SEVERITY, COST, NAME, FILE_NAME, LINE, MESSAGE, COLUMNS };

static const struct allo_column columns[COLUMNS] = {
	[RULE] = { NULL, "rule", "rule", ALLO_CELL_TEXT },
	[SEVERITY] = { NULL, "severity", "severity", ALLO_CELL_TEXT },
	[COST] = { NULL, "cost%", "cost", ALLO_CELL_SHARE },
	[NAME] = { NULL, "function", "name", ALLO_CELL_TEXT },
	[FILE_NAME] = { NULL, "file", "file", ALLO_CELL_TEXT },
	[LINE] = { NULL, "line", "line", ALLO_CELL_ID },
	[MESSAGE] = { NULL, "message", "message", ALLO_CELL_TEXT },
};

static const struct allo_report_table table = { "findings", columns, COLUMNS };

/* Writes the state of the viewer that shows the finding. */
static bool write_state(struct allo_report *report, struct allo_output *out,
			const struct allo_evidence *evidence, const struct allo_finding *found)
{
	struct allo_error err = { 0 };

	if (allo_finding_state(out, evidence->in.profile, found, &err))
		return true;
	allo_report_fail_memory(report);
	return false;
}

/* The view that shows the finding. */
static void field_show(struct allo_report *report, const struct allo_evidence *evidence,
		       const struct allo_finding *found, struct allo_text focus)
{
	ALLO_DEFER(allo_output_drop) struct allo_output state = { .fd = -1 };

	allo_report_object(report, "show");
	allo_report_field_string(report, "view", found->rule->view);
	allo_report_field_text(report, "focus", focus);
	if (found->to_ns > 0) {
		allo_report_list(report, "range");
		allo_report_field_u64(report, NULL, found->from_ns);
		allo_report_field_u64(report, NULL, found->to_ns);
		allo_report_close(report);
	}
	if (write_state(report, &state, evidence, found))
		allo_report_field_text(report, "state", allo_output_memory(&state));
	allo_report_close(report);
}

static void field_numbers(struct allo_report *report, const struct allo_finding *found)
{
	allo_report_object(report, "numbers");
	for (size_t i = 0; i < ALLO_FINDING_NUMBERS && found->numbers[i].name; i++)
		allo_report_field_u64(report, found->numbers[i].name, found->numbers[i].value);
	allo_report_close(report);
	if (found->saving == ALLO_SAVES_NOTHING)
		return;
	allo_report_object(report, "saving");
	allo_report_field_u64(report, allo_saving_kinds[found->saving].name, found->saved);
	allo_report_close(report);
}

static void describe_row(struct allo_report *report, const struct allo_evidence *evidence,
			 const struct allo_finding *found)
{
	struct place place = { { "", 0 }, { "", 0 }, 0 };

	if (found->site)
		place = place_of(evidence, found->site);
	allo_report_row(report);
	allo_cell_string(report, RULE, found->rule->id);
	allo_report_field_string(report, "title", found->rule->title);
	allo_cell_string(report, SEVERITY, allo_severity_names[found->severity]);
	allo_cell_share(report, COST, found->cost, 1);
	if (found->site) {
		allo_cell_place(report, NAME, place.name, place.file, place.line);
		allo_report_field_short(report, place.name);
	}
	allo_cell_string(report, MESSAGE, found->sentence);
	field_numbers(report, found);
	allo_report_field_string(report, "why", found->rule->why);
	allo_report_field_string(report, "advice", found->rule->advice);
	field_show(report, evidence, found, place.name);
	if (found->site)
		allo_report_field_frames(report, evidence->in.profile, found->stack);
}

/* For people. */

static void draw_stack(struct allo_report *report, const struct allo_evidence *evidence,
		       allo_stack_id stack, size_t depth)
{
	const struct allo_profile *profile = evidence->in.profile;
	struct allo_attribution *attribution = evidence->in.attribution;
	allo_stack_id outer = allo_attribution_site(attribution, profile, stack);
	struct allo_call_walk walk = { profile, outer,
				       allo_attribution_site_call(attribution, profile, outer) };
	struct allo_output *out = allo_report_drawing(report);
	const struct allo_frame *frame;
	uint32_t call;

	for (size_t i = 0; out && (frame = allo_call_walk_next(&walk, &call)) != NULL; i++) {
		if (depth > 0 && i == depth) {
			allo_output_string(out, "    ...\n");
			return;
		}
		allo_draw_call(report, out, profile, frame, call);
	}
}

static void put_fact(struct allo_report *report, const char *name, const char *text)
{
	enum { TEXT_COLUMN = 12 }; /* where allo_report_fact() ends */

	allo_report_fact(report, name);
	allo_report_wrapped(report, text, TEXT_COLUMN);
}

/* The command that opens the viewer at the finding.  It stays in one line, to be copied. */
static void put_command(struct allo_report *report, const struct allo_evidence *evidence,
			const struct allo_finding *found, const char *file)
{
	ALLO_DEFER(allo_output_drop) struct allo_output state = { .fd = -1 };
	ALLO_DEFER(allo_free_pointer) char *quoted = allo_shell_quote(file);

	if (!quoted) {
		allo_report_fail_memory(report);
		return;
	}
	if (!write_state(report, &state, evidence, found))
		return;
	allo_report_fact(report, "show");
	/* The state has neither quotes nor spaces. */
	allo_report_put(report, ALLO_STYLE_PLAIN, "allo view --show '%.*s' %s",
			ALLO_TEXT_WHOLE(allo_output_memory(&state)), quoted);
	allo_report_end_line(report);
}

static void describe_finding(struct allo_report *report, const struct allo_evidence *evidence,
			     const struct allo_finding *found, size_t depth, const char *file)
{
	allo_report_blank(report);
	allo_report_heading(report);
	allo_report_put(report, severity_styles[found->severity], "%s",
			allo_severity_names[found->severity]);
	allo_report_put(report, ALLO_STYLE_PLAIN, "  %s", found->rule->id);
	put_place(report, evidence, found->site);
	allo_report_end_line(report);
	put_fact(report, "found", found->sentence);
	put_fact(report, "why", found->rule->why);
	put_fact(report, "try", found->rule->advice);
	if (found->saving != ALLO_SAVES_NOTHING)
		put_fact(report, "saves", say_saving(report, found));
	if (found->site)
		draw_stack(report, evidence, found->stack, depth);
	put_command(report, evidence, found, file);
}

static const char *say_counts(struct allo_report *report, const struct allo_findings *findings)
{
	const char *said = "";

	for (int i = ALLO_SEVERITY_HIGH; i >= ALLO_SEVERITY_LOW; i--) {
		if (findings->counts[i] > 0)
			said = allo_report_string(report, "%s%s%zu %s", said, said[0] ? ", " : "",
						  findings->counts[i], allo_severity_names[i]);
	}
	return said;
}

static void describe_heading(struct allo_report *report, const struct allo_findings *findings)
{
	const char *counts = say_counts(report, findings);

	allo_report_line(report, "%s%s%s",
			 findings->list.len == 0
				 ? "no findings"
				 : allo_report_counted(report, findings->list.len, "finding"),
			 counts[0] ? ": " : "", counts);
}

static void note_more(struct allo_report *report, const struct allo_findings *findings)
{
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		if (findings->more[i] > 0)
			allo_report_note(report, "%s more of %s: -n 0 shows all",
					 allo_report_count(report, findings->more[i]),
					 allo_finding_rules[i]->id);
	}
}

/* Rules without data. */

/* The rules that lack a kind of data first of all: "never-read, low-use". */
static const char *rules_without(struct allo_report *report, const struct allo_findings *findings,
				 size_t kind)
{
	unsigned before = 0;
	const char *said = "";

	for (size_t i = 0; i < kind; i++)
		before |= allo_data_kinds[i].data;
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		if (findings->missing[i] & allo_data_kinds[kind].data &&
		    !(findings->missing[i] & before))
			said = allo_report_string(report, "%s%s%s", said, said[0] ? ", " : "",
						  allo_finding_rules[i]->id);
	}
	return said;
}

static void describe_unchecked(struct allo_report *report, const struct allo_findings *findings)
{
	allo_report_blank(report);
	for (size_t i = 0; i < ALLO_DATA_KINDS; i++) {
		const struct allo_data_kind *kind = &allo_data_kinds[i];
		const char *rules = rules_without(report, findings, i);

		if (rules[0])
			allo_report_note(report, "not checked, needs %s (%s): %s", kind->name,
					 kind->source, rules);
	}
}

static void field_unchecked(struct allo_report *report, const struct allo_findings *findings)
{
	allo_report_list(report, "not_checked");
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		if (findings->missing[i] == 0)
			continue;
		allo_report_object(report, NULL);
		allo_report_field_string(report, "rule", allo_finding_rules[i]->id);
		allo_report_list(report, "needs");
		for (size_t j = 0; j < ALLO_DATA_KINDS; j++) {
			if (findings->missing[i] & allo_data_kinds[j].data)
				allo_report_field_string(report, NULL, allo_data_kinds[j].name);
		}
		allo_report_close(report);
		allo_report_close(report);
	}
	allo_report_close(report);
}

void allo_report_findings(struct allo_report *report, const struct allo_findings *findings,
			  const struct allo_evidence *evidence, size_t depth, const char *file)
{
	allo_report_add_findings(report, findings, evidence);
	describe_heading(report, findings);
	if (!allo_report_is_prose(report)) {
		allo_report_table(report, &table);
		for (size_t i = 0; i < findings->list.len; i++)
			describe_row(report, evidence, &findings->list.at[i]);
		allo_report_end_table(report);
	}
	for (size_t i = 0; i < findings->list.len && allo_report_is_prose(report); i++)
		describe_finding(report, evidence, &findings->list.at[i], depth, file);
	note_more(report, findings);
	field_unchecked(report, findings);
	describe_unchecked(report, findings);
}

void allo_report_findings_briefly(struct allo_report *report, const struct allo_findings *findings,
				  const struct allo_evidence *evidence, size_t most)
{
	enum { SENTENCE_COLUMN = 10 };
	size_t count = findings->list.len, shown = count - findings->counts[ALLO_SEVERITY_LOW];

	if (most > 0 && most < shown)
		shown = most;
	if (!allo_report_is_prose(report)) {
		allo_report_table(report, &table);
		for (size_t i = 0; i < count; i++)
			describe_row(report, evidence, &findings->list.at[i]);
		allo_report_end_table(report);
		return;
	}
	if (count == 0)
		return;
	allo_report_blank(report);
	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "findings");
	allo_report_put(report, ALLO_STYLE_PLAIN, ": %s", say_counts(report, findings));
	allo_report_end_line(report);
	for (size_t i = 0; i < shown; i++) {
		const struct allo_finding *found = &findings->list.at[i];

		allo_report_put(report, ALLO_STYLE_PLAIN, "  ");
		allo_report_put(report, severity_styles[found->severity], "%-6s",
				allo_severity_names[found->severity]);
		allo_report_put(report, ALLO_STYLE_PLAIN, "  %s", found->rule->title);
		put_place(report, evidence, found->site);
		allo_report_end_line(report);
		allo_report_put(report, ALLO_STYLE_PLAIN, "%*s", SENTENCE_COLUMN, "");
		if (report->options.max_width > 0)
			allo_report_wrapped(report, found->sentence, SENTENCE_COLUMN);
		else
			allo_report_line(report, "%s", found->sentence);
	}
	if (shown == 0)
		allo_report_note(report, "'allo findings' shows them, with advice");
	else if (shown < count)
		allo_report_note(
			report, "%s more finding%s: 'allo findings' shows all, with advice",
			allo_report_count(report, count - shown), allo_plural(count - shown));
}

/* Rules. */

static const char *say_threshold(struct allo_report *report, const struct allo_threshold_kind *kind,
				 double value)
{
	switch (kind->unit) {
	case ALLO_THRESHOLD_PERCENT:
		return allo_report_string(report, "%.4g%%", 100 * value);
	case ALLO_THRESHOLD_BYTES:
		return allo_report_bytes(report, (uint64_t)value);
	case ALLO_THRESHOLD_NS:
		return allo_report_number(report, (uint64_t)value, ALLO_UNIT_NS);
	case ALLO_THRESHOLD_COUNT:
		return allo_report_count(report, (uint64_t)value);
	default:
		return allo_report_string(report, "%.4g", value);
	}
}

/* The thresholds whose names begin with the rule's id. */
static void describe_thresholds(struct allo_report *report, const char *rule,
				const struct allo_thresholds *thresholds)
{
	const struct allo_text prefix = allo_text_of(allo_report_string(report, "%s.", rule));

	allo_report_list(report, "thresholds");
	for (size_t i = 0; i < ALLO_THRESHOLDS; i++) {
		const struct allo_threshold_kind *kind = &allo_threshold_kinds[i];

		if (!allo_text_starts(allo_text_of(kind->name), prefix))
			continue;
		allo_report_fact(report, "");
		allo_report_put(report, ALLO_STYLE_PLAIN, "findings.%s = %s: %s", kind->name,
				say_threshold(report, kind, thresholds->at[i]), kind->about);
		allo_report_end_line(report);
		allo_report_object(report, NULL);
		allo_report_field_string(report, "name", kind->name);
		allo_report_field_double(report, "value", thresholds->at[i]);
		allo_report_field_string(report, "about", kind->about);
		allo_report_close(report);
	}
	allo_report_close(report);
}

static void describe_rule(struct allo_report *report, const struct allo_finding_rule *rule,
			  const struct allo_thresholds *thresholds)
{
	allo_report_object(report, NULL);
	allo_report_field_string(report, "id", rule->id);
	allo_report_field_string(report, "title", rule->title);
	allo_report_field_string(report, "detects", rule->detects);
	allo_report_field_string(report, "why", rule->why);
	allo_report_field_string(report, "advice", rule->advice);
	allo_report_list(report, "needs");
	for (size_t i = 0; i < ALLO_DATA_KINDS; i++) {
		if (rule->needs & allo_data_kinds[i].data)
			allo_report_field_string(report, NULL, allo_data_kinds[i].name);
	}
	allo_report_close(report);
	allo_report_heading(report);
	allo_report_put(report, ALLO_STYLE_BOLD, "%s", rule->id);
	allo_report_put(report, ALLO_STYLE_PLAIN, "  %s", rule->title);
	allo_report_end_line(report);
	put_fact(report, "finds", rule->detects);
	describe_thresholds(report, rule->id, thresholds);
	allo_report_close(report);
}

void allo_report_rules(struct allo_report *report, const struct allo_thresholds *thresholds)
{
	allo_report_list(report, "rules");
	for (size_t i = 0; allo_finding_rules[i]; i++)
		describe_rule(report, allo_finding_rules[i], thresholds);
	allo_report_close(report);
}
