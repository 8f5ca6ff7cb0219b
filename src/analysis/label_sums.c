#include "analysis/label_sums.h"

#include "base/defer.h"

#include <stdlib.h>

const struct allo_label *allo_labels_find(const struct allo_profile *profile, allo_labels_id labels,
					  const char *key)
{
	const struct allo_label_set *set;

	if (labels == 0)
		return NULL;
	set = &profile->label_sets.at[labels];
	for (uint32_t i = 0; i < set->count; i++) {
		const struct allo_label *label = &profile->labels.at[set->first + i];

		if (allo_text_equal(allo_profile_text(profile, label->key), allo_text_of(key)))
			return label;
	}
	return NULL;
}

/* The first set with the same value of the label as this one. */
struct grouper {
	const struct allo_profile *profile;
	const char *key;
	allo_labels_id *sets;
	size_t count;
};

static int compare_labels(const struct allo_label *a, const struct allo_label *b)
{
	if (a->is_number != b->is_number)
		return a->is_number ? 1 : -1;
	if (a->number != b->number)
		return a->number < b->number ? -1 : 1;
	return a->text < b->text ? -1 : a->text > b->text;
}

static int compare_sets(const void *left, const void *right, void *context)
{
	const struct grouper *grouper = context;
	const allo_labels_id *a = left, *b = right;
	int order = compare_labels(allo_labels_find(grouper->profile, *a, grouper->key),
				   allo_labels_find(grouper->profile, *b, grouper->key));

	return order ? order : *a < *b ? -1 : *a > *b;
}

/* Fills `group`, by label set: the first set with the same value; 0 without the label. */
static bool group_sets(const struct allo_profile *profile, const char *key, allo_labels_id *group,
		       struct allo_error *err)
{
	struct grouper grouper = { .profile = profile, .key = key };
	ALLO_DEFER(allo_free_pointer)
	allo_labels_id *sets = calloc(profile->label_sets.len + 1, sizeof(*sets));

	if (!sets)
		return allo_fail_memory(err);
	grouper.sets = sets;
	for (size_t i = 1; i < profile->label_sets.len; i++) {
		if (allo_labels_find(profile, (allo_labels_id)i, key))
			sets[grouper.count++] = (allo_labels_id)i;
	}
	if (grouper.count > 0)
		qsort_r(sets, grouper.count, sizeof(*sets), compare_sets, &grouper);
	for (size_t i = 0; i < grouper.count; i++) {
		bool is_same = i > 0 &&
			       compare_labels(allo_labels_find(profile, sets[i - 1], key),
					      allo_labels_find(profile, sets[i], key)) == 0;

		group[sets[i]] = is_same ? group[sets[i - 1]] : sets[i];
	}
	return true;
}

static struct allo_label_sum *new_row(struct allo_label_sums *sums, allo_labels_id labels,
				      size_t metrics, struct allo_error *err)
{
	struct allo_label_sum *row = allo_vec_push(&sums->rows);

	if (row)
		*row = (struct allo_label_sum){
			labels,
			ALLO_ARENA_NEW(&sums->arena, metrics + 1, allo_sum),
			ALLO_ARENA_NEW(&sums->arena, metrics + 1, double),
		};
	if (!row || !row->sums || !row->variances) {
		allo_fail_memory(err);
		return NULL;
	}
	return row;
}

static bool add_samples(struct allo_label_sums *sums, const struct allo_profile *profile,
			const allo_labels_id *group, uint32_t *row_of, struct allo_error *err)
{
	for (size_t i = 0; i < allo_profile_sample_count(profile); i++) {
		allo_labels_id labels = group[allo_profile_labels_of(profile, i)];
		const uint64_t *values = allo_profile_row(profile, i);
		struct allo_label_sum *row;

		if (labels == 0)
			continue;
		if (row_of[labels] == 0) {
			if (!new_row(sums, labels, profile->metrics.len, err))
				return false;
			row_of[labels] = (uint32_t)sums->rows.len;
		}
		row = &sums->rows.at[row_of[labels] - 1];
		for (size_t k = 0; k < profile->metrics.len; k++) {
			row->sums[k] += allo_value_of(&profile->metrics.at[k], values[k]);
			row->variances[k] += allo_profile_variance(profile, i, k);
		}
	}
	return true;
}

bool allo_label_sums_of(struct allo_label_sums *sums, const struct allo_profile *profile,
			const char *key, struct allo_error *err)
{
	size_t count = profile->label_sets.len + 1;
	ALLO_DEFER(allo_free_pointer) allo_labels_id *group = calloc(count, sizeof(*group));
	ALLO_DEFER(allo_free_pointer) uint32_t *row_of = calloc(count, sizeof(*row_of));

	if (!group || !row_of)
		return allo_fail_memory(err);
	return group_sets(profile, key, group, err) &&
	       add_samples(sums, profile, group, row_of, err);
}

static int compare_rows(const void *left, const void *right, void *context)
{
	const struct allo_label_sum *a = left, *b = right;
	const size_t *metric = context;
	allo_sum first = a->sums[*metric], second = b->sums[*metric];

	if (first != second)
		return first > second ? -1 : 1;
	return a->labels < b->labels ? -1 : a->labels > b->labels;
}

void allo_label_sums_sort(struct allo_label_sums *sums, size_t metric)
{
	if (sums->rows.len > 0)
		qsort_r(sums->rows.at, sums->rows.len, sizeof(*sums->rows.at), compare_rows,
			&metric);
}

void allo_label_sums_done(struct allo_label_sums *sums)
{
	allo_vec_done(&sums->rows);
	allo_arena_done(&sums->arena);
}
