#include "analysis/filters/label_filter.h"

#include "analysis/label_sums.h"
#include "base/defer.h"

#include <stdio.h>
#include <stdlib.h>

bool allo_label_filter_add(struct allo_label_filter *filter, const char *text,
			   struct allo_error *err)
{
	struct allo_label_match match = { .key = allo_text_of(text) };

	if (filter->count == ALLO_LABEL_MATCHES)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "more than %d labels",
				 ALLO_LABEL_MATCHES);
	match.has_value = allo_text_cut(allo_text_of(text), '=', &match.key, &match.value);
	if (match.key.len == 0)
		return allo_fail(err, ALLO_USAGE, ALLO_NOWHERE,
				 "a label is KEY=VALUE, or KEY alone, not '%s'", text);
	filter->match[filter->count++] = match;
	return true;
}

struct allo_text allo_label_text(const struct allo_profile *profile, const struct allo_label *label,
				 char scratch[ALLO_LABEL_SCRATCH])
{
	int len;

	if (!label->is_number)
		return allo_profile_text(profile, label->text);
	len = snprintf(scratch, ALLO_LABEL_SCRATCH, "%lld", (long long)label->number);
	return (struct allo_text){ scratch, (size_t)len };
}

static bool is_met(const struct allo_label_match *match, const struct allo_profile *profile,
		   const struct allo_label_set *set)
{
	char scratch[ALLO_LABEL_SCRATCH];

	for (uint32_t i = 0; i < set->count; i++) {
		const struct allo_label *label = &profile->labels.at[set->first + i];

		if (allo_text_equal(allo_profile_text(profile, label->key), match->key) &&
		    (!match->has_value ||
		     allo_text_equal(allo_label_text(profile, label, scratch), match->value)))
			return true;
	}
	return false;
}

unsigned allo_label_filter_mask(const struct allo_label_filter *filter,
				const struct allo_profile *profile, allo_labels_id labels)
{
	unsigned mask = 0;

	for (size_t i = 0; i < filter->count && labels != 0; i++)
		mask |= (unsigned)is_met(&filter->match[i], profile,
					 &profile->label_sets.at[labels])
			<< i;
	return mask;
}

bool allo_label_filter_met(const struct allo_label_filter *filter,
			   const struct allo_profile *profile, allo_labels_id labels)
{
	return allo_label_filter_mask(filter, profile, labels) == (1u << filter->count) - 1;
}

/* Adds a stack for the value of each label set. */
static bool make_stacks(struct allo_profile *profile, const char *key, allo_stack_id *stacks,
			struct allo_error *err)
{
	for (size_t i = 1; i < profile->label_sets.len; i++) {
		const struct allo_label *label = allo_labels_find(profile, (allo_labels_id)i, key);
		char scratch[ALLO_LABEL_SCRATCH];
		allo_frame_id frame;

		if (!label)
			continue;
		frame = allo_profile_add_named_frame(profile,
						     allo_label_text(profile, label, scratch), err);
		if (frame)
			stacks[i] = allo_profile_add_stack(profile, 0, frame, err);
		if (allo_failed(err))
			return false;
	}
	return true;
}

bool allo_stacks_take_label(struct allo_profile *profile, const struct allo_profile *old,
			    const char *key, struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	allo_stack_id *stacks = calloc(profile->label_sets.len + 1, sizeof(*stacks));
	size_t width = profile->metrics.len;

	if (!stacks)
		return allo_fail_memory(err);
	if (!make_stacks(profile, key, stacks, err))
		return false;
	for (size_t i = 0; i < allo_profile_sample_count(old); i++) {
		allo_labels_id labels = allo_profile_labels_of(old, i);

		if (!allo_profile_add_values(profile, stacks[labels], 0, old->values.at + i * width,
					     err))
			return false;
	}
	return true;
}

bool allo_stacks_from_label(struct allo_profile *profile, const char *key, struct allo_error *err)
{
	ALLO_DEFER(allo_profile_done) struct allo_profile old = { 0 };

	allo_profile_move_samples(profile, &old);
	return allo_stacks_take_label(profile, &old, key, err);
}
