/*
 * other_metric.h - says that an empty answer has the wrong metric: temporary blocks were not live
 * at the peak.
 */
#ifndef ALLO_CLI_SHOW_OTHER_METRIC_H
#define ALLO_CLI_SHOW_OTHER_METRIC_H

#include "analysis/filters/pattern.h"

/* If the profile has nothing of the metric, but has allocations. */
void allo_tell_other_metric(const struct allo_profile *profile, size_t metric);

/* If functions match, but hold nothing of the metric; false: none matches. */
bool allo_tell_other_metric_of(const struct allo_profile *profile, size_t metric,
			       struct allo_pattern *pattern);

#endif
