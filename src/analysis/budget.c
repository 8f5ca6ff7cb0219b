/* budget.c - measures and compares; limits.c parses. */
#include "analysis/budget.h"

#include "analysis/diff.h"
#include "analysis/leaks.h"
#include "analysis/pattern.h"
#include "analysis/top.h"
#include "base/defer.h"
#include "profile/naming.h"

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

/* Computes for each stack whether one of its frames matches. */
static bool match_stacks(const char *text, const struct allo_profile *profile, bool *stacks,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_pattern_done) struct allo_pattern pattern = { 0 };
	ALLO_DEFER(allo_free_pointer) bool *frames = calloc(profile->frames.len + 1, 1);

	if (!frames)
		return allo_fail_memory(err);
	if (!allo_pattern_init(&pattern, text, err))
		return false;
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		for (uint32_t k = 0; k < allo_frame_call_count(frame) && !frames[i]; k++)
			frames[i] = allo_pattern_matches(&pattern, profile, frame, k);
	}
	for (size_t i = 1; i < profile->stacks.len; i++)
		stacks[i] = frames[profile->stacks.at[i].frame] ||
			    stacks[profile->stacks.at[i].parent];
	return !pattern.has_failed || allo_fail_memory(err);
}

static bool sum_up(const struct allo_budget_limit *limit, const struct allo_profile *profile,
		   size_t metric, allo_sum *sum, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer) bool *stacks = NULL;

	*sum = 0;
	if (!limit->pattern) {
		*sum = allo_metric_sum(profile, metric);
		return true;
	}
	stacks = calloc(profile->stacks.len + 1, 1);
	if (!stacks)
		return allo_fail_memory(err);
	if (!match_stacks(limit->pattern, profile, stacks, err))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		if (stacks[profile->sample_stacks.at[i]])
			*sum += allo_value_of(&profile->metrics.at[metric],
					      allo_profile_row(profile, i)[metric]);
	}
	return true;
}

/* Renamed functions. */

/* Rows of functions that only one of two profiles has. */
struct unmatched_rows {
	ALLO_VEC(struct allo_top_row *) list;
};

static void unmatched_done(struct unmatched_rows *rows)
{
	allo_vec_done(&rows->list);
}

/* By file; the largest of a file first.  Ids follow the order of arrival, so that it is stable. */
static int compare_unmatched(const void *a, const void *b)
{
	const struct allo_top_row *x = *(struct allo_top_row *const *)a;
	const struct allo_top_row *y = *(struct allo_top_row *const *)b;
	allo_sum x_size = x->self.value + x->self.before, y_size = y->self.value + y->self.before;

	if (x->key.file != y->key.file)
		return x->key.file < y->key.file ? -1 : 1;
	if (x_size != y_size)
		return x_size < y_size ? 1 : -1;
	return (x->key.function > y->key.function) - (x->key.function < y->key.function);
}

/* Finds the rows that have a name and grew from nothing, or shrank to nothing. */
static bool find_unmatched(const struct allo_top *top, bool is_gone, struct unmatched_rows *rows,
			   struct allo_error *err)
{
	for (size_t i = 0; i < top->rows.len; i++) {
		struct allo_top_row *row = &top->rows.at[i];
		const struct allo_values *total = &row->total;

		if (row->key.function && (is_gone ? total->value : total->before) == 0 &&
		    (is_gone ? row->self.before : row->self.value) != 0 &&
		    !allo_vec_add(&rows->list, row, err))
			return false;
	}
	if (rows->list.len > 0)
		qsort(rows->list.at, rows->list.len, sizeof(*rows->list.at), compare_unmatched);
	return true;
}

/* A function that is new takes the place of one of its file that is gone, the largest that of the
 * largest: a rename is no growth. */
static bool match_renamed(struct allo_top *top, struct allo_error *err)
{
	ALLO_DEFER(unmatched_done) struct unmatched_rows gone = { 0 }, added = { 0 };
	size_t i = 0, k = 0;

	if (!find_unmatched(top, true, &gone, err) || !find_unmatched(top, false, &added, err))
		return false;
	while (i < gone.list.len && k < added.list.len) {
		struct allo_top_row *old = gone.list.at[i], *new = added.list.at[k];

		if (old->key.file == new->key.file) {
			new->self.before = old->self.before;
			old->self.before = 0;
		}
		i += old->key.file <= new->key.file;
		k += new->key.file <= old->key.file;
	}
	return true;
}

