/* findings.c - the table of rules; applies each to the program or to every site, and sorts. */
#include "findings/findings.h"

#include "base/assert.h"
#include "findings/judge.h"

#include <stdlib.h>

/* Problems of the data come first among equals, then the expensive kinds. */
const struct allo_finding_rule *const allo_finding_rules[] = {
	&allo_rule_quality,       &allo_rule_leak_growing,  &allo_rule_leak_exit,
	&allo_rule_grow_by_one,   &allo_rule_growth_factor, &allo_rule_churn_loop,
	&allo_rule_temp_format,   &allo_rule_same_size,     &allo_rule_tiny,
	&allo_rule_zero_size,     &allo_rule_cross_thread,  &allo_rule_spike,
	&allo_rule_double_buffer, &allo_rule_late_free,     &allo_rule_startup,
	&allo_rule_fragmentation, &allo_rule_never_read,    &allo_rule_never_written,
	&allo_rule_low_use,       &allo_rule_low_access,    NULL,
};
_Static_assert(sizeof(allo_finding_rules) / sizeof(*allo_finding_rules) <=
		       ALLO_FINDING_RULES_MOST + 1,
	       "there is room for all");

const char *const allo_severity_names[] = { "low", "medium", "high", NULL };

const struct allo_saving_kind allo_saving_kinds[] = {
	[ALLO_SAVES_NOTHING] = { NULL, NULL, ALLO_UNIT_COUNT },
	[ALLO_SAVES_PEAK_BYTES] = { "peak_bytes", "of the peak", ALLO_UNIT_BYTES },
	[ALLO_SAVES_END_BYTES] = { "end_bytes", "at the end", ALLO_UNIT_BYTES },
	[ALLO_SAVES_COPIED_BYTES] = { "copied_bytes", "of copies", ALLO_UNIT_BYTES },
	[ALLO_SAVES_ALLOC_BYTES] = { "alloc_bytes", "of allocated memory", ALLO_UNIT_BYTES },
	[ALLO_SAVES_BLOCKS] = { "alloc_blocks", "allocations", ALLO_UNIT_COUNT },
	[ALLO_SAVES_RESIDENT_BYTES] = { "resident_bytes", "of resident memory", ALLO_UNIT_BYTES },
};

const struct allo_finding_rule *allo_finding_rule_find(const char *id)
{
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		if (strcmp(allo_finding_rules[i]->id, id) == 0)
			return allo_finding_rules[i];
	}
	return NULL;
}

static enum allo_severity severity_of(const struct allo_finding *found, const double *limits)
{
	enum allo_severity severity = found->cost >= limits[ALLO_HIGH_COST] ? ALLO_SEVERITY_HIGH
				      : found->cost >= limits[ALLO_MEDIUM_COST]
					      ? ALLO_SEVERITY_MEDIUM
					      : ALLO_SEVERITY_LOW;

	return severity < found->rule->most ? severity : found->rule->most;
}

/* Judges a site, or the program for NULL, and adds what the rule finds. */
static bool judge(struct allo_findings *findings, const struct allo_evidence *evidence,
		  const struct allo_findings_options *options, const struct allo_finding_rule *rule,
		  const struct allo_evidence_site *site, struct allo_error *err)
{
	struct allo_finding found = { .rule = rule, .site = site };
	struct allo_case at = { evidence, options->thresholds.at, &findings->arena, &found };

	if (!rule->judge(&at))
		return true;
	if (!found.sentence)
		return allo_fail_memory(err);
	ALLO_ASSERT(found.cost >= 0 && found.cost <= 1);
	ALLO_ASSERT(found.from_ns <= found.to_ns);
	if (found.site && !found.stack)
		found.stack = found.site->stack;
	found.severity = severity_of(&found, options->thresholds.at);
	return found.severity < options->least || allo_vec_add(&findings->list, found, err);
}

/* By severity, cost, rule and site: never equal, so that the order is always the same. */
static int compare(const void *left, const void *right)
{
	const struct allo_finding *a = left, *b = right;

	if (a->severity != b->severity)
		return a->severity > b->severity ? -1 : 1;
	if (a->cost != b->cost)
		return a->cost > b->cost ? -1 : 1;
	if (a->rule != b->rule)
		return strcmp(a->rule->id, b->rule->id);
	return a->site < b->site ? -1 : a->site > b->site;
}

/* Sorts the findings of a rule, which begin at `first`, and keeps the largest.  Returns the number
 * of the others. */
static size_t keep_largest(struct allo_findings *findings, size_t first, size_t most)
{
	size_t count = findings->list.len - first;

	ALLO_ASSERT(first <= findings->list.len);
	if (count > 1)
		qsort(&findings->list.at[first], count, sizeof(*findings->list.at), compare);
	if (most == 0 || count <= most)
		return 0;
	findings->list.len = first + most;
	return count - most;
}

static bool apply(struct allo_findings *findings, const struct allo_evidence *evidence,
		  const struct allo_findings_options *options, size_t rule, struct allo_error *err)
{
	size_t first = findings->list.len;

	findings->missing[rule] = allo_finding_rules[rule]->needs & ~evidence->data;
	if (findings->missing[rule] != 0)
		return true;
	if (allo_finding_rules[rule]->is_whole)
		return judge(findings, evidence, options, allo_finding_rules[rule], NULL, err);
	for (size_t i = 0; i < evidence->sites.len; i++) {
		if (!judge(findings, evidence, options, allo_finding_rules[rule],
			   &evidence->sites.at[i], err))
			return false;
	}
	findings->more[rule] = keep_largest(findings, first, options->most_of_rule);
	return true;
}

bool allo_findings_of(struct allo_findings *findings, const struct allo_evidence *evidence,
		      const struct allo_findings_options *options, struct allo_error *err)
{
	for (size_t i = 0; allo_finding_rules[i]; i++) {
		if (options->is_ignored[i] ||
		    (options->only && options->only != allo_finding_rules[i]))
			continue;
		if (!apply(findings, evidence, options, i, err))
			return false;
	}
	if (findings->list.len > 1)
		qsort(findings->list.at, findings->list.len, sizeof(*findings->list.at), compare);
	for (size_t i = 0; i < findings->list.len; i++)
		findings->counts[findings->list.at[i].severity]++;
	return true;
}

void allo_findings_done(struct allo_findings *findings)
{
	allo_vec_done(&findings->list);
	allo_arena_done(&findings->arena);
}
