#include "view/compare.h"

#include "analysis/diff.h"
#include "base/defer.h"

/* Drops the base of each pair of metrics: it is empty here. */
static void drop_pairs(struct allo_profile *profile)
{
	size_t count = profile->metrics.len / 2;

	for (size_t i = 0; i < count; i++)
		profile->metrics.at[i] = profile->metrics.at[2 * i + 1];
	profile->metrics.len = count;
	for (size_t i = 0; i < profile->values.len / 2; i++)
		profile->values.at[i] = profile->values.at[2 * i + 1];
	profile->values.len /= 2;
	for (size_t i = 0; i < profile->variances.len / 2; i++)
		profile->variances.at[i] = profile->variances.at[2 * i + 1];
	profile->variances.len /= 2;
	profile->meta.default_metric /= 2;
}

/* A copy of all samples of a file, as an ordinary profile. */
static bool copy_profile(struct allo_dataset *dataset, struct allo_profile *copy,
			 struct allo_error *err)
{
	bool ok = allo_dataset_show_all(dataset, err) &&
		  allo_profile_merge(copy, &dataset->profile, err);

	allo_dataset_hide_all(dataset);
	if (ok)
		drop_pairs(copy);
	return ok;
}

bool allo_dataset_compare(struct allo_dataset *comparison, struct allo_dataset *base,
			  struct allo_dataset *changed, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile before = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile after = { 0 };
	ALLO_DEFER(allo_profile_done) struct allo_profile diff = { 0 };

	if (!copy_profile(base, &before, err) || !copy_profile(changed, &after, err) ||
	    !allo_diff_profiles(&before, &after, ALLO_MATCH_FUNCTION, &diff, err))
		return false;
	return allo_dataset_from_profile(comparison, &diff, err);
}
