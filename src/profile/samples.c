/* samples.c - the metrics and samples of a profile. */
#include "profile/profile.h"

#include "base/assert.h"

/* Appends a value of 0 to every row. */
static bool widen_rows(struct allo_profile *profile)
{
	size_t count = allo_profile_sample_count(profile), width = profile->metrics.len;

	if (!allo_vec_reserve(&profile->values, count) ||
	    (profile->variances.len > 0 &&
	     !allo_vec_cover(&profile->variances, count * (width + 1))))
		return false;
	for (size_t row = count; row-- > 0;) {
		uint64_t *at = profile->values.at + row * (width + 1);

		memmove(at, profile->values.at + row * width, width * sizeof(*at));
		at[width] = 0;
		if (profile->variances.len > 0) {
			double *variance = profile->variances.at + row * (width + 1);

			memmove(variance, profile->variances.at + row * width,
				width * sizeof(*variance));
			variance[width] = 0;
		}
	}
	profile->values.len += count;
	return true;
}

bool allo_profile_add_metric_like(struct allo_profile *profile, const struct allo_metric *metric,
				  struct allo_error *err)
{
	if (!allo_vec_reserve(&profile->metrics, 1) || !widen_rows(profile))
		return allo_fail_memory(err);
	profile->metrics.at[profile->metrics.len++] = *metric;
	return true;
}

bool allo_profile_add_metric(struct allo_profile *profile, enum allo_meaning meaning,
			     const char *unit, struct allo_error *err)
{
	const struct allo_metric_kind *kind = &allo_metric_kinds[meaning];
	struct allo_metric metric = { .meaning = meaning };

	metric.name = allo_profile_add_string(profile, allo_text_of(kind->name), err);
	metric.unit = allo_profile_add_string(profile, allo_text_of(unit ? unit : kind->unit), err);
	return !allo_failed(err) && allo_profile_add_metric_like(profile, &metric, err);
}

bool allo_profile_find_metric(const struct allo_profile *profile, enum allo_meaning meaning,
			      size_t *index)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		if (profile->metrics.at[i].meaning == meaning &&
		    !profile->metrics.at[i].is_before) {
			*index = i;
			return true;
		}
	}
	return false;
}

/* Optional columns start with the first sample that needs them. */
static bool cover_columns(struct allo_profile *profile, allo_labels_id labels,
			  const struct allo_when *when)
{
	size_t count = allo_profile_sample_count(profile);

	if (labels != 0 || profile->sample_labels.len > 0) {
		if (!allo_vec_cover(&profile->sample_labels, count + 1))
			return false;
		profile->sample_labels.at[count] = labels;
	}
	if (when || profile->sample_times.len > 0) {
		if (!allo_vec_cover(&profile->sample_times, count + 1))
			return false;
		profile->sample_times.at[count] = when ? *when : (struct allo_when){ 0 };
	}
	return true;
}

/* Appends a sample, with a time or without; returns its row of zeros, or NULL on failure. */
static uint64_t *append_sample(struct allo_profile *profile, allo_stack_id stack,
			       allo_labels_id labels, const struct allo_when *when,
			       struct allo_error *err)
{
	size_t width = profile->metrics.len;
	uint64_t *row;

	ALLO_ASSERT(profile->values.len == allo_profile_sample_count(profile) * width);
	if (allo_profile_sample_count(profile) == UINT32_MAX - 1) {
		allo_fail(err, ALLO_LIMIT, ALLO_NOWHERE, "more than 2^32 samples");
		return NULL;
	}
	/* width + 1, so that a profile without metrics gets a row that is not NULL. */
	if (!allo_vec_reserve(&profile->sample_stacks, 1) ||
	    !allo_vec_reserve(&profile->values, width + 1) ||
	    !cover_columns(profile, labels, when)) {
		allo_fail_memory(err);
		return NULL;
	}
	profile->sample_stacks.at[profile->sample_stacks.len++] = stack;
	row = profile->values.at + profile->values.len;
	profile->values.len += width;
	return memset(row, 0, width * sizeof(*row));
}

static uint64_t *add_unlabelled(struct allo_profile *profile, allo_stack_id stack, bool *is_new,
				struct allo_error *err)
{
	size_t stacks = profile->stacks.len > stack ? profile->stacks.len : (size_t)stack + 1;
	uint32_t *number;
	uint64_t *row;

	if (stack >= profile->stack_samples.len &&
	    !allo_vec_extend(&profile->stack_samples, stacks, err))
		return NULL;
	number = &profile->stack_samples.at[stack];
	*is_new = *number == 0;
	if (!*is_new)
		return profile->values.at + (*number - 1) * profile->metrics.len;
	row = append_sample(profile, stack, 0, NULL, err);
	if (row)
		*number = (uint32_t)allo_profile_sample_count(profile);
	return row;
}

