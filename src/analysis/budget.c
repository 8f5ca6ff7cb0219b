/* budget.c - measures and compares; limits.c parses. */
#include "analysis/budget.h"

#include "analysis/culprit.h"
#include "analysis/filters/pattern.h"
#include "analysis/leaks.h"
#include "analysis/sites/runtime_memory.h"
#include "base/defer.h"

#include <math.h>
#include <stdlib.h>

void allo_verdicts_done(struct allo_verdicts *verdicts)
{
	allo_vec_done(&verdicts->list);
	allo_arena_done(&verdicts->arena);
}

double allo_verdict_percent(const struct allo_verdict *verdict)
{
	double change = (double)(verdict->now - verdict->before);

	if (verdict->before == 0)
		return change == 0 ? 0 : change * INFINITY;
	return 100 * change / (double)verdict->before;
}

/* Finds the metric of a limit. */
static bool find_metric(const struct allo_budget_limit *limit, const struct allo_profile *profile,
			size_t *metric, struct allo_error *err)
{
	bool is_leaks = strcmp(limit->metric, "leaks") == 0 || strcmp(limit->metric, "leak") == 0;
	const struct allo_metric_kind *kind;

	if (!(is_leaks ? allo_find_leak_metric(profile, metric, err)
		       : allo_find_metric(profile, limit->metric, metric, err))) {
		if (limit->pos.file && !err->pos.file)
			err->pos = limit->pos;
		return false;
	}
	kind = &allo_metric_kinds[profile->metrics.at[*metric].meaning];
	return kind->is_additive ||
	       allo_fail(err, ALLO_USAGE, limit->pos,
			 "%s cannot be limited: each site's own maximum does not add up",
			 kind->name);
}

/* Whether suppressions apply to a limit. */
static bool is_of_leaks(const struct allo_budget_limit *limit, const struct allo_profile *profile,
			size_t metric)
{
	enum allo_meaning meaning = profile->metrics.at[metric].meaning;

	return meaning == ALLO_END_BYTES || meaning == ALLO_END_BLOCKS ||
	       strncmp(limit->metric, "leak", 4) == 0;
}

/* Sums. */

/* Sets *matches_nothing if the limit has a pattern that no stack matches. */
static bool sum_up(const struct allo_budget_limit *limit, const struct allo_profile *profile,
		   size_t metric, allo_sum *sum, bool *matches_nothing, struct allo_error *err)
{
	bool matches = false;

	ALLO_DEFER(allo_free_pointer) bool *stacks = NULL;

	*sum = 0;
	if (!limit->pattern) {
		*sum = allo_metric_sum(profile, metric);
		return true;
	}
	stacks = calloc(profile->stacks.len + 1, 1);
	if (!stacks)
		return allo_fail_memory(err);
	if (!allo_pattern_match_stacks(limit->pattern, profile, stacks, err))
		return false;
	for (size_t i = 1; i < profile->stacks.len && !matches; i++)
		matches = stacks[i];
	*matches_nothing |= !matches;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (stacks[profile->sample_stacks.at[i]])
			*sum += allo_value_of(&profile->metrics.at[metric],
					      allo_profile_row(profile, i)[metric]);
	}
	return true;
}

/* Verdicts. */

static bool is_kept(const struct allo_verdict *verdict)
{
	const struct allo_budget_limit *limit = verdict->limit;

	if (!limit->is_growth)
		return verdict->now <= (allo_sum)limit->value;
	if (!limit->is_percent)
		return verdict->now - verdict->before <= (allo_sum)limit->value;
	return allo_verdict_percent(verdict) <= limit->percent;
}

