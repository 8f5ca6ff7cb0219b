#include "analysis/filters/select.h"

#include "analysis/sum.h"
#include "base/defer.h"
#include "profile/naming.h"

#include <stdlib.h>

static bool contains(const size_t *list, size_t count, size_t item)
{
	for (size_t i = 0; i < count; i++) {
		if (list[i] == item)
			return true;
	}
	return false;
}

/* Moves the columns in `kept` to the front of each row and drops the others. */
static bool keep_columns(struct allo_profile *profile, const size_t *kept, size_t count,
			 struct allo_error *err)
{
	size_t width = profile->metrics.len, samples = allo_profile_sample_count(profile);
	ALLO_DEFER(allo_free_pointer) uint64_t *row = malloc((width + 1) * sizeof(*row));
	ALLO_DEFER(allo_free_pointer) double *variances = malloc((width + 1) * sizeof(*variances));
	bool has_variances = profile->variances.len > 0;

	if (!row || !variances ||
	    (has_variances && !allo_vec_cover(&profile->variances, profile->values.len)))
		return allo_fail_memory(err);
	for (size_t i = 0; i < samples; i++) {
		for (size_t k = 0; k < count; k++) {
			row[k] = profile->values.at[i * width + kept[k]];
			variances[k] = allo_profile_variance(profile, i, kept[k]);
		}
		memcpy(profile->values.at + i * count, row, count * sizeof(*row));
		if (has_variances)
			memcpy(profile->variances.at + i * count, variances,
			       count * sizeof(*variances));
	}
	profile->values.len = samples * count;
	profile->variances.len = has_variances ? samples * count : 0;
	return true;
}

/* Keeps a base metric without its partner, under its display name. */
static bool make_single(struct allo_profile *profile, size_t before, struct allo_metric *metric,
			struct allo_error *err)
{
	char scratch[ALLO_NAME_SCRATCH];

	metric->name = allo_profile_add_string(profile, allo_metric_name(profile, before, scratch),
					       err);
	metric->is_before = false;
	return !allo_failed(err);
}

bool allo_select_metrics(struct allo_profile *profile, const char *const *names, size_t count,
			 struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	size_t *kept = malloc((profile->metrics.len + 1) * sizeof(*kept));
	ALLO_DEFER(allo_free_pointer)
	struct allo_metric *metrics = malloc((profile->metrics.len + 1) * sizeof(*metrics));
	size_t used = 0;

	if (!kept || !metrics)
		return allo_fail_memory(err);
	for (size_t i = 0; i < count; i++) {
		size_t metric;

		if (!allo_find_metric(profile, names[i], &metric, err))
			return false;
		if (contains(kept, used, metric))
			continue;
		/* The metrics of a comparison stay in pairs. */
		if (metric > 0 && profile->metrics.at[metric - 1].is_before &&
		    !contains(kept, used, metric - 1))
			kept[used++] = metric - 1;
		kept[used++] = metric;
	}
	for (size_t i = 0; i < used; i++) {
		metrics[i] = profile->metrics.at[kept[i]];
		if (metrics[i].is_before && (i + 1 == used || kept[i + 1] != kept[i] + 1) &&
		    !make_single(profile, kept[i], &metrics[i], err))
			return false;
	}
	if (!keep_columns(profile, kept, used, err))
		return false;
	memcpy(profile->metrics.at, metrics, used * sizeof(*metrics));
	profile->metrics.len = used;
	profile->meta.default_metric = metrics[0].is_before ? 2 : 1;
	return true;
}