static uint64_t *add_labelled(struct allo_profile *profile, allo_stack_id stack,
			      allo_labels_id labels, bool *is_new, struct allo_error *err)
{
	uint64_t hash = allo_hash_pair(stack, labels, allo_profile_seed(profile));
	struct allo_probe probe = allo_map_probe(&profile->labelled_map, hash);
	uint32_t number;
	uint64_t *row;

	*is_new = false;
	while ((number = allo_map_next(&profile->labelled_map, &probe)) != 0) {
		if (profile->sample_stacks.at[number - 1] == stack &&
		    profile->sample_labels.at[number - 1] == labels)
			return profile->values.at + (number - 1) * profile->metrics.len;
	}
	*is_new = true;
	row = append_sample(profile, stack, labels, NULL, err);
	number = (uint32_t)allo_profile_sample_count(profile);
	if (row && !allo_map_put(&profile->labelled_map, hash, number)) {
		allo_fail_memory(err);
		return NULL;
	}
	return row;
}

uint64_t *allo_profile_add_sample(struct allo_profile *profile, allo_stack_id stack,
				  allo_labels_id labels, bool *is_new, struct allo_error *err)
{
	bool ignored;

	if (!is_new)
		is_new = &ignored;
	if (allo_failed(err))
		return NULL;
	return labels ? add_labelled(profile, stack, labels, is_new, err)
		      : add_unlabelled(profile, stack, is_new, err);
}

bool allo_profile_add_values(struct allo_profile *profile, allo_stack_id stack,
			     allo_labels_id labels, const uint64_t *values, struct allo_error *err)
{
	uint64_t *row = allo_profile_add_sample(profile, stack, labels, NULL, err);

	for (size_t i = 0; row && i < profile->metrics.len; i++)
		allo_profile_add_value(profile, i, &row[i], values[i]);
	return row != NULL;
}

uint64_t *allo_profile_add_timed_sample(struct allo_profile *profile, allo_stack_id stack,
					allo_labels_id labels, const struct allo_when *when,
					struct allo_error *err)
{
	return allo_failed(err) ? NULL : append_sample(profile, stack, labels, when, err);
}

bool allo_profile_set_accesses(struct allo_profile *profile, const int32_t *runs, size_t count,
			       struct allo_error *err)
{
	size_t sample = allo_profile_sample_count(profile) - 1;

	ALLO_ASSERT(allo_profile_sample_count(profile) > 0);
	if (profile->access_runs.len + count > UINT32_MAX)
		return allo_fail_memory(err);
	if (!allo_vec_extend(&profile->sample_accesses, sample + 1, err) ||
	    !allo_vec_add_all(&profile->access_runs, runs, count, err))
		return false;
	profile->sample_accesses.at[sample] = (struct allo_accesses){
		(uint32_t)(profile->access_runs.len - count), (uint32_t)count
	};
	return true;
}

/* Rebuilds the lookup of samples by stack and labels.  Samples with a time are not looked up. */
static void index_samples(struct allo_profile *profile)
{
	if (profile->stack_samples.len > 0)
		memset(profile->stack_samples.at, 0,
		       profile->stack_samples.len * sizeof(*profile->stack_samples.at));
	allo_map_clear(&profile->labelled_map);
	if (profile->sample_times.len > 0)
		return;
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		allo_stack_id stack = profile->sample_stacks.at[i];
		allo_labels_id labels = allo_profile_labels_of(profile, i);

		if (labels == 0)
			profile->stack_samples.at[stack] = (uint32_t)i + 1;
		else /* cannot fail: the map has held more entries */
			allo_map_put(&profile->labelled_map,
				     allo_hash_pair(stack, labels, allo_profile_seed(profile)),
				     (uint32_t)i + 1);
	}
}

