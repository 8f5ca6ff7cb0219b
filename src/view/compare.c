#include "view/compare.h"

#include "analysis/diff.h"
#include "base/defer.h"

#include <stdlib.h>

/* A comparison while it is made. */
struct pair {
	struct allo_dataset *files[2]; /* by enum allo_side */
	struct allo_profile diff;
	struct allo_diff_map maps[2];
};

static void pair_done(struct pair *pair)
{
	allo_diff_map_done(&pair->maps[0]);
	allo_diff_map_done(&pair->maps[1]);
	allo_profile_done(&pair->diff);
}

/* Compares the samples of both files, with the values of everything. */
static bool compare(struct pair *pair, struct allo_error *err)
{
	struct allo_dataset *base = pair->files[ALLO_BEFORE], *changed = pair->files[ALLO_NOW];
	bool ok = allo_dataset_show_all(base, err) && allo_dataset_show_all(changed, err) &&
		  allo_diff_profiles_mapped(&base->profile, &changed->profile, ALLO_MATCH_FUNCTION,
					    &pair->diff, pair->maps, err);

	allo_dataset_hide_all(base);
	allo_dataset_hide_all(changed);
	return ok;
}

/* The samples of the comparison, by stack: index + 1.  The caller frees them. */
static uint32_t *samples_by_stack(const struct allo_profile *diff, struct allo_error *err)
{
	uint32_t *samples = calloc(diff->stacks.len + 1, sizeof(*samples));

	if (!samples) {
		allo_fail_memory(err);
		return NULL;
	}
	for (size_t i = 0; i < allo_profile_sample_count(diff); i++)
		samples[diff->sample_stacks.at[i]] = (uint32_t)i + 1;
	return samples;
}

/* Keeps a file, so that requests about ranges find its values. */
static bool keep_file(struct allo_compared_file *kept, struct allo_dataset *file,
		      const struct allo_diff_map *map, const uint32_t *samples,
		      struct allo_error *err)
{
	const struct allo_profile *all = &file->all;

	for (size_t i = 0; i < all->sample_stacks.len; i++)
		allo_vec_add(&kept->samples, samples[map->stacks[all->sample_stacks.at[i]]], err);
	allo_vec_add_all(&kept->metrics, map->metrics, file->profile.metrics.len, err);
	kept->dataset = file;
	return !allo_failed(err);
}

bool allo_dataset_compare(struct allo_dataset *comparison, struct allo_dataset *base,
			  struct allo_dataset *changed, struct allo_error *err)
{
	ALLO_DEFER(pair_done)
	struct pair pair = { .files = { [ALLO_BEFORE] = base, [ALLO_NOW] = changed } };
	ALLO_DEFER(allo_free_pointer) uint32_t *samples = NULL;

	if (!compare(&pair, err) || !(samples = samples_by_stack(&pair.diff, err)) ||
	    !allo_dataset_from_profile(comparison, &pair.diff, err))
		return false;
	for (size_t i = 0; i < 2 && base->recording && changed->recording; i++) {
		if (!keep_file(&comparison->compared[i], pair.files[i], &pair.maps[i], samples,
			       err))
			return false;
	}
	return true;
}