static bool judge(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		  const struct allo_profile *profile, size_t metric,
		  const struct allo_profile *base, struct allo_error *err)
{
	const struct allo_budget_limit *limit = verdict->limit;
	struct allo_text name = allo_profile_text(profile, profile->metrics.at[metric].name);
	struct allo_text unit = allo_profile_text(profile, profile->metrics.at[metric].unit);
	bool of_base = false;
	size_t base_metric;

	verdict->meaning = profile->metrics.at[metric].meaning;
	verdict->metric = allo_arena_copy(&verdicts->arena, name.data, name.len);
	verdict->unit = allo_arena_copy(&verdicts->arena, unit.data, unit.len);
	if (!verdict->metric || !verdict->unit)
		return allo_fail_memory(err);
	if (!sum_up(limit, profile, metric, &verdict->now, &verdict->matches_nothing, err) ||
	    (limit->is_growth &&
	     (!find_metric(limit, base, &base_metric, err) ||
	      !sum_up(limit, base, base_metric, &verdict->before, &of_base, err))))
		return false;
	verdict->is_kept = is_kept(verdict);
	verdicts->exceeded += !verdict->is_kept;
	return allo_culprit_find(verdicts, verdict, profile, metric, base, err);
}

/* Checks the limits on leaks, or all others. */
static bool judge_some(struct allo_verdicts *verdicts, bool of_leaks,
		       const struct allo_profile *profile, const struct allo_profile *base,
		       struct allo_error *err)
{
	for (size_t i = 0; i < verdicts->list.len; i++) {
		struct allo_verdict *verdict = &verdicts->list.at[i];
		size_t metric;

		if (!find_metric(verdict->limit, profile, &metric, err))
			return false;
		if (is_of_leaks(verdict->limit, profile, metric) == of_leaks &&
		    !judge(verdicts, verdict, profile, metric, base, err))
			return false;
	}
	return true;
}

/* A profile without leak data needs no suppression; a limit on leaks fails there. */
static bool suppress(struct allo_suppressions *suppressions, struct allo_profile *profile,
		     struct allo_error *err)
{
	struct allo_error none = { 0 };
	struct allo_metric_columns columns;
	size_t metric;

	if (suppressions->list.len == 0 || !allo_find_leak_metric(profile, &metric, &none))
		return true;
	columns = allo_metric_columns_of(profile, metric);
	return allo_suppressions_apply(suppressions, profile, &columns, err);
}

/* Notes the memory of the start of libraries in the verdicts on leaks. */
static bool note_runtime(struct allo_verdicts *verdicts, const struct allo_profile *profile,
			 struct allo_error *err)
{
	for (size_t i = 0; i < verdicts->list.len; i++) {
		struct allo_verdict *verdict = &verdicts->list.at[i];
		struct allo_metric_columns columns = { 0 };

		if (!find_metric(verdict->limit, profile, &columns.metric, err))
			return false;
		if (!verdict->limit->pattern &&
		    is_of_leaks(verdict->limit, profile, columns.metric))
			verdict->runtime = allo_runtime_memory_sum(profile, &columns).value;
	}
	return true;
}

static bool leave_out_runtime(struct allo_profile *profile, struct allo_error *err)
{
	struct allo_error none = { 0 };
	struct allo_metric_columns columns;
	size_t metric;

	if (!allo_find_leak_metric(profile, &metric, &none))
		return true;
	columns = allo_metric_columns_of(profile, metric);
	return allo_runtime_memory_drop(profile, &columns, err);
}

bool allo_budget_check(struct allo_verdicts *verdicts, const struct allo_limits *limits,
		       struct allo_suppressions *suppressions, struct allo_attribution *attribution,
		       struct allo_profile *profile, struct allo_profile *base,
		       struct allo_error *err)
{
	verdicts->attribution = attribution;
	for (size_t i = 0; i < limits->list.len; i++) {
		struct allo_verdict verdict = { .limit = &limits->list.at[i] };

		if (!allo_vec_add(&verdicts->list, verdict, err))
			return false;
	}
	return judge_some(verdicts, false, profile, base, err) &&
	       suppress(suppressions, profile, err) &&
	       (!base || suppress(suppressions, base, err)) &&
	       note_runtime(verdicts, profile, err) && leave_out_runtime(profile, err) &&
	       (!base || leave_out_runtime(base, err)) &&
	       judge_some(verdicts, true, profile, base, err);
}