void allo_profile_keep_samples(struct allo_profile *profile, const bool *kept)
{
	size_t count = allo_profile_sample_count(profile), width = profile->metrics.len;
	size_t used = 0, with_accesses = 0;

	for (size_t i = 0; i < count; i++) {
		if (!kept[i])
			continue;
		profile->sample_stacks.at[used] = profile->sample_stacks.at[i];
		if (profile->sample_labels.len > 0)
			profile->sample_labels.at[used] = profile->sample_labels.at[i];
		if (profile->sample_times.len > 0)
			profile->sample_times.at[used] = profile->sample_times.at[i];
		if (i < profile->sample_accesses.len)
			profile->sample_accesses.at[with_accesses++] =
				profile->sample_accesses.at[i];
		for (size_t m = 0; m < width; m++)
			profile->values.at[used * width + m] = profile->values.at[i * width + m];
		for (size_t m = 0; m < width && profile->variances.len > 0; m++)
			profile->variances.at[used * width + m] = allo_profile_variance(profile, i,
											m);
		used++;
	}
	if (used < count)
		profile->history.len = profile->changes.len = 0;
	profile->sample_stacks.len = used;
	profile->values.len = used * width;
	if (profile->variances.len > used * width)
		profile->variances.len = used * width;
	if (profile->sample_labels.len > 0)
		profile->sample_labels.len = used;
	if (profile->sample_times.len > 0)
		profile->sample_times.len = used;
	profile->sample_accesses.len = with_accesses;
	index_samples(profile);
}

void allo_profile_clear_samples(struct allo_profile *profile)
{
	profile->sample_stacks.len = 0;
	profile->sample_labels.len = 0;
	profile->sample_times.len = 0;
	profile->sample_accesses.len = 0;
	profile->values.len = 0;
	profile->variances.len = 0;
	profile->access_runs.len = 0;
	profile->changes.len = 0; /* they refer to stacks */
	profile->stacks.len = 0;
	profile->stack_hashes.len = 0;
	profile->stack_samples.len = 0;
	allo_map_clear(&profile->stack_map);
	allo_map_clear(&profile->labelled_map);
}

/* Moves a vec or a map, for which all zeros is empty, to one that may own memory. */
#define MOVE(done, to, from)                                                                       \
	do {                                                                                       \
		done(to);                                                                          \
		*(to) = *(from);                                                                   \
		memset((from), 0, sizeof(*(from)));                                                \
	} while (0)

void allo_profile_move_samples(struct allo_profile *from, struct allo_profile *to)
{
	MOVE(allo_vec_done, &to->stacks, &from->stacks);
	MOVE(allo_vec_done, &to->stack_hashes, &from->stack_hashes);
	MOVE(allo_map_done, &to->stack_map, &from->stack_map);
	MOVE(allo_vec_done, &to->stack_samples, &from->stack_samples);
	MOVE(allo_map_done, &to->labelled_map, &from->labelled_map);
	MOVE(allo_vec_done, &to->sample_stacks, &from->sample_stacks);
	MOVE(allo_vec_done, &to->sample_labels, &from->sample_labels);
	MOVE(allo_vec_done, &to->sample_times, &from->sample_times);
	MOVE(allo_vec_done, &to->sample_accesses, &from->sample_accesses);
	MOVE(allo_vec_done, &to->values, &from->values);
	MOVE(allo_vec_done, &to->variances, &from->variances);
	MOVE(allo_vec_done, &to->access_runs, &from->access_runs);
	MOVE(allo_vec_done, &to->changes, &from->changes);
}

void allo_profile_add_slowly(struct allo_profile *profile, size_t metric, uint64_t *value,
			     uint64_t more)
{
	bool is_signed = profile->metrics.at[metric].is_signed;
	int64_t sum;

	if (is_signed && !__builtin_add_overflow((int64_t)*value, (int64_t)more, &sum)) {
		*value = (uint64_t)sum;
		return;
	}
	if (is_signed)
		*value = (int64_t)more < 0 ? (uint64_t)INT64_MIN : (uint64_t)INT64_MAX;
	else
		*value = UINT64_MAX;
	allo_note(&profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
}

bool allo_profile_add_variance(struct allo_profile *profile, const uint64_t *value, double more,
			       struct allo_error *err)
{
	size_t index = (size_t)(value - profile->values.at);

	ALLO_ASSERT(index < profile->values.len);
	if (!allo_vec_extend(&profile->variances, index + 1, err))
		return false;
	profile->variances.at[index] += more;
	return true;
}

uint64_t allo_profile_fit_value(struct allo_profile *profile, size_t metric,
				const struct allo_metric *from, uint64_t value)
{
	if (!profile->metrics.at[metric].is_signed || from->is_signed || value <= INT64_MAX)
		return value;
	allo_note(&profile->notes, ALLO_NOTE_SATURATED, ALLO_NOWHERE);
	return INT64_MAX;
}

void allo_profile_make_signed(struct allo_profile *profile, size_t metric)
{
	struct allo_metric before = profile->metrics.at[metric];

	profile->metrics.at[metric].is_signed = true;
	for (size_t i = metric; i < profile->values.len; i += profile->metrics.len)
		profile->values.at[i] = allo_profile_fit_value(profile, metric, &before,
							       profile->values.at[i]);
}
