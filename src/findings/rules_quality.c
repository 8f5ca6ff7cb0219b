/* rules_quality.c - problems of the data itself, which make other findings less certain. */
#include "findings/judge.h"

#include <stdio.h>

static bool has_few_samples(const struct allo_case *at)
{
	const struct allo_summary *summary = at->evidence->in.summary;

	return allo_summary_is_estimated(summary) &&
	       !allo_case_reaches(at, ALLO_QUALITY_SAMPLES, (double)summary->recorded_allocations);
}

static bool judge_quality(struct allo_case *at)
{
	const struct allo_evidence *evidence = at->evidence;
	const struct allo_summary *summary = evidence->in.summary;
	double events = (double)summary->events + (double)summary->dropped_events;
	double cut = 1 - allo_summary_complete_percent(summary) / 100;
	double unnamed = evidence->sum.alloc_blocks ? (double)evidence->unnamed_blocks /
							      (double)evidence->sum.alloc_blocks
						    : 0;

	if (summary->dropped_events > 0) {
		allo_case_cost(at, (double)summary->dropped_events, events);
		return allo_case_say(at, "%s events were not recorded, %s of all",
				     allo_case_count(at, "dropped_events", summary->dropped_events),
				     allo_case_share(at, (double)summary->dropped_events, events));
	}
	if (summary->recorded_allocations > 0 && cut > at->limits[ALLO_QUALITY_STACKS]) {
		allo_case_cost(at, cut, 1);
		return allo_case_say(at, "the stacks of %s of the allocations are incomplete",
				     allo_case_share(at, cut, 1));
	}
	if (unnamed > at->limits[ALLO_QUALITY_NAMES]) {
		allo_case_cost(at, unnamed, 1);
		return allo_case_say(at, "%s of the blocks belong to code without a name",
				     allo_case_share(at, unnamed, 1));
	}
	if (!has_few_samples(at))
		return false;
	return allo_case_say(at, "the sample has %s allocations only",
			     allo_case_count(at, "samples", summary->recorded_allocations));
}

const struct allo_finding_rule allo_rule_quality = {
	.id = "quality",
	.title = "incomplete data",
	.needs = ALLO_DATA_EVENTS,
	.most = ALLO_SEVERITY_MEDIUM,
	.is_whole = true,
	.judge = judge_quality,
	.view = "overview",
	.detects =
		"Events are missing, stacks are truncated, names are unknown, or a sample is too "
		"small.",
	.why = "The other findings may be wrong, or name the wrong place.",
	.advice = "'allo verify' explains missing parts, and 'allo info' names the missing debug "
		  "information.",
};
