/* lens.c - parses filters, and maps each sample of the file to one of the filtered profile. */
#include "view/lens.h"

#include "base/assert.h"
#include "base/defer.h"

#include <stdlib.h>
#include <string.h>

void allo_lens_options_done(struct allo_lens_options *options)
{
	allo_filter_done(&options->filter);
	allo_suppressions_done(&options->suppressions);
}

void allo_lens_done(struct allo_lens *lens)
{
	allo_profile_done(&lens->samples);
	allo_vec_done(&lens->sample_of);
	free(lens->key);
	*lens = (struct allo_lens){ 0 };
}

/* Removes a prefix; NULL if the text does not have it. */
static const char *after(const char *text, const char *prefix)
{
	size_t len = strlen(prefix);

	return strncmp(text, prefix, len) == 0 ? text + len : NULL;
}

static bool parse_flag(struct allo_lens_options *options, const char *text, struct allo_error *err)
{
	const char *wrappers = after(text, "wrappers:");
	size_t choice;

	if (wrappers) {
		if (!allo_request_choose(wrappers, allo_wrappers_names, &choice, err))
			return false;
		options->wrappers = (enum allo_wrappers)choice;
	} else if (strcmp(text, "mine") == 0) {
		options->filter.hide_libraries = true;
	} else if (strcmp(text, "full") == 0) {
		options->is_full = true;
		options->filter.trim_allocator = options->filter.trim_startup = false;
	} else {
		allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "unknown filter '%.80s'", text);
		return allo_hint(err, "filters are focus:, ignore:, hide:, show:, label:, thread:, "
				      "suppress:, wrappers:, mine and full");
	}
	return true;
}

static bool parse_filter(struct allo_lens_options *options, const char *text,
			 struct allo_error *err)
{
	const struct {
		const char *prefix;
		struct allo_patterns *patterns;
	} kinds[] = {
		{ "focus:", &options->filter.focus },
		{ "ignore:", &options->filter.ignore },
		{ "hide:", &options->filter.hide },
		{ "show:", &options->filter.show },
	};
	const char *rest;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		rest = after(text, kinds[i].prefix);
		if (rest)
			return allo_patterns_add(kinds[i].patterns, rest, err);
	}
	rest = after(text, "label:");
	if (rest)
		return allo_label_filter_add(&options->filter.labels, rest, err);
	rest = after(text, "suppress:");
	if (rest)
		return allo_suppressions_add(&options->suppressions, allo_text_of(rest), err);
	rest = after(text, "thread:");
	if (!rest)
		return parse_flag(options, text, err);
	options->thread = rest;
	return true;
}

bool allo_lens_options_parse(struct allo_lens_options *options, const allo_request_texts *filters,
			     struct allo_error *err)
{
	options->filter.trim_allocator = options->filter.trim_startup = true;
	for (size_t i = 0; i < filters->len; i++) {
		if (!parse_filter(options, filters->at[i], err))
			return false;
	}
	return true;
}

/* Whether samples go one by one to their places, since they are never merged. */
static bool are_timed(const struct allo_profile *all)
{
	return all->sample_times.len > 0;
}

/* The filtered sample of a sample of the file: index + 1; 0 if it was dropped. */
static uint32_t find_sample(const struct allo_filter *filter, struct allo_profile *profile,
			    const struct allo_profile *all, size_t sample, uint32_t *next,
			    struct allo_error *err)
{
	allo_stack_id stack = filter->became.at[all->sample_stacks.at[sample]];
	allo_labels_id labels = allo_profile_labels_of(all, sample);
	const uint64_t *row;
	bool is_new;

	if (stack == UINT32_MAX || !filter->has_labels.at[labels])
		return 0;
	if (are_timed(all))
		return ++*next;
	row = allo_profile_add_sample(profile, stack, labels, &is_new, err);
	ALLO_ASSERT(!row || !is_new);
	return row ? (uint32_t)((size_t)(row - profile->values.at) / profile->metrics.len) + 1 : 0;
}

/* Drops the samples of the file whose stacks are suppressed. */
static bool suppress(struct allo_lens *lens, const struct allo_suppressions *suppressions,
		     const struct allo_profile *profile, const struct allo_profile *all,
		     struct allo_error *err)
{
	ALLO_DEFER(allo_free_pointer)
	uint32_t *found = calloc(all->stacks.len + 1, sizeof(*found));

	if (!found)
		return allo_fail_memory(err);
	if (!allo_suppressions_judge(suppressions, profile, all, found, err))
		return false;
	for (size_t i = 0; i < lens->sample_of.len; i++) {
		if (found[all->sample_stacks.at[i]])
			lens->sample_of.at[i] = 0;
	}
	return true;
}

bool allo_lens_make(struct allo_lens *lens, struct allo_lens_options *options,
		    struct allo_profile *profile, const struct allo_profile *all,
		    struct allo_error *err)
{
	struct allo_filter *filter = &options->filter;
	size_t count = all->sample_stacks.len;
	uint32_t next = 0;

	ALLO_ASSERT(profile->sample_stacks.len == 0 && profile->stacks.len == 0);
	filter->tells_stacks = true;
	if (!allo_filter_take(filter, profile, all, err) ||
	    !allo_vec_extend(&lens->sample_of, count, err))
		return false;
	for (size_t i = 0; i < count && profile->metrics.len > 0; i++)
		lens->sample_of.at[i] = find_sample(filter, profile, all, i, &next, err);
	if (options->suppressions.list.len > 0 && !allo_failed(err))
		suppress(lens, &options->suppressions, profile, all, err);
	allo_profile_move_samples(profile, &lens->samples);
	return !allo_failed(err);
}

/* Adds a sample of the file.  In a short range nearly all values are 0. */
static void add_sample(struct allo_lens *lens, struct allo_profile *profile,
		       const struct allo_profile *all, size_t sample)
{
	size_t width = profile->metrics.len;
	size_t from = sample * width, into = ((size_t)lens->sample_of.at[sample] - 1) * width;

	for (size_t m = 0; m < width; m++) {
		uint64_t value = all->values.at[from + m];

		if (value != 0)
			allo_profile_add_value(profile, m, &lens->samples.values.at[into + m],
					       value);
	}
	for (size_t m = 0; m < width && from + m < all->variances.len; m++)
		lens->samples.variances.at[into + m] += all->variances.at[from + m];
}

bool allo_lens_add_up(struct allo_lens *lens, struct allo_profile *profile,
		      const struct allo_profile *all, struct allo_error *err)
{
	struct allo_profile *to = &lens->samples;

	if (to->values.len > 0)
		memset(to->values.at, 0, to->values.len * sizeof(*to->values.at));
	if (!allo_vec_extend(&to->variances, all->variances.len ? to->values.len : 0, err))
		return false;
	if (to->variances.len > 0)
		memset(to->variances.at, 0, to->variances.len * sizeof(*to->variances.at));
	for (size_t i = 0; i < lens->sample_of.len; i++) {
		if (lens->sample_of.at[i] != 0)
			add_sample(lens, profile, all, i);
	}
	return true;
}
