/*
 * select.h - selects metrics of a profile.
 */
#ifndef ALLO_ANALYSIS_SELECT_H
#define ALLO_ANALYSIS_SELECT_H

#include "profile/profile.h"

/* Keeps the named metrics, in this order; the first becomes the default. */
bool allo_select_metrics(struct allo_profile *profile, const char *const *names, size_t count,
			 struct allo_error *err);

#endif