/* The largest call site. */

static allo_sum growth_of(const struct allo_top_row *row)
{
	return row->self.value - row->self.before;
}

/* The row with the largest value or growth; NULL if there is none.  Rows that shrank most may come
 * before it. */
static const struct allo_top_row *first_row(const struct allo_top *top, enum allo_top_order order)
{
	for (size_t i = 0; i < top->rows.len; i++) {
		if (order != ALLO_TOP_BY_CHANGE || growth_of(&top->rows.at[i]) > 0)
			return &top->rows.at[i];
	}
	return NULL;
}

/* Its value or growth, of which the total is the limit. */
static void set_value(struct allo_verdict *verdict, const struct allo_top_row *row,
		      enum allo_top_order order)
{
	allo_sum total = verdict->now - verdict->before;

	verdict->mostly_value = order == ALLO_TOP_BY_CHANGE ? growth_of(row) : row->self.value;
	if (order == ALLO_TOP_BY_CHANGE && verdict->mostly_value > total) {
		verdict->mostly_value = total;
		verdict->others_shrank = true;
	}
}

static bool take_first(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		       const struct allo_profile *profile,
		       const struct allo_metric_columns *columns, enum allo_top_order order,
		       struct allo_error *err)
{
	ALLO_DEFER(allo_top_done)
	struct allo_top top = { .by = ALLO_BY_FUNCTION, .attribution = verdicts->attribution };
	const struct allo_top_row *row;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name, file;

	allo_attribution_restart(verdicts->attribution);
	if (!allo_top_add(&top, profile, columns, err) ||
	    (order == ALLO_TOP_BY_CHANGE && !match_renamed(&top, err)))
		return false;
	allo_top_sort(&top, profile, order);
	row = first_row(&top, order);
	if (!row)
		return true;
	name = allo_top_name(&top, profile, row, scratch);
	file = allo_basename(allo_profile_text(profile, row->key.file));
	verdict->mostly = allo_arena_copy(&verdicts->arena, name.data, name.len);
	verdict->mostly_file = allo_arena_copy(&verdicts->arena, file.data, file.len);
	set_value(verdict, row, order);
	return (verdict->mostly && verdict->mostly_file) || allo_fail_memory(err);
}

static bool find_culprit(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
			 const struct allo_profile *profile, size_t metric,
			 const struct allo_profile *base, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile diff = { 0 };
	struct allo_metric_columns columns = allo_metric_columns_of(profile, metric);
	size_t changed;

	if (verdict->is_kept || verdict->limit->pattern)
		return true;
	if (!verdict->limit->is_growth)
		return take_first(verdicts, verdict, profile, &columns, ALLO_TOP_BY_SELF, err);
	if (!allo_diff_profiles(base, profile, ALLO_MATCH_FUNCTION, &diff, err))
		return false;
	/* Only known metrics have a matching one in the base. */
	if (!allo_profile_find_metric(&diff, verdict->meaning, &changed))
		return true;
	columns = allo_metric_columns_of(&diff, changed);
	return take_first(verdicts, verdict, &diff, &columns, ALLO_TOP_BY_CHANGE, err);
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
	size_t base_metric;

	verdict->meaning = profile->metrics.at[metric].meaning;
	verdict->metric = allo_arena_copy(&verdicts->arena, name.data, name.len);
	verdict->unit = allo_arena_copy(&verdicts->arena, unit.data, unit.len);
	if (!verdict->metric || !verdict->unit)
		return allo_fail_memory(err);
	if (!sum_up(limit, profile, metric, &verdict->now, err) ||
	    (limit->is_growth && (!find_metric(limit, base, &base_metric, err) ||
				  !sum_up(limit, base, base_metric, &verdict->before, err))))
		return false;
	verdict->is_kept = is_kept(verdict);
	verdicts->exceeded += !verdict->is_kept;
	return find_culprit(verdicts, verdict, profile, metric, base, err);
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
	       judge_some(verdicts, true, profile, base, err);
}
