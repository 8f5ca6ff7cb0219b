/* other_metric.c - see other_metric.h. */
#include "cli/show/other_metric.h"

#include "analysis/sum.h"
#include "profile/metric_about.h"
#include "profile/naming.h"
#include "report/messages.h"

/* Whether any frame that is left matches. */
static bool is_there(const struct allo_profile *profile, struct allo_pattern *pattern)
{
	for (size_t i = 1; i < profile->frames.len; i++) {
		const struct allo_frame *frame = &profile->frames.at[i];

		for (uint32_t call = 0; call < allo_frame_call_count(frame); call++) {
			if (allo_pattern_matches(pattern, profile, frame, call))
				return true;
		}
	}
	return false;
}

static void tell(const struct allo_profile *profile, size_t metric)
{
	char about[ALLO_ABOUT_SIZE];

	allo_say_note("no block that matches was %s: '-M total' shows all allocations",
		      allo_metric_about(profile, metric, about));
}

void allo_tell_other_metric(const struct allo_profile *profile, size_t metric)
{
	size_t total;

	if (allo_metric_sum(profile, metric) == 0 &&
	    allo_profile_find_metric(profile, ALLO_ALLOC_BYTES, &total) &&
	    allo_metric_sum(profile, total) != 0)
		tell(profile, metric);
}

bool allo_tell_other_metric_of(const struct allo_profile *profile, size_t metric,
			       struct allo_pattern *pattern)
{
	size_t total;

	if (!allo_profile_find_metric(profile, ALLO_ALLOC_BYTES, &total) || total == metric ||
	    !is_there(profile, pattern))
		return false;
	tell(profile, metric);
	return true;
}
