/* lib_metrics.c - the metrics of a profile; see allotrope.h. */
#include "analysis/sum.h"
#include "lib/lib_common.h"

size_t allotrope_metric_count(const struct allotrope_profile *profile)
{
	return profile ? profile->data.metrics.len : 0;
}

bool allotrope_get_metric(const struct allotrope_profile *profile, size_t index,
			  struct allotrope_metric *metric)
{
	const struct allo_metric *from;

	if (!profile || !metric || index >= profile->data.metrics.len)
		return false;
	from = &profile->data.metrics.at[index];
	*metric = (struct allotrope_metric){
		.name = allo_lib_string(&profile->data, from->name),
		.unit = allo_lib_string(&profile->data, from->unit),
		.meaning = allo_metric_kinds[from->meaning].name,
		.about = allo_metric_kinds[from->meaning].about,
		.is_additive = allo_metric_kinds[from->meaning].is_additive,
		.is_signed = from->is_signed,
		.is_before = from->is_before,
	};
	return true;
}

int allotrope_find_metric(const struct allotrope_profile *profile, const char *name,
			  struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	size_t metric;

	if (!allo_lib_begin(profile, err))
		return -1;
	if (profile->data.metrics.len == 0) {
		allo_lib_misuse(err, "the profile has no metrics");
		return -1;
	}
	if (!name) {
		metric = allo_default_metric(&profile->data);
	} else if (!allo_find_metric(&profile->data, name, &metric, &failure)) {
		allo_lib_fail(err, &failure);
		return -1;
	}
	return (int)metric;
}

/* By our own name, or else by pprof's.  The short ones are for people who type. */
static enum allo_meaning meaning_of(struct allo_text name, const char *unit)
{
	enum allo_meaning meaning = ALLO_MEANS_OTHER;
	const char *usual;

	for (int m = 1; m < ALLO_MEANINGS && meaning == ALLO_MEANS_OTHER; m++) {
		if (allo_text_equal(name, allo_text_of(allo_metric_kinds[m].name)))
			meaning = (enum allo_meaning)m;
	}
	if (meaning == ALLO_MEANS_OTHER)
		meaning = allo_meaning_of_pprof(name, false);
	usual = allo_metric_kinds[meaning].unit;
	return usual && unit && strcmp(usual, unit) != 0 ? ALLO_MEANS_OTHER : meaning;
}

static size_t find_equal(const struct allo_profile *profile, const struct allo_metric *metric)
{
	for (size_t i = 0; i < profile->metrics.len; i++) {
		const struct allo_metric *old = &profile->metrics.at[i];

		if (!old->is_before && old->meaning == metric->meaning &&
		    old->name == metric->name && old->unit == metric->unit)
			return i;
	}
	return profile->metrics.len;
}

int allotrope_add_metric(struct allotrope_profile *profile, const char *name, const char *unit,
			 struct allotrope_error *err)
{
	struct allo_error failure = { 0 };
	struct allo_metric metric = { 0 };
	const struct allo_metric_kind *kind;
	struct allo_text own = allo_lib_text(name);
	size_t index;

	if (!allo_lib_begin(profile, err))
		return -1;
	metric.meaning = meaning_of(own, unit);
	kind = &allo_metric_kinds[metric.meaning];
	if (own.len == 0 || (!unit && !kind->unit)) {
		allo_lib_misuse(err, "a metric needs a name, and a unit unless that implies it");
		return -1;
	}
	if (metric.meaning != ALLO_MEANS_OTHER)
		own = allo_text_of(kind->name);
	metric.name = allo_profile_add_string(&profile->data, own, &failure);
	metric.unit = allo_profile_add_string(&profile->data,
					      allo_text_of(unit ? unit : kind->unit), &failure);
	index = find_equal(&profile->data, &metric);
	if (allo_failed(&failure) ||
	    (index == profile->data.metrics.len &&
	     !allo_profile_add_metric_like(&profile->data, &metric, &failure))) {
		allo_lib_fail(err, &failure);
		return -1;
	}
	return (int)index;
}
