/* lib_change.c - changing and comparing whole profiles; see allotrope.h. */
#include "analysis/diff.h"
#include "analysis/filters/filter.h"
#include "analysis/filters/select.h"
#include "base/defer.h"
#include "lib/lib_common.h"

static bool add_patterns(struct allo_patterns *patterns, const char *const *list,
			 struct allo_error *err)
{
	for (; list && *list; list++) {
		if (!allo_patterns_add(patterns, *list, err))
			return false;
	}
	return true;
}

bool allotrope_apply_filter(struct allotrope_profile *profile,
			    const struct allotrope_filter *filter, struct allotrope_error *err)
{
	ALLO_DEFER(allo_filter_done) struct allo_filter apply = { 0 };
	struct allo_error failure = { 0 };
	bool ok;

	if (!allo_lib_begin(profile, err))
		return false;
	if (!filter)
		return allo_lib_misuse(err, "no filter is given");
	if (!allo_lib_is_clear(filter, err))
		return false;
	apply.trim_allocator = filter->trim_allocator;
	apply.trim_startup = filter->trim_startup;
	apply.stack_depth = filter->stack_depth;
	ok = add_patterns(&apply.focus, filter->focus, &failure) &&
	     add_patterns(&apply.ignore, filter->ignore, &failure) &&
	     add_patterns(&apply.hide, filter->hide, &failure) &&
	     add_patterns(&apply.show, filter->show, &failure) &&
	     (allo_filter_is_empty(&apply) || allo_filter_apply(&apply, &profile->data, &failure));
	allo_lib_forget_stacks(profile);
	return ok || allo_lib_fail(err, &failure);
}

bool allotrope_select_metrics(struct allotrope_profile *profile, const char *const *names,
			      size_t count, struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!allo_lib_begin(profile, err))
		return false;
	if (!names || count == 0)
		return allo_lib_misuse(err, "no metrics are given to select");
	for (size_t i = 0; i < count; i++) {
		if (!names[i])
			return allo_lib_misuse(err, "metric %zu of the selection has no name", i);
	}
	return allo_select_metrics(&profile->data, names, count, &failure) ||
	       allo_lib_fail(err, &failure);
}

static bool is_comparison(const struct allo_profile *profile)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (profile->metrics.at[i].is_before)
			return true;
	}
	return false;
}

static bool has_same_metrics(const struct allo_profile *a, const struct allo_profile *b)
{
	bool is_same = a->metrics.len == b->metrics.len;

	for (size_t i = 0; is_same && i < a->metrics.len; i++) {
		const struct allo_metric *x = &a->metrics.at[i], *y = &b->metrics.at[i];

		is_same = x->is_before == y->is_before &&
			  allo_text_equal(allo_profile_text(a, x->name),
					  allo_profile_text(b, y->name)) &&
			  allo_text_equal(allo_profile_text(a, x->unit),
					  allo_profile_text(b, y->unit));
	}
	return is_same;
}

/* Values and their counterparts of before, samples with a time and sums: side by side they would
 * mean nothing. */
static bool check_merge(const struct allo_profile *into, const struct allo_profile *from,
			struct allotrope_error *err)
{
	if ((is_comparison(into) || is_comparison(from)) && into->metrics.len > 0 &&
	    from->metrics.len > 0 && !has_same_metrics(into, from))
		return allo_lib_misuse(err, "a comparison can be merged with one of the same "
					    "metrics only");
	if (allo_profile_sample_count(into) > 0 && allo_profile_sample_count(from) > 0 &&
	    (into->sample_times.len > 0) != (from->sample_times.len > 0))
		return allo_lib_misuse(err, "either all samples of a profile have a time or none");
	return true;
}

bool allotrope_merge(struct allotrope_profile *into, const struct allotrope_profile *from,
		     struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!allo_lib_begin(into, err) || !allo_lib_begin(from, err))
		return false;
	if (into == from)
		return allo_lib_misuse(err, "a profile cannot be merged with itself");
	if (!check_merge(&into->data, &from->data, err))
		return false;
	/* Memory for all metrics first: half of a comparison would be worse than nothing. */
	if (!allo_vec_reserve(&into->data.metrics, from->data.metrics.len))
		allo_fail_memory(&failure);
	else
		allo_profile_merge(&into->data, &from->data, &failure);
	return !allo_failed(&failure) || allo_lib_fail(err, &failure);
}

struct allotrope_profile *allotrope_diff(const struct allotrope_profile *base,
					 const struct allotrope_profile *changed,
					 enum allotrope_match match, struct allotrope_error *err)
{
	static const enum allo_match matches[] = {
		[ALLOTROPE_MATCH_FUNCTION] = ALLO_MATCH_FUNCTION,
		[ALLOTROPE_MATCH_LINE] = ALLO_MATCH_LINE,
		[ALLOTROPE_MATCH_ADDRESS] = ALLO_MATCH_ADDRESS,
	};
	struct allo_error failure = { 0 };
	struct allotrope_profile *diff;

	if (!allo_lib_begin(base, err) || !allo_lib_begin(changed, err))
		return NULL;
	if ((size_t)match >= sizeof(matches) / sizeof(*matches)) {
		allo_lib_misuse(err, "there is no way %d to match frames", (int)match);
		return NULL;
	}
	diff = allotrope_profile_new(err);
	if (diff &&
	    allo_diff_profiles(&base->data, &changed->data, matches[match], &diff->data, &failure))
		return diff;
	allo_lib_fail(err, &failure);
	allotrope_profile_free(diff);
	return NULL;
}

bool allotrope_validate(const struct allotrope_profile *profile, struct allotrope_error *err)
{
	struct allo_error failure = { 0 };

	if (!allo_lib_begin(profile, err))
		return false;
	return allo_profile_validate(&profile->data, &failure) || allo_lib_fail(err, &failure);
}
