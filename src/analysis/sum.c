#include "analysis/sum.h"

#include "base/assert.h"
#include "profile/naming.h"

#include <math.h>
#include <stdio.h>

struct allo_metric_columns allo_metric_columns_of(const struct allo_profile *profile, size_t metric)
{
	enum allo_meaning meaning = profile->metrics.at[metric].meaning;
	enum allo_meaning blocks = allo_metric_kinds[meaning].companion;
	struct allo_metric_columns columns = { .metric = metric };

	if (metric > 0 && profile->metrics.at[metric - 1].is_before) {
		columns.before = metric - 1;
		columns.has_before = true;
	}
	/* Bytes are shown with their blocks, but blocks without bytes. */
	if (blocks != ALLO_MEANS_OTHER && !profile->metrics.at[metric].is_before &&
	    allo_unit_of(allo_profile_text(profile, profile->metrics.at[metric].unit)) !=
		    ALLO_UNIT_COUNT)
		columns.has_blocks = allo_profile_find_metric(profile, blocks, &columns.blocks);
	return columns;
}

struct allo_values allo_values_of(const struct allo_profile *profile,
				  const struct allo_metric_columns *columns, size_t sample)
{
	const uint64_t *row = allo_profile_row(profile, sample);
	const struct allo_metric *metrics = profile->metrics.at;
	struct allo_values values = {
		.value = allo_value_of(&metrics[columns->metric], row[columns->metric]),
		.variance = allo_profile_variance(profile, sample, columns->metric),
	};

	if (columns->has_before)
		values.before = allo_value_of(&metrics[columns->before], row[columns->before]);
	if (columns->has_blocks)
		values.blocks = allo_value_of(&metrics[columns->blocks], row[columns->blocks]);
	return values;
}

allo_sum allo_values_margin(const struct allo_values *values)
{
	const double deviations = 1.96; /* 95 % of a normal distribution */
	double margin = values->variance > 0 ? deviations * sqrt(values->variance) : 0;

	return margin < 0x1p64 ? (allo_sum)(margin + 0.5) : (allo_sum)UINT64_MAX;
}

size_t allo_default_metric(const struct allo_profile *profile)
{
	static const enum allo_meaning preferred[] = { ALLO_PEAK_BYTES, ALLO_LIVE_BYTES,
						       ALLO_END_BYTES,  ALLO_ALLOC_BYTES,
						       ALLO_COPY_BYTES, ALLO_EVENT_UNITS };
	size_t metric = profile->meta.default_metric;

	/* A metric that does not add up is a bad default. */
	if (metric > 0 && allo_metric_kinds[profile->metrics.at[metric - 1].meaning].is_additive)
		return metric - 1;
	for (size_t i = 0; i < sizeof(preferred) / sizeof(*preferred); i++) {
		if (allo_profile_find_metric(profile, preferred[i], &metric))
			return metric;
	}
	return profile->metrics.len ? profile->metrics.len - 1 : 0;
}

static bool has_meaning(const struct allo_profile *profile, enum allo_meaning meaning)
{
	size_t found;

	return allo_profile_find_metric(profile, meaning, &found);
}

/* inuse_space is the call site's maximum in conversions of DHAT files, else the live heap. */
static enum allo_meaning meaning_of_inuse(const struct allo_profile *profile, const char *name,
					  enum allo_meaning meaning)
{
	bool is_bytes = strcmp(name, "inuse_space") == 0;

	if (!is_bytes && strcmp(name, "inuse_objects") != 0)
		return meaning;
	if (profile->meta.max_is_inuse && has_meaning(profile, meaning))
		return meaning;
	return is_bytes ? ALLO_LIVE_BYTES : ALLO_LIVE_BLOCKS;
}

/* The live heap of a recording is that of its end, and the leaks of a live profile are its live
 * heap.  Our own names stay strict. */
static enum allo_meaning nearest_meaning(const struct allo_profile *profile, const char *name,
					 enum allo_meaning meaning)
{
	static const enum allo_meaning pairs[][2] = { { ALLO_LIVE_BYTES, ALLO_END_BYTES },
						      { ALLO_LIVE_BLOCKS, ALLO_END_BLOCKS } };

	if (has_meaning(profile, meaning) || strcmp(name, allo_metric_kinds[meaning].name) == 0)
		return meaning;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
		if (meaning == pairs[i][0] || meaning == pairs[i][1])
			return pairs[i][meaning == pairs[i][0]];
	}
	return meaning;
}

bool allo_find_metric(const struct allo_profile *profile, const char *name, size_t *metric,
		      struct allo_error *err)
{
	enum allo_meaning meaning = allo_meaning_of_name(allo_text_of(name));
	char names[160] = "";
	size_t used = 0;

	for (size_t i = 0; i < profile->metrics.len; i++) {
		char scratch[ALLO_NAME_SCRATCH];
		struct allo_text own = allo_metric_name(profile, i, scratch);

		if (allo_text_equal(own, allo_text_of(name))) {
			*metric = i;
			return true;
		}
		if (used < sizeof(names) && !profile->metrics.at[i].is_before)
			used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%.*s",
						 used ? ", " : "", ALLO_TEXT_ARG(own));
	}
	meaning = nearest_meaning(profile, name, meaning_of_inuse(profile, name, meaning));
	if (meaning != ALLO_MEANS_OTHER && allo_profile_find_metric(profile, meaning, metric))
		return true;
	allo_fail(err, ALLO_USAGE, ALLO_NOWHERE, "there is no metric \"%s\" in this profile", name);
	return allo_hint(err, "it has: %s", names);
}
