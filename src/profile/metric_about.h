/*
 * metric_about.h - describes a metric of a profile: "live at the program's peak".
 *
 * The text names the part of a recording that the numbers belong to, and whether they are sums of
 * several profiles: peaks of two programs add up to a number that was never live at once.
 */
#ifndef ALLO_PROFILE_METRIC_ABOUT_H
#define ALLO_PROFILE_METRIC_ABOUT_H

#include "profile/profile.h"

enum { ALLO_ABOUT_SIZE = 120 };

/* It follows the value: "5,000 bytes, live when recording ended".  May be made in `scratch`. */
const char *allo_metric_about(const struct allo_profile *profile, size_t metric,
			      char scratch[ALLO_ABOUT_SIZE]);

#endif
