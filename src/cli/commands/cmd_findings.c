/* cmd_findings.c - allo findings: wasteful uses of memory, with advice. */
#include "base/defer.h"
#include "cli/common.h"
#include "cli/config_file.h"
#include "cli/show/show_findings.h"
#include "cli/source_root.h"
#include "engine/source_facts.h"
#include "profile/call_walk.h"
#include "report/sarif.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

struct findings {
	struct allo_common common;
	uint64_t count, depth;
	int least;
	const char *rule, *source_root;
	bool list_rules, sarif;
};

static const struct findings defaults = { .count = ALLO_FINDINGS_OF_RULE, .depth = 6 };

#define AT(field) offsetof(struct findings, field)
static const struct allo_option options[] = {
	OPT_CHOICE(0, "min", "SEVERITY", least, allo_severity_names,
		   "only findings of this severity or more: low, medium or high (default: low)"),
	OPT_TEXT(0, "rule", "ID", rule, "only this rule; --list-rules lists them"),
	OPT_COUNT('n', "count", "N", count,
		  "number of findings of each rule (default: 3; 0 for all)"),
	OPT_COUNT(0, "depth", "N", depth,
		  "number of frames of each stack, from the responsible function outwards "
		  "(default: 6; 0 for all)"),
	OPT_FLAG(0, "list-rules", list_rules,
		 "list all rules with their thresholds, which allo.conf may change"),
	OPT_FLAG(0, "sarif", sarif, "print SARIF 2.1.0, for code-scanning services"),
	OPT_SOURCE_ROOT(source_root),
	OPT_END,
};

static const struct allo_option_group group = { "Findings", options };

static const struct allo_option_group *const groups[] = {
	&group,
	&allo_site_group,
	&allo_number_group,
	&allo_table_group,
	&allo_printing_group,
	&allo_symbols_group,
	&allo_reading_group,
	NULL,
};

static const struct allo_example examples[] = {
	{ "allo findings server.allo", "all findings, with advice" },
	{ "allo findings --min medium server.allo", "without the minor ones" },
	{ "allo findings --rule grow-by-one server.allo", "one rule" },
	{ "allo findings --sarif server.allo > findings.sarif", "for a code-scanning service" },
	{ "allo findings --list-rules", "all rules and thresholds" },
	{ NULL, NULL },
};

/* The result of reading a file.  All zeros: nothing to drop. */
struct result {
	struct allo_source source;
	struct allo_profile profile;
	struct allo_timeline timeline;
	struct allo_summary summary;
	struct allo_source_facts facts;
	struct allo_attribution attribution;
	struct allo_evidence evidence;
	struct allo_findings findings;
};

static void result_done(struct result *result)
{
	allo_findings_done(&result->findings);
	allo_evidence_done(&result->evidence);
	allo_attribution_done(&result->attribution);
	allo_source_facts_done(&result->facts);
	allo_timeline_done(&result->timeline);
	allo_profile_done(&result->profile);
	allo_source_close(&result->source);
}

static bool choose_rules(const struct findings *opt, struct allo_findings_options *rules,
			 struct allo_error *err)
{
	const struct allo_settings_file *config = allo_config_read(err);

	if (!config)
		return false;
	*rules = config->findings;
	rules->least = (enum allo_severity)opt->least;
	rules->most_of_rule = opt->count;
	if (!opt->rule)
		return true;
	rules->only = allo_finding_rule_find(opt->rule);
	if (rules->only)
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no rule '%s'", opt->rule);
	return allo_hint(err, "'allo findings --list-rules' lists the rules");
}

static bool read_file(struct result *result, const struct findings *opt, const char *file,
		      struct allo_error *err)
{
	struct allo_source_options reading;
	struct allo_profile_request request = { .timeline = &result->timeline,
						.summary = &result->summary };
	struct allo_evidence_input input;

	result->timeline.most = ALLO_PAGE_STEPS;
	if (!allo_common_source(&opt->common, &reading, err) ||
	    !allo_source_open(&result->source, file, &reading, err) ||
	    !allo_source_profile_and_facts(&result->source, &request, &result->profile,
					   &result->facts, err) ||
	    !allo_common_attribution(&opt->common, &result->attribution, err))
		return false;
	input = allo_source_evidence(&result->source, &result->profile, &result->facts,
				     &result->timeline, &result->summary);
	input.attribution = &result->attribution;
	return allo_evidence_of(&result->evidence, &input, err);
}

/* SARIF. */

static void add_rules(struct allo_sarif *sarif)
{
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		const struct allo_finding_rule *rule = allo_finding_rules[i];

		allo_sarif_rule(sarif, &(struct allo_sarif_rule){ rule->id, rule->title,
								  rule->detects, rule->advice });
	}
}

static size_t index_of(const struct allo_finding_rule *rule)
{
	size_t index = 0;

	while (allo_finding_rules[index] != rule)
		index++;
	return index;
}

/* Readers show a stack as a list of places; very deep ones are cut. */
enum { FRAMES_MOST = 100 };

