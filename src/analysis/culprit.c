/*
 * culprit.c - matches the sites of both profiles, also renamed ones, and takes the one that grew
 * most.
 */
#include "analysis/culprit.h"

#include "analysis/diff.h"
#include "analysis/filters/pattern.h"
#include "analysis/top.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

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

/* Its value or growth, which may be more than that of all functions together. */
static void set_value(struct allo_verdict *verdict, const struct allo_top_row *row,
		      enum allo_top_order order)
{
	bool is_growth = order == ALLO_TOP_BY_CHANGE;

	verdict->mostly_value = is_growth ? growth_of(row) : row->self.value;
	verdict->others_shrank = is_growth &&
				 verdict->mostly_value > verdict->now - verdict->before;
}

/* The numbers to search: of a profile, or of a comparison. */
struct numbers {
	const struct allo_profile *profile;
	struct allo_metric_columns columns;
	enum allo_top_order order;
	bool *only; /* stacks that match the limit's pattern; NULL: all */
};

static void numbers_done(struct numbers *numbers)
{
	free(numbers->only);
}

static bool match_pattern(struct numbers *numbers, const char *pattern, struct allo_error *err)
{
	if (!pattern)
		return true;
	numbers->only = calloc(numbers->profile->stacks.len + 1, sizeof(*numbers->only));
	return numbers->only
		       ? allo_pattern_match_stacks(pattern, numbers->profile, numbers->only, err)
		       : allo_fail_memory(err);
}

static bool sum_up(struct allo_top *top, const struct numbers *numbers, struct allo_error *err)
{
	allo_attribution_restart(top->attribution);
	top->only = numbers->only;
	return allo_top_add(top, numbers->profile, &numbers->columns, err);
}

static bool take_first(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		       const struct numbers *numbers, struct allo_error *err)
{
	ALLO_DEFER(allo_top_done)
	struct allo_top top = { .by = ALLO_BY_FUNCTION, .attribution = verdicts->attribution };
	const struct allo_profile *profile = numbers->profile;
	const struct allo_top_row *row;
	char scratch[ALLO_TOP_SCRATCH];
	struct allo_text name, file;

	if (!sum_up(&top, numbers, err) ||
	    (numbers->order == ALLO_TOP_BY_CHANGE && !match_renamed(&top, err)))
		return false;
	allo_top_sort(&top, profile, numbers->order);
	row = first_row(&top, numbers->order);
	if (!row)
		return true;
	name = allo_top_name(&top, profile, row, scratch);
	file = allo_basename(allo_profile_text(profile, row->key.file));
	verdict->mostly = allo_arena_copy(&verdicts->arena, name.data, name.len);
	verdict->mostly_file = allo_arena_copy(&verdicts->arena, file.data, file.len);
	verdict->mostly_path = verdict->mostly_file;
	set_value(verdict, row, numbers->order);
	return (verdict->mostly && verdict->mostly_file) || allo_fail_memory(err);
}

/* Its place. */

static bool is_mostly(const struct allo_verdict *verdict, const struct allo_profile *profile,
		      allo_string_id function, allo_string_id file)
{
	return allo_text_equal(allo_profile_text(profile, function),
			       allo_text_of(verdict->mostly)) &&
	       allo_text_equal(allo_basename(allo_profile_text(profile, file)),
			       allo_text_of(verdict->mostly_file));
}

/* Comparisons have no folders. */
static bool find_path(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		      const struct allo_profile *profile, struct allo_error *err)
{
	for (size_t i = 1; i < profile->functions.len; i++) {
		const struct allo_function *function = &profile->functions.at[i];
		struct allo_text path = allo_profile_text(profile, function->file);

		if (!is_mostly(verdict, profile, function->name, function->file))
			continue;
		verdict->mostly_path = allo_arena_copy(&verdicts->arena, path.data, path.len);
		return verdict->mostly_path || allo_fail_memory(err);
	}
	return true;
}

/* The line of the function with the largest value or growth. */
static bool find_line(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		      const struct numbers *numbers, struct allo_error *err)
{
	ALLO_DEFER(allo_top_done)
	struct allo_top top = { .by = ALLO_BY_SITE, .attribution = verdicts->attribution };

	if (!sum_up(&top, numbers, err))
		return false;
	allo_top_sort(&top, numbers->profile, numbers->order);
	for (size_t i = 0; i < top.rows.len; i++) {
		const struct allo_top_row *row = &top.rows.at[i];

		if (!row->key.function ||
		    (numbers->order == ALLO_TOP_BY_CHANGE && growth_of(row) <= 0) ||
		    !is_mostly(verdict, numbers->profile, row->key.function, row->key.file))
			continue;
		verdict->mostly_line = row->key.number;
		break;
	}
	return true;
}

/* Searches a comparison, by function for the function or by line for its line. */
static bool search_growth(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
			  const struct allo_profile *profile, const struct allo_profile *base,
			  enum allo_match match, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile diff = { 0 };
	ALLO_DEFER(numbers_done)
	struct numbers numbers = { .profile = &diff, .order = ALLO_TOP_BY_CHANGE };
	size_t changed;

	if (!allo_diff_profiles(base, profile, match, &diff, err))
		return false;
	/* Only known metrics have a matching one in the base. */
	if (!allo_profile_find_metric(&diff, verdict->meaning, &changed))
		return true;
	numbers.columns = allo_metric_columns_of(&diff, changed);
	if (!match_pattern(&numbers, verdict->limit->pattern, err))
		return false;
	return match == ALLO_MATCH_LINE ? find_line(verdicts, verdict, &numbers, err)
					: take_first(verdicts, verdict, &numbers, err);
}

static bool find_growth(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
			const struct allo_profile *profile, const struct allo_profile *base,
			struct allo_error *err)
{
	if (!search_growth(verdicts, verdict, profile, base, ALLO_MATCH_FUNCTION, err))
		return false;
	return !verdict->mostly ||
	       search_growth(verdicts, verdict, profile, base, ALLO_MATCH_LINE, err);
}

bool allo_culprit_find(struct allo_verdicts *verdicts, struct allo_verdict *verdict,
		       const struct allo_profile *profile, size_t metric,
		       const struct allo_profile *base, struct allo_error *err)
{
	ALLO_DEFER(numbers_done)
	struct numbers numbers = { .profile = profile,
				   .columns = allo_metric_columns_of(profile, metric),
				   .order = ALLO_TOP_BY_SELF };

	if (verdict->is_kept)
		return true;
	if (verdict->limit->is_growth) {
		if (!find_growth(verdicts, verdict, profile, base, err))
			return false;
	} else if (!match_pattern(&numbers, verdict->limit->pattern, err) ||
		   !take_first(verdicts, verdict, &numbers, err) ||
		   (verdict->mostly && !find_line(verdicts, verdict, &numbers, err))) {
		return false;
	}
	return !verdict->mostly || find_path(verdicts, verdict, profile, err);
}
