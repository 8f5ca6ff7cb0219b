/* lib_samples.c - adding, changing and dropping samples; see allotrope.h. */
#include "base/defer.h"
#include "lib/lib_common.h"

#include <stdlib.h>

static bool check_count(const struct allotrope_profile *profile, size_t count,
			struct allotrope_error *err)
{
	return count == profile->data.metrics.len ||
	       allo_lib_misuse(err, "a sample has %zu values, but there are %zu metrics", count,
			       profile->data.metrics.len);
}

static bool check_sample(const struct allotrope_profile *profile,
			 const struct allotrope_sample *sample, struct allotrope_error *err)
{
	const struct allo_profile *data = &profile->data;
	bool has_times = data->sample_times.len > 0;

	if (!sample || (!sample->values && !sample->signed_values))
		return allo_lib_misuse(err, "no sample or no values are given");
	if (data->metrics.len == 0)
		return allo_lib_misuse(err, "a profile needs a metric before samples");
	if (!allo_lib_is_clear(sample, err) || !check_count(profile, sample->value_count, err))
		return false;
	if (sample->stack != 0 && !allo_lib_has(data->stacks, sample->stack))
		return allo_lib_misuse(err, "there is no stack %lu", (unsigned long)sample->stack);
	if (sample->labels != 0 && !allo_lib_has(data->label_sets, sample->labels))
		return allo_lib_misuse(err, "there is no set of labels %lu",
				       (unsigned long)sample->labels);
	if (sample->thread != 0 && !allo_lib_has(data->threads, sample->thread))
		return allo_lib_misuse(err, "there is no thread %lu",
				       (unsigned long)sample->thread);
	if (allo_profile_sample_count(data) > 0 && sample->has_time != has_times)
		return allo_lib_misuse(err, "either all samples of a profile have a time or none");
	return true;
}

/* The values may be those of another sample of this profile, which move when one is added. */
static bool copy_values(struct allotrope_profile *profile, const struct allotrope_sample *sample,
			struct allo_error *err)
{
	const void *values = sample->values ? (const void *)sample->values
					    : (const void *)sample->signed_values;

	profile->values.len = 0;
	return allo_vec_append(&profile->values, values, sample->value_count) ||
	       allo_fail_memory(err);
}

static uint64_t *add_row(struct allo_profile *profile, const struct allotrope_sample *sample,
			 struct allo_error *err)
{
	struct allo_when when = { .start_ns = sample->start_ns,
				  .duration_ns = sample->duration_ns,
				  .thread = sample->thread };

	return sample->has_time
		       ? allo_profile_add_timed_sample(profile, sample->stack, sample->labels,
						       &when, err)
		       : allo_profile_add_sample(profile, sample->stack, sample->labels, NULL, err);
}

bool allotrope_add_sample(struct allotrope_profile *profile, const struct allotrope_sample *sample,
			  struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	uint64_t *row = NULL;

	if (!allo_lib_begin(profile, err) || !check_sample(profile, sample, err))
		return false;
	if (copy_values(profile, sample, &failure))
		row = add_row(&profile->data, sample, &failure);
	if (!row)
		return allo_lib_fail(err, &failure);
	for (size_t m = 0; m < profile->values.len; m++) {
		uint64_t value = profile->values.at[m];

		if (!sample->values && (int64_t)value < 0)
			allo_profile_make_signed(&profile->data, m);
		allo_profile_add_value(&profile->data, m, &row[m], value);
	}
	return true;
}

bool allotrope_set_values(struct allotrope_profile *profile, size_t index, const uint64_t *values,
			  size_t count, struct allotrope_error *err)
{
	if (!allo_lib_begin(profile, err))
		return false;
	if (index >= allo_profile_sample_count(&profile->data) || (!values && count > 0))
		return allo_lib_misuse(err, "there is no sample %zu, or no values for it", index);
	if (!check_count(profile, count, err))
		return false;
	for (size_t m = 0; m < count; m++)
		profile->data.values.at[index * count + m] = values[m];
	return true;
}

bool allotrope_keep_samples(struct allotrope_profile *profile,
			    bool (*keep)(void *context, const struct allotrope_profile *profile,
					 size_t index),
			    void *context, struct allotrope_error *err)
{
	ALLO_DEFER(allo_free_pointer) bool *kept = NULL;
	struct allo_error failure = { 0 };
	size_t count = allotrope_sample_count(profile);

	if (!allo_lib_begin(profile, err))
		return false;
	if (!keep)
		return allo_lib_misuse(err, "nobody is there to choose samples");
	kept = malloc(count + 1);
	if (!kept) {
		allo_fail_memory(&failure);
		return allo_lib_fail(err, &failure);
	}
	for (size_t i = 0; i < count; i++)
		kept[i] = keep(context, profile, i);
	allo_profile_keep_samples(&profile->data, kept);
	return true;
}

void allotrope_clear_samples(struct allotrope_profile *profile)
{
	if (!profile)
		return;
	allo_profile_clear_samples(&profile->data);
	allo_lib_forget_stacks(profile);
}