static void add_stack(struct allo_sarif *sarif, const struct allo_profile *profile,
		      allo_stack_id stack)
{
	struct allo_call_walk walk = { profile, stack, 0 };
	const struct allo_frame *frame;
	char scratch[ALLO_NAME_SCRATCH];
	uint32_t call;

	allo_sarif_begin_stack(sarif);
	for (size_t i = 0; i < FRAMES_MOST && (frame = allo_call_walk_next(&walk, &call)); i++) {
		struct allo_line line = allo_call_line(profile, frame, call);

		allo_sarif_frame(sarif, allo_call_name(profile, frame, call, scratch),
				 allo_line_file(profile, line), line.line);
	}
}

static void add_finding(struct allo_sarif *sarif, const struct allo_profile *profile,
			const struct allo_finding *found)
{
	static const enum allo_sarif_level severities[] = { ALLO_SARIF_NOTE, ALLO_SARIF_WARNING,
							    ALLO_SARIF_ERROR };
	struct allo_sarif_result result = { .rule = found->rule->id,
					    .rule_index = index_of(found->rule),
					    .level = severities[found->severity] };
	char message[2048];

	snprintf(message, sizeof(message), "%s. %s", found->sentence, found->rule->advice);
	result.message = message;
	allo_sarif_begin_result(sarif, &result);
	if (found->site) {
		const struct allo_top_key *key = &found->site->key;

		allo_sarif_location(sarif, allo_profile_text(profile, key->function),
				    allo_profile_text(profile, key->file),
				    key->function ? key->number : 0);
		add_stack(sarif, profile, found->stack);
	}
	allo_sarif_end_result(sarif);
}

static bool print_sarif(const struct findings *opt, const struct result *result, const char *file,
			struct allo_error *err)
{
	ALLO_DEFER(allo_output_drop) struct allo_output out = { 0 };
	struct allo_sarif sarif;
	char root[PATH_MAX];

	if (!allo_source_root(opt->source_root, root, err) || !allo_common_open_result(&out, err))
		return false;
	allo_sarif_begin(&sarif, &out, allo_text_of(root), allo_text_of(file));
	add_rules(&sarif);
	for (size_t i = 0; i < result->findings.list.len; i++)
		add_finding(&sarif, &result->profile, &result->findings.list.at[i]);
	allo_sarif_end(&sarif);
	return allo_common_end(&opt->common, &out, &result->profile.notes, err);
}

static bool print_rules(const struct findings *opt, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	struct allo_findings_options rules;

	if (!choose_rules(opt, &rules, err) ||
	    !allo_common_report(&opt->common, &report, false, err))
		return false;
	allo_report_rules(&report, &rules.thresholds);
	return allo_common_finish(&opt->common, &report, NULL, err);
}

static bool run_findings(const void *options_given, char **files, struct allo_error *err)
{
	ALLO_DEFER(allo_report_done) struct allo_report report = { 0 };
	ALLO_DEFER(result_done) struct result result = { 0 };
	const struct findings *opt = options_given;
	struct allo_findings_options rules;
	const char *file;

	if (!allo_common_check(&opt->common, err))
		return false;
	if (opt->list_rules)
		return print_rules(opt, err);
	if (!files[0])
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "'allo findings' needs a file");
	if (!choose_rules(opt, &rules, err) ||
	    !(file = allo_common_one_file(&opt->common, files[0], err)) ||
	    !read_file(&result, opt, file, err) ||
	    !allo_findings_of(&result.findings, &result.evidence, &rules, err))
		return false;
	if (opt->sarif)
		return print_sarif(opt, &result, file, err);
	if (!allo_common_report(&opt->common, &report, allo_profile_is_estimated(&result.profile),
				err))
		return false;
	allo_report_json_lines(&report, 2);
	allo_report_findings(&report, &result.findings, &result.evidence, opt->depth, file);
	return allo_common_finish(&opt->common, &report, &result.profile.notes, err);
}

const struct allo_command allo_cmd_findings = {
	.name = "findings",
	.heading = "Look",
	.summary = "find wasteful uses of memory, with advice",
	.arguments = "FILE",
	.about = "Applies rules to a recording or profile and prints the places where memory is "
		 "wasted, the most expensive first: leaks, buffers that grow by constant steps, "
		 "blocks that a loop allocates again and again, tiny blocks, short peaks and "
		 "others. Each finding has the numbers, the function and line in the program's "
		 "code, the reason why it matters, and advice.\n\n"
		 "The severity is the share of the cost: of the peak, of all bytes or of all "
		 "allocations. It is high from 10%, and medium from 2%. Rules that may be wrong "
		 "have a lower limit. Rules that need data which the file lacks are listed at the "
		 "end.\n\n"
		 "Lines in allo.conf change thresholds (findings.tiny.size = 8) and turn rules off "
		 "(findings.ignore = late-free). doc/findings.md describes the rules.",
	.examples = examples,
	.groups = groups,
	.options_size = sizeof(struct findings),
	.defaults = &defaults,
	.files_least = 0,
	.files_most = 1,
	.completes = ALLO_COMPLETE_FILES,
	.run = run_findings,
};
